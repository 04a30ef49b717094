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
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import databases


class _OnCluster(incident.IncidentTestCase):
    """The members are on three servers, which know each host by its name.

    :cvar build: of the cluster, in a directory.
    """

    build: ClassVar[Callable[..., cluster.Cluster[Any]]]
    on_disks: ClassVar[bool] = False

    def open_store(self) -> stores.Store:
        self.cluster = self.build(databases.temporary_directory('cluster'))
        self.addCleanup(self.cluster.close)
        for server in self.cluster.servers:
            server.keeps_data = self.on_disks
        self.cluster.start()
        for name in BOTH:
            self.cluster.network.name(
                name, functools.partial(self.process_of, name)
            )
        return stores.CoordinationStore(self.cluster.url)

    def process_of(self, name: str) -> int | None:
        for host in self.deployment.hosts:
            if host.name == name:
                return host.process.pid
        return None


class _Faults(_OnCluster):
    """Faults that a store of three servers survives."""

    def test_faults_of_servers_move_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        # A call may take as long, and elections take time.
        self.deployment.more['membership']['heartbeat_interval'] = 2
        self.share(*BOTH)
        with self.nothing_moves():
            for number, _ in enumerate(self.faults(), start=1):
                self.faults_survived = number
                self.assert_all_is_well()

    def faults(self) -> Iterator[None]:
        """Let one fault after the other begin, and end."""
        servers, network = self.cluster, self.cluster.network
        leader = servers.leader()
        leader.kill()
        yield
        leader.start()
        leader = servers.leader()
        leader.freeze()
        yield
        leader.thaw()
        servers.isolate(servers.leader())
        yield
        network.heal()
        servers.isolate(servers.followers()[0])
        yield
        network.heal()
        network.partition({'host1'}, self.far_from_host1())
        yield
        network.heal()
        # What an upgrade of the servers does: the leader is last.
        for server in [*servers.followers(), servers.leader()]:
            servers.leave_to_others(server)
            server.restart()
        yield
        majority = [servers.leader(), servers.followers()[0]]
        for server in majority:
            server.freeze()
        self.wait_for_failures()
        for server in majority:
            server.thaw()
        yield

    def wait_for_failures(self) -> None:
        """Wait until each process has failed again to reach the store."""
        for host in self.running:
            count = len(host.lines('backend tooz:'))
            self.deployment.wait_until(
                lambda host=host, count=count: (  # type: ignore[misc]
                    len(host.lines('backend tooz:')) > count
                ),
                f'failed heartbeat of {host.name}',
            )

    def far_from_host1(self) -> set[str]:
        """Return two servers."""
        return {server.name for server in self.cluster.servers[:2]}


class _OnDisks(_Faults):
    """A commit waits for the disks of a majority."""

    on_disks = True

    def faults(self) -> Iterator[None]:
        yield from super().faults()
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


class TestRedisSentinels(_Faults):
    build = redis.Cluster

    def far_from_host1(self) -> set[str]:
        # It needs the primary, and one sentinel when it connects again.
        return set().union(*map(self.cluster.side, self.cluster.followers()))

    def faults(self) -> Iterator[None]:
        yield from super().faults()
        # No server is a primary, and an operator does what has to be done.
        self.cluster.make_circle()
        self.wait_for_failures()
        self.deployment.wait_until(self.cluster.repair, 'repair')
        yield


class TestSplitRedis(_OnCluster):
    """A primary with one service on one side, the rest on the other.

    The old primary refuses writes after two seconds, long before it forgets a
    service that has been slow before the cut. The witness is not on its side,
    where services of the other one seem to be missing.
    """

    build = redis.Cluster

    def fenced(self, after: int) -> set[str | None]:
        return {
            event.from_host
            for event in self.deployment.events()
            if event.kind == EventKind.SERVICE_FENCED and event.id > after
        }

    def test_service_with_the_old_primary_is_replaced(self) -> None:
        self.deployment.live_for(incident.LONG)
        free = self.share(*BOTH)
        before = self.deployment.last_event()
        self.cluster.isolate(self.cluster.leader(), {'host1'}, {'host2', ''})
        self.wait_for_owner(free, 'host2')
        self.assertIn('host1', self.fenced(before))
        self.cluster.network.heal()
        self.wait_for_ring(free, BOTH)
        self.assertNotIn('host2', self.fenced(before))


del _OnCluster, _Faults, _OnDisks
