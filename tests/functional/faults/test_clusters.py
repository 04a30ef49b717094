"""Stores of three servers, of which some fail: no node changes its owner.

One deployment lives through all faults of its store, one after the other.
The records are on PostgreSQL, which nothing happens to.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ironic_ownership.contracts.events import EventKind
from lab import cluster, etcd, redis, slow_disk, zookeeper
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
        cls.prepare()
        cls.cluster.start()

    @classmethod
    def prepare(cls) -> None:
        """Set up the servers before they start."""

    def open_store(self, url: str) -> stores.Store:
        return stores.ClusterStore(self.cluster)

    def test_faults_of_servers_move_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        # A call may take as long, and elections take time.
        self.deployment.more = {
            'membership': {
                'member_ttl': incident.LONG,
                'heartbeat_interval': 2,
            }
        }
        self.cluster.network.name('host1', self.process_of_host1)
        self.running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            faults = self.faults()
            for fault in faults:
                with fault():
                    self.assert_all_is_well()
            self.faults_survived = len(faults) + 1
            with self.majority_frozen():
                self.wait_for_failures()
            self.assert_all_is_well()

    def faults(self) -> list[Callable[[], Any]]:
        return [
            self.leader_killed,
            self.leader_frozen,
            self.leader_isolated,
            self.follower_isolated,
            self.host_cut_off_from_two_servers,
            self.all_restarted_in_turn,
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
    def all_restarted_in_turn(self) -> Iterator[None]:
        """Do what an upgrade of the servers does: the leader is last."""
        for server in [*self.cluster.followers(), self.cluster.leader()]:
            self.cluster.leave_to_others(server)
            server.restart()
        yield

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


class _OnDisks(_Clusters):
    """A commit waits for the disks of a majority."""

    @classmethod
    def prepare(cls) -> None:
        for server in cls.cluster.servers:
            server.keeps_data = True

    def faults(self) -> list[Callable[[], Any]]:
        return [*super().faults(), self.slow_disks]

    @contextlib.contextmanager
    def slow_disks(self) -> Iterator[None]:
        directory = databases.temporary_directory('strace')
        with contextlib.ExitStack() as stack:
            for server in self.with_slow_disks():
                log = directory / f'{server.name}.log'
                stack.enter_context(slow_disk.SlowDisk(server.pid, 0.3, log))
            yield

    def with_slow_disks(self) -> list[Any]:
        return [self.cluster.leader()]


class TestEtcdCluster(_OnDisks):
    build = etcd.Cluster


class TestZooKeeperEnsemble(_OnDisks):
    build = zookeeper.Cluster

    def with_slow_disks(self) -> list[Any]:
        # They would do without the disk of the leader.
        return self.cluster.followers()


class TestRedisSentinels(_Clusters):
    build = redis.Cluster

    @contextlib.contextmanager
    def host_cut_off_from_two_servers(self) -> Iterator[None]:
        # It needs the primary, and one sentinel when it connects again.
        away = set().union(*map(self.cluster.side, self.cluster.followers()))
        self.cluster.network.partition({'host1'}, away)
        yield
        self.cluster.network.heal()

    def faults(self) -> list[Callable[[], Any]]:
        return [*super().faults(), self.replicas_in_a_circle]

    @contextlib.contextmanager
    def replicas_in_a_circle(self) -> Iterator[None]:
        """See that no server is a primary, and do what an operator does."""
        self.cluster.make_circle()
        self.wait_for_failures()
        self.deployment.wait_until(self.cluster.repair, 'repair')
        yield


class TestSplitRedis(incident.IncidentTestCase):
    """A primary with one service on one side, the rest on the other.

    The old primary refuses writes after two seconds, long before it forgets a
    service that has been slow before the cut. The witness is not on its side,
    where services of the other one seem to be missing.
    """

    def open_store(self, url: str) -> stores.Store:
        self.cluster = redis.Cluster(databases.temporary_directory('redis'))
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        for name in BOTH:
            self.cluster.network.name(
                name, functools.partial(self.process_of, name)
            )
        return stores.ClusterStore(self.cluster)

    def process_of(self, name: str) -> int | None:
        for host in self.deployment.hosts:
            if host.name == name:
                return host.process.pid
        return None

    def fenced(self, host: str, after: int) -> bool:
        return any(
            event.kind == EventKind.SERVICE_FENCED
            and event.from_host == host
            and event.id > after
            for event in self.deployment.events()
        )

    def test_service_with_the_old_primary_is_replaced(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.start(*BOTH)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        before = self.deployment.last_event()
        self.cluster.isolate(self.cluster.leader(), {'host1'}, {'host2', ''})
        free = sorted(set(uuids) - deployed)
        self.wait_for_owner(free, 'host2')
        self.assertTrue(self.fenced('host1', before))
        self.assertFalse(self.fenced('host2', before))
        self.cluster.network.heal()
        self.wait_for_ring(free, BOTH)
        self.assertFalse(self.fenced('host2', before))


del _Clusters, _OnDisks
