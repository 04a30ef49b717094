"""The disk of the records' database is full.

One server of its own is repaired as soon as there is room again. A cluster
waits for its node, until an operator ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from lab import galera, mariadb, postgresql, small_disk
from tests.functional.faults.support import galera_incident, incident
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import databases

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
        self.share(*BOTH)
        with self.nothing_moves():
            self.disk.fill()
            more = self.enrol(200)
            self.deployment.wait_for_lines('refresh failed')
            self.disk.fill()
            self.assertTrue(self.disk.is_full)
            self.disk.free()
            self.repair()
            self.wait_for_ring(more, BOTH)
            self.assert_all_is_well()

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
    with_records = True

    def fresh_url(self) -> str:
        return f'sqlite:///{self.disk.directory}/records.sqlite'


class TestFullDiskOfAGaleraNode(galera_incident.GaleraTestCase):
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
        free = self.share(*galera_incident.NAMES)
        with self.nothing_moves():
            self.disk.fill()
            # What it cannot write to its log, it makes the others wait for.
            self.deployment.wait_for_lines('heartbeat failed')
        with self.cluster.killed(self.cluster.nodes[2]):
            self.wait_for_ring(free, others)
            self.assertTrue(self.disk.is_full)
            self.disk.free()
        self.wait_for_ring(free, galera_incident.NAMES)
        self.assert_all_is_well(*galera_incident.NAMES)


del _FullDisk, _FullServer
