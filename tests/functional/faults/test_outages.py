"""The database, the store of the members, or the network to them fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import psutil

from lab import etcd, redis, server, zookeeper
from tests.functional.faults.support import incident, stores
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import databases


class _Database(incident.IncidentTestCase):
    """The members are with the records, as they are by default."""

    with_records = True

    def test_outage_longer_than_all_memberships_moves_nothing(self) -> None:
        self.deployment.live_for(incident.STEADY)
        self.share(*BOTH)
        with self.nothing_moves():
            self.kind.server.stop()
            try:
                self.wait_for_fences()
                more = self.enrol(8)
            finally:
                self.kind.server.start()
            self.wait_for_ring(more, BOTH)
            self.assert_all_is_well()


class TestPostgreSQL(_Database):
    kind = databases.POSTGRESQL


class TestMariaDB(_Database):
    kind = databases.MARIADB


class _PathsOfHost1(incident.IncidentTestCase):
    """Only ``host1`` reaches store and database by networks that fail."""

    def share_with_paths(self) -> list[str]:
        """Let both share nodes, and return those that are free."""
        database = self.deployment.database.engine.url.port
        self.to_store = self.proxy_to(self.deployment.store.port)
        self.to_database = self.proxy_to(int(database or 0))
        self.running = [
            self.deployment.launch(
                'host1',
                store_port=self.to_store.port,
                database_port=self.to_database.port,
            ),
            self.deployment.launch('host2'),
        ]
        self.wait_for_members(*BOTH)
        uuids = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        return uuids[6:]


class TestNetwork(_PathsOfHost1):
    """The members are on MariaDB, the records on PostgreSQL."""

    faults_survived = 2

    def test_failing_network_of_a_member_moves_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.share_with_paths()
        with self.nothing_moves():
            self.to_store.cut()
            self.to_store.forward()
            self.assert_all_is_well()
            # Alive, but unable to write: no service may take its nodes, and
            # it gets no more of them.
            self.to_database.silence()
            more = self.enrol()
            self.wait_for_owner(self.share_of(more, 'host2'), 'host2')
            self.assertEqual({*BOTH}, self.deployment.members())
            self.to_database.forward()
            self.wait_for_ring(more, BOTH)


class _Stores(_PathsOfHost1):
    """The records are on PostgreSQL, which nothing happens to."""

    build: ClassVar[Callable[..., server.Server]]
    store_server: ClassVar[etcd.Etcd | redis.Redis | zookeeper.ZooKeeper]
    # A store may forget members before their time here. By then the right
    # of a host has ended all the same, unless it has a new one.
    patience = incident.TTL
    faults_survived = 2

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.store_server = cls.build(databases.temporary_directory('store'))
        cls.addClassCleanup(cls.store_server.stop)
        cls.store_server.start()

    def open_store(self) -> stores.Store:
        return stores.CoordinationStore(
            self.store_server.url, self.store_server.port
        )

    def wait_for_work(self) -> None:
        """Wait until all processes have tried things, without success."""
        for host in self.running:
            process = psutil.Process(host.process.pid)
            enough = process.num_ctx_switches().voluntary + 20
            self.deployment.wait_until(
                lambda process=process, enough=enough: (
                    process.num_ctx_switches().voluntary > enough
                ),
                'work',
            )

    def test_store_fails_for_all_and_for_one(self) -> None:
        self.deployment.live_for(incident.STEADY)
        free = self.share_with_paths()
        with self.nothing_moves():
            self.store_server.stop()
            self.wait_for_fences()
            more = self.enrol(8)
            before = self.deployment.last_event()
            self.wait_for_work()
            self.assertEqual(before, self.deployment.last_event())
            # Redis has forgotten all members.
            self.store_server.start()
            self.wait_for_ring(more, BOTH)
            self.assert_all_is_well()
        free += more[2:]
        before = self.deployment.last_event()
        self.to_store.silence()
        self.wait_for_owner(free, 'host2')
        self.wait_for_lapse('host1', before)
        # It sees these too, and reaches the database.
        more = self.enrol(8)
        self.wait_for_owner(more, 'host2')
        self.to_store.forward()
        self.wait_for_ring([*free, *more[2:]], BOTH)


class TestEtcd(_Stores):
    build = etcd.Etcd


class TestZooKeeper(_Stores):
    build = zookeeper.ZooKeeper


class TestRedis(_Stores):
    build = redis.Redis


del _Database, _PathsOfHost1, _Stores
