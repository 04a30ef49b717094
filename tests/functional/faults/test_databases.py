"""The database of the records goes down, or its disk is full."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from lab import mariadb, postgresql, small_disk
from tests.functional.faults.support import incident, stores
from tests.functional.support import databases, hosts

BOTH = ('host1', 'host2')
MIB = 1 << 20


class _Restarts(incident.IncidentTestCase):
    """The members are in the other database server."""

    def test_restarted_database_moves_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            for _ in range(2):
                self.kind.server.restart()
                more, _ = self.enrol(8)
                self.wait_for_ring(more, BOTH)


class TestPostgreSQLRestarts(_Restarts):
    kind = databases.POSTGRESQL


class TestMariaDBRestarts(_Restarts):
    kind = databases.MARIADB


class _WithMembers(_Restarts):
    """The members are with the records, as they are by default."""

    patience = float(str(hosts.FAST['membership']['member_ttl']))

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def test_outage_longer_than_all_memberships_moves_nothing(self) -> None:
        self.deployment.live_for(incident.STEADY)
        running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            self.kind.server.stop()
            try:
                self.wait_for_fences(running)
                more, _ = self.enrol(8)
            finally:
                self.kind.server.start()
            self.wait_for_ring(more, BOTH)


class TestPostgreSQLRestartsWithMembers(_WithMembers):
    kind = databases.POSTGRESQL


class TestMariaDBRestartsWithMembers(_WithMembers):
    kind = databases.MARIADB


class _FullDisk(incident.IncidentTestCase):
    """The records have a disk of their own, and it is small."""

    size: ClassVar[int]

    def setUp(self) -> None:
        directory = databases.temporary_directory('disk')
        self.disk = small_disk.SmallDisk(directory, self.size)
        self.addCleanup(self.disk.close)
        super().setUp()

    def test_full_disk_moves_nothing_and_is_survived(self) -> None:
        self.deployment.live_for(incident.LONG)
        running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            self.disk.fill()
            more, _ = self.enrol(200)
            self.deployment.wait_until(
                lambda: all(host.lines('refresh failed') for host in running),
                'failure of every host',
            )
            self.disk.fill()
            self.assertTrue(self.disk.is_full)
            self.disk.free()
            self.repair()
            self.wait_for_ring(more, BOTH)
        for host in running:
            self.assertIsNone(host.process.returncode, host.troubles())

    def repair(self) -> None:
        """Do what an operator has to do besides making room."""


class _FullServer(_FullDisk):
    build: ClassVar[Callable[..., databases.Server]]

    def fresh_url(self) -> str:
        self.database_server = self.build(self.disk.directory)
        self.addCleanup(self.database_server.stop)
        self.database_server.start()
        return self.database_server.create_database('records')

    def repair(self) -> None:
        # Either may give up rather than lose something.
        self.database_server.restart()


class TestFullDiskOfPostgreSQL(_FullServer):
    build = postgresql.PostgreSQL
    size = 160 * MIB


class TestFullDiskOfMariaDB(_FullServer):
    kind = databases.MARIADB
    build = mariadb.MariaDB
    size = 300 * MIB


class TestFullDiskOfSQLite(_FullDisk):
    """The members are in the same file."""

    size = 4 * MIB
    patience = float(str(hosts.FAST['membership']['member_ttl']))

    def fresh_url(self) -> str:
        return f'sqlite:///{self.disk.directory}/records.sqlite'

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)


del _Restarts, _WithMembers, _FullDisk, _FullServer
