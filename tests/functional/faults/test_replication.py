"""Records on PostgreSQL with streaming replication, and promotion."""

from __future__ import annotations

import concurrent.futures
import unittest
from typing import ClassVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import connection, records, schema
from lab import replication
from tests.functional.faults import test_records_outages as outages
from tests.functional.support import databases


class TestFailover(unittest.TestCase):
    """Real servers; each test has a standby again."""

    servers: ClassVar[replication.Replication]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.servers = replication.Replication(
            databases.temporary_directory('replication')
        )
        cls.addClassCleanup(cls.servers.stop)
        cls.servers.start()

    def setUp(self) -> None:
        super().setUp()
        servers = self.servers
        if servers.standby is None:
            servers.add_standby()
        assert servers.standby is not None
        self.name = f'test{self.id().rpartition(".")[2]}'[:63]
        servers.primary.create_database(self.name)
        # A standby that lacks the database would end the search for it.
        servers.wait_until_streaming()
        self.ports = servers.standby.port, servers.primary.port
        self.url = replication.url(self.name, *self.ports)
        self.records = self.open()
        schema.upgrade(self.database)
        self.epoch = self.register()
        servers.wait_until_streaming()

    def open(self, **options: float) -> records.SqlRecords:
        self.database = connection.open_database(self.url, **options)
        self.addCleanup(self.database.close)
        return records.SqlRecords(self.database)

    def register(self) -> int:
        return self.records.register('host1', model.MemberSettings())

    def until_available(self) -> None:
        """Read until the lost connections are replaced."""
        for _ in range(3):
            try:
                self.records.services()
            except exceptions.RecordsUnavailableError:
                continue
            return

    def test_acknowledged_commits_are_found_by_the_same_url(self) -> None:
        self.servers.set_synchronous(synchronous=True)
        epoch = self.register()
        self.servers.fail_over()
        self.until_available()
        self.assertEqual([epoch], [s.epoch for s in self.records.services()])
        self.assertLess(epoch, self.register())

    def test_lost_primary_is_unavailable_and_all_hosts_are_named(
        self,
    ) -> None:
        self.servers.primary.kill()
        try:
            with self.assertRaises(
                exceptions.RecordsUnavailableError
            ) as caught:
                self.register()
        finally:
            self.servers.promote()
        for port in self.ports:
            self.assertIn(f'127.0.0.1:{port}', str(caught.exception))

    def test_frozen_primary_is_left_for_the_promoted_standby(self) -> None:
        # A new connection tries the frozen server first.
        self.url = replication.url(self.name, *reversed(self.ports))
        self.records = self.open(
            connect_timeout=outages.TIMEOUT, statement_timeout=outages.TIMEOUT
        )
        self.register()
        self.servers.wait_until_streaming()
        frozen = self.servers.primary
        self.addCleanup(frozen.kill)
        frozen.freeze()
        threads = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(threads.shutdown, wait=False)
        # The first one has a pooled connection.
        for call in (self.register, self.records.services):
            error = threads.submit(call).exception(outages.PATIENCE)
            self.assertIsInstance(error, exceptions.RecordsUnavailableError)
        self.servers.promote()
        self.until_available()
        epoch = self.register()
        self.url = replication.url(self.name, self.servers.primary.port)
        promoted = self.open()
        self.assertEqual([epoch], [s.epoch for s in promoted.services()])

    def test_server_that_became_read_only_is_left(self) -> None:
        # As a former primary that returned as a standby.
        self.servers.set_read_only(read_only=True)
        with self.assertRaises(exceptions.RecordsUnavailableError):
            self.register()
        self.servers.promote()
        self.assertLess(self.epoch, self.register())
