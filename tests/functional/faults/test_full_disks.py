"""The disk of the records' database is full.

One server of its own is repaired as soon as there is room again. Of several
servers one goes on without the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import ClassVar

import psycopg2

from lab import galera, mariadb, postgresql, replication, small_disk
from tests.functional.faults.support import galera_incident, incident, stores
from tests.functional.support import databases, hosts

BOTH = ('host1', 'host2')
MIB = 1 << 20


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
            self.deployment.wait_for_lines('refresh failed')
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


class TestFullDiskOfAGaleraNode(galera_incident.GaleraTestCase):
    """The cluster waits for the node, until an operator ends it."""

    def open_cluster(self) -> galera.Galera:
        directory = databases.temporary_directory('galera')
        (directory / 'node3').mkdir()
        self.disk = small_disk.SmallDisk(directory / 'node3', 300 * MIB)
        self.addCleanup(self.disk.close)
        cluster = galera.Galera(directory)
        self.addCleanup(cluster.stop)
        return cluster.start()

    def test_full_disk_stops_all_until_the_node_is_ended(self) -> None:
        *others, _ = galera_incident.NAMES
        running = self.start(*galera_incident.NAMES)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, galera_incident.NAMES)
        free = sorted(set(uuids) - deployed)
        with self.nothing_moves():
            self.disk.fill()
            # What it cannot write to its log, it makes the others wait for.
            self.deployment.wait_for_lines('heartbeat failed')
        with self.cluster.killed(self.cluster.nodes[2]):
            self.wait_for_ring(free, others)
            self.assertTrue(self.disk.is_full)
            self.disk.free()
        more, _ = self.enrol(8)
        self.wait_for_ring([*free, *more], galera_incident.NAMES)
        for host in running:
            self.assertIsNone(host.process.returncode, host.troubles())


class TestFullDisksOfAPrimaryAndItsStandby(incident.IncidentTestCase):
    """Each has a small disk of its own; a commit waits for both."""

    faults_survived = 2

    def fresh_url(self) -> str:
        directory = databases.temporary_directory('replication')
        self.disks = []
        for name in ('server1', 'server2'):
            (directory / name).mkdir()
            disk = small_disk.SmallDisk(directory / name, 160 * MIB)
            self.addCleanup(disk.close)
            self.disks.append(disk)
        self.servers = replication.Replication(directory)
        self.addCleanup(self.servers.stop)
        self.servers.start()
        self.servers.primary.create_database('records')
        self.servers.set_synchronous(synchronous=True)
        assert self.servers.standby is not None
        return replication.url(
            'records', self.servers.primary.port, self.servers.standby.port
        )

    def test_full_disks_move_nothing_and_are_survived(self) -> None:
        self.deployment.live_for(incident.LONG)
        running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        primary, standby = self.disks
        with self.nothing_moves():
            standby.fill()
            more, _ = self.enrol(8)
            self.servers.begin_log_file()
            self.deployment.wait_for_lines('refresh failed')
            standby.free()
            self.wait_for_ring(more, BOTH)
            self.deployment.wait_for_lines('refresh succeeded again')
            primary.fill()
            more, _ = self.enrol(200)
            # The primary may have ended before, or end of that.
            with contextlib.suppress(psycopg2.OperationalError):
                self.servers.begin_log_file()
            self.deployment.wait_for_lines('refresh failed', 2)
            # It has ended by itself, or tries to.
            self.servers.primary.stop()
            self.servers.promote()
            self.wait_for_ring(more, BOTH)
        for host in running:
            self.assertIsNone(host.process.returncode, host.troubles())


del _FullDisk, _FullServer
