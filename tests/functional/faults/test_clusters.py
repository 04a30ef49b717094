"""Stores of three servers, of which some fail: no node changes its owner.

One deployment lives through all faults of its store, one after the other.
The records are on PostgreSQL, which nothing happens to.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from lab import cluster, etcd, slow_disk
from tests.functional.faults.support import incident, stores
from tests.functional.support import databases, hosts

BOTH = ('host1', 'host2')


class _Clusters(incident.IncidentTestCase):
    """Faults that a store of three servers survives.

    :cvar build: of the cluster, in a directory.
    """

    build: ClassVar[Callable[..., cluster.Cluster[Any]]]
    cluster: ClassVar[cluster.Cluster[Any]]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster = cls.build(databases.temporary_directory('cluster'))
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    def open_store(self, url: str) -> stores.Store:
        return stores.ClusterStore(self.cluster)

    def test_faults_of_servers_move_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.cluster.network.name('host1', self.process_of_host1)
        self.running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            for fault in self.faults():
                with fault():
                    self.assert_all_is_well()
            with self.majority_frozen():
                self.wait_for_failures()
            self.assert_all_is_well()
        for host in self.running:
            self.assertEqual(1, len(host.lines('joined as')), host.troubles())

    def faults(self) -> list[Callable[[], Any]]:
        return [
            self.leader_killed,
            self.leader_frozen,
            self.leader_isolated,
            self.follower_isolated,
            self.host_cut_off_from_two_servers,
        ]

    def process_of_host1(self) -> int | None:
        for host in self.deployment.hosts:
            if host.name == 'host1':
                return host.process.pid
        return None

    def assert_all_is_well(self) -> None:
        """See new nodes get their owners."""
        more, _ = self.enrol(8)
        self.wait_for_ring(more, BOTH)

    def wait_for_failures(self) -> None:
        """Wait until both hosts have noticed that the store is gone."""
        before = [self.failures(host) for host in self.running]
        self.deployment.wait_until(
            lambda: all(
                self.failures(host) > count
                for host, count in zip(self.running, before, strict=True)
            ),
            'failed heartbeats',
        )

    def failures(self, host: hosts.Host) -> int:
        return len(host.lines('backend tooz:'))

    @contextlib.contextmanager
    def leader_killed(self) -> Iterator[None]:
        leader = self.cluster.leader()
        leader.kill()
        yield
        leader.start()

    @contextlib.contextmanager
    def leader_frozen(self) -> Iterator[None]:
        leader = self.cluster.leader()
        leader.freeze()
        try:
            yield
        finally:
            leader.thaw()

    @contextlib.contextmanager
    def leader_isolated(self) -> Iterator[None]:
        self.cluster.isolate(self.cluster.leader())
        yield
        self.cluster.network.heal()

    @contextlib.contextmanager
    def follower_isolated(self) -> Iterator[None]:
        self.cluster.isolate(self.cluster.followers()[0])
        yield
        self.cluster.network.heal()

    @contextlib.contextmanager
    def host_cut_off_from_two_servers(self) -> Iterator[None]:
        network = self.cluster.network
        two = {server.name for server in self.cluster.servers[:2]}
        network.partition({'host1'}, two)
        yield
        network.heal()

    @contextlib.contextmanager
    def majority_frozen(self) -> Iterator[None]:
        lost = [self.cluster.leader(), self.cluster.followers()[0]]
        for server in lost:
            server.freeze()
        try:
            yield
        finally:
            for server in lost:
                server.thaw()


class TestEtcdCluster(_Clusters):
    build = etcd.Cluster

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for server in cls.cluster.servers:
            server.stop()
            server.keeps_data = True
        cls.cluster.start()

    def faults(self) -> list[Callable[[], Any]]:
        return [*super().faults(), self.leader_with_a_slow_disk]

    @contextlib.contextmanager
    def leader_with_a_slow_disk(self) -> Iterator[None]:
        log = databases.temporary_directory('strace') / 'log'
        leader = self.cluster.leader()
        with slow_disk.SlowDisk(leader.pid, 0.3, log):
            yield


del _Clusters
