"""The database, or the store of the members, fails for all or for one host.

Slow, lossy and cut networks, and stores that forget, are in the simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import psutil

from lab import etcd, proxy, redis, server, zookeeper
from tests.functional.faults.support import incident, stores
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import databases, hosts


class TestDatabase(incident.IncidentTestCase):
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


class _Stores(incident.IncidentTestCase):
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

    def launch(self, name: str) -> hosts.Host:
        port = self.path_of_host1.port if name == 'host1' else None
        return self.deployment.launch(name, store_port=port)

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
        self.path_of_host1 = proxy.Proxy(self.store_server.port)
        self.addCleanup(self.path_of_host1.close)
        free = self.share(*BOTH)
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
        self.path_of_host1.silence()
        self.wait_for_owner(free, 'host2')
        self.wait_for_lapse('host1', before)
        # It sees these too, and reaches the database.
        more = self.enrol(8)
        self.wait_for_owner(more, 'host2')
        self.path_of_host1.forward()
        self.wait_for_ring([*free, *more[2:]], BOTH)


class TestEtcd(_Stores):
    build = etcd.Etcd


class TestZooKeeper(_Stores):
    build = zookeeper.ZooKeeper


class TestRedis(_Stores):
    build = redis.Redis


del _Stores
