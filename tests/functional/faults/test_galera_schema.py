"""Schema and reads on Galera: processes that use different nodes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.db import connection, records, schema, tables
from tests.functional.support import databases


def upgrade(url: str) -> str | None:
    database = connection.open_database(url)
    try:
        return schema.upgrade(database)
    finally:
        database.close()


class TestGaleraSchema(unittest.TestCase):
    def open(self, url: str, **options: int) -> connection.Database:
        database = connection.open_database(url, **options)
        self.addCleanup(database.close)
        return database

    def test_processes_upgrade_it_together_through_all_nodes(self) -> None:
        with concurrent.futures.ProcessPoolExecutor(
            3, multiprocessing.get_context('spawn')
        ) as processes:
            for start in (None, '0011'):
                urls = databases.GALERA.fresh()
                if start:
                    schema.upgrade(self.open(urls[0]), start)
                found = list(processes.map(upgrade, urls))
                self.assertEqual([tables.HEAD] * 3, found)

    def test_read_sees_what_another_node_has_committed(self) -> None:
        """Unless an operator does not want that; the node applies late."""
        for options, moment, expected in (
            # Enough for a read that does not wait.
            ({}, 1, ['host1']),
            # Only a read that waits takes that long.
            ({'mysql_wsrep_sync_wait': 0}, 20, []),
        ):
            urls = databases.GALERA.fresh()
            one = self.open(urls[0])
            schema.upgrade(one)
            port = records.SqlRecords(self.open(urls[1], **options))
            port.services()
            node = databases.GALERA.server.nodes[1]
            with concurrent.futures.ThreadPoolExecutor(1) as threads:
                with contextlib.closing(node._connect()) as held:
                    held.cursor().execute('FLUSH TABLES WITH READ LOCK')
                    records.SqlRecords(one).register(
                        'host1', model.MemberSettings()
                    )
                    reading = threads.submit(port.services)
                    concurrent.futures.wait([reading], timeout=moment)
                found = [service.host for service in reading.result(180)]
            self.assertEqual(expected, found, options)
