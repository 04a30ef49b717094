"""Schema and reads on Galera: processes that use different nodes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.db import connection, records, schema
from tests.functional.support import databases


def upgrade(url: str) -> str | None:
    database = connection.open_database(url)
    try:
        return schema.upgrade(database)
    finally:
        database.close()


class TestGaleraSchema(unittest.TestCase):
    def test_processes_upgrade_it_together_through_all_nodes(self) -> None:
        with concurrent.futures.ProcessPoolExecutor(
            3, multiprocessing.get_context('spawn')
        ) as processes:
            for start in (None, '0011'):
                urls = databases.GALERA.fresh()
                if start:
                    database = connection.open_database(urls[0])
                    self.addCleanup(database.close)
                    schema.upgrade(database, start)
                found = list(processes.map(upgrade, urls))
                self.assertEqual([schema.HEAD] * 3, found)


class TestGaleraReads(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.urls = databases.GALERA.fresh()
        self.node = databases.GALERA.server.nodes[1]
        self.one, self.two = map(self.open, self.urls[:2])
        schema.upgrade(self.one)

    def open(self, url: str, **options: int) -> connection.Database:
        database = connection.open_database(url, **options)
        self.addCleanup(database.close)
        return database

    def read_late(self, two: connection.Database, moment: float) -> list[str]:
        """Read through a node that applies nothing for a moment.

        :param moment: seconds, unless the read ends earlier.
        """
        port = records.SqlRecords(two)
        port.services()
        blocking = contextlib.closing(self.node._connect())
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            with blocking as held:
                held.cursor().execute('FLUSH TABLES WITH READ LOCK')
                records.SqlRecords(self.one).register(
                    'host1', model.MemberSettings()
                )
                reading = threads.submit(port.services)
                concurrent.futures.wait([reading], timeout=moment)
            return [service.host for service in reading.result(180)]

    def test_read_sees_what_another_node_has_committed(self) -> None:
        # Enough for a read that does not wait.
        self.assertEqual(['host1'], self.read_late(self.two, 1))

    def test_option_of_the_operator_is_kept(self) -> None:
        two = self.open(self.urls[1], mysql_wsrep_sync_wait=0)
        # Only a read that waits takes that long.
        self.assertEqual([], self.read_late(two, 20))
