"""The store of the members fails: for one host, for all, with its data.

The same incidents on every kind of store. The records are on PostgreSQL,
which nothing happens to.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import ClassVar

import psutil

from lab import etcd, redis, zookeeper
from tests.functional.faults.support import incident, stores
from tests.functional.support import hosts

BOTH = ('host1', 'host2')
TTL = float(str(hosts.FAST['membership']['member_ttl']))


class _Stores(incident.IncidentTestCase):
    # A store may forget members before their time here. By then the right
    # of a host has ended all the same, unless it has a new one.
    patience = TTL

    def share(self) -> tuple[list[str], set[str]]:
        """Start two hosts that own nodes."""
        self.running = self.start(*BOTH)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        return uuids, deployed

    def assert_all_is_well(self) -> None:
        """See new nodes get their owners."""
        more, _ = self.enrol(8)
        self.wait_for_ring(more, BOTH)
        for host in self.running:
            self.assertIsNone(host.process.returncode, host.troubles())

    def wait_for_work(self) -> None:
        """Wait until all processes have tried things, without success."""

        def switches() -> list[int]:
            return [
                psutil.Process(host.process.pid).num_ctx_switches().voluntary
                for host in self.running
            ]

        enough = [count + 20 for count in switches()]
        self.deployment.wait_until(
            lambda: all(map(operator.gt, switches(), enough)), 'work'
        )

    def test_host_cut_off_from_the_store_stops_and_is_replaced(self) -> None:
        to_store = self.proxy_to(self.deployment.store.port)
        self.deployment.launch('host1', store_port=to_store.port)
        self.start('host2')
        self.wait_for_members(*BOTH)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        before = self.deployment.last_event()
        to_store.silence()
        free = sorted(set(uuids) - deployed)
        self.wait_for_owner(free, 'host2')
        self.wait_for_lapse('host1', before)
        # It sees these too, and reaches the database.
        more, _ = self.enrol(8)
        self.wait_for_owner(more, 'host2')
        to_store.forward()
        self.wait_for_ring(free + more[2:], BOTH)

    def test_store_restarted_empty_moves_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.share()
        with self.nothing_moves():
            self.deployment.store.wipe()
            self.assert_all_is_well()

    def test_while_the_store_is_down_no_host_writes_or_dies(self) -> None:
        self.deployment.live_for(incident.STEADY)
        self.share()
        with self.nothing_moves():
            self.deployment.store.stop()
            self.wait_for_fences(self.running)
            more, _ = self.enrol(8)
            before = self.deployment.last_event()
            self.wait_for_work()
            self.assertEqual(before, self.deployment.last_event())
            self.deployment.store.start()
            self.wait_for_ring(more, BOTH)
            self.assert_all_is_well()


class _Kept(_Stores):
    """On stores that keep what they know, and whose sessions live on."""

    def test_frozen_host_does_nothing_with_its_old_right(self) -> None:
        uuids, deployed = self.share()
        before = self.deployment.last_event()
        self.running[0].freeze()
        self.wait_for_lapse('host1', before)
        free = sorted(set(uuids) - deployed)
        self.wait_for_owner(free, 'host2')
        more, _ = self.enrol(8)
        self.wait_for_owner(more, 'host2')
        self.running[0].thaw()
        self.wait_for_ring(free + more[2:], BOTH)

    def test_restarted_store_moves_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.share()
        with self.nothing_moves():
            self.deployment.store.stop()
            self.deployment.store.start()
            self.assert_all_is_well()


class TestDatabaseAsStore(_Kept):
    """The members on MariaDB."""


class _Coordination(_Stores):
    build: ClassVar[Callable[..., stores.Server]]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.store_server = stores.CoordinationStore.serve(
            cls.build, cls.addClassCleanup
        )

    def open_store(self, url: str) -> stores.Store:
        return stores.CoordinationStore(self.store_server)


class TestEtcd(_Coordination, _Kept):
    build = etcd.Etcd


class TestZooKeeper(_Coordination, _Kept):
    build = zookeeper.ZooKeeper


class TestRedis(_Coordination):
    build = redis.Redis


del _Stores, _Kept, _Coordination
