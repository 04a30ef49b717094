"""The ``tooz`` backend on three etcd servers, of which some fail."""

from __future__ import annotations

import itertools
import time
import unittest
import uuid
from collections.abc import Callable

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
from lab import etcd
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered

SETTINGS = backend_case.SETTINGS
LONG = 120.0
"""Seconds to live, and of silence until a watch is opened again: longer than
any test waits."""

CALL_TIMEOUT = 4.0
LONG_CALL = 12.0
"""Time-out of calls of which the first one has to succeed: half of it is for
a server that does not answer, the other for busy ones."""

PATIENCE = 180.0

QUOTA = '--quota-backend-bytes'
"""The size of the database from which a server takes no write."""

_groups = itertools.count(1)


class TestEtcdServers(unittest.TestCase):
    cluster: etcd.Cluster

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster = etcd.Cluster(databases.temporary_directory('etcd'))
        cls.addClassCleanup(cls.cluster.close)
        for server in cls.cluster.servers:
            # Enough for the members of all tests.
            server.options = (*server.options, f'{QUOTA}={16 << 20}')
        cls.cluster.start()

    def setUp(self) -> None:
        super().setUp()
        self.group = f'group{next(_groups)}'
        self.addCleanup(self.cluster.network.heal)

    def build(
        self, *first: int, call_timeout: float = CALL_TIMEOUT
    ) -> ToozBackend:
        """Build a backend that uses some servers first."""
        ports = self.cluster.ports
        order = [*first, *(n for n in range(3) if n not in first)]
        addresses = ','.join(f'127.0.0.1:{ports[n]}' for n in order)
        made = coordination.build(
            f'etcd3+http://{addresses}', self.group, LONG, call_timeout
        )
        self.addCleanup(made.close)
        return made

    def joined(
        self, host: str, *first: int, call_timeout: float = CALL_TIMEOUT
    ) -> ToozBackend:
        """Return a backend that has joined as a host."""
        made = self.build(*first, call_timeout=call_timeout)
        until_answered(lambda: made.join(host, uuid.uuid4().hex, SETTINGS))
        return made

    def until(self, ready: Callable[[], bool]) -> None:
        gives_up = time.monotonic() + PATIENCE
        while not until_answered(ready):
            self.assertLess(time.monotonic(), gives_up)

    def steady(self) -> None:
        """Wait until the cluster has a leader that all servers know."""
        member = self.build()
        until_answered(member.view)

    def test_server_without_a_leader_gives_no_old_answer(self) -> None:
        for server in (self.cluster.leader(), self.cluster.followers()[0]):
            number = self.cluster.servers.index(server)
            others = [n for n in range(3) if n != number]
            watcher = self.build(number)
            until_answered(watcher.view)
            self.cluster.isolate(server)
            host = f'host{number}'
            self.joined(host, *others)
            self.assertIn(host, until_answered(watcher.view).hosts)
            self.cluster.network.heal()
            self.steady()

    def test_watch_leaves_a_server_that_lost_its_leader(self) -> None:
        follower = self.cluster.followers()[0]
        number = self.cluster.servers.index(follower)
        others = [n for n in range(3) if n != number]
        watcher = self.build(number)
        self.until(lambda: watcher.watch(5))
        self.assertFalse(watcher.watch(1))
        self.cluster.isolate(follower)
        self.joined('host1', *others)
        self.until(lambda: watcher.watch(5))
        self.assertEqual({'host1'}, until_answered(watcher.view).hosts)

    def test_compaction_and_defragmentation_are_not_noticed(self) -> None:
        watcher = self.build(call_timeout=LONG_CALL)
        self.until(lambda: watcher.watch(5))
        self.assertEqual(frozenset(), watcher.view().hosts)
        for number in range(3):
            member = self.joined(f'host{number}', call_timeout=LONG_CALL)
            for server in self.cluster.servers:
                server.compact()
            member.beat()
            self.until(lambda: watcher.watch(5))
            self.assertEqual(number + 1, len(watcher.view().members))

    def test_members_stay_while_the_quota_is_used_up(self) -> None:
        member = self.joined('host1')
        until_answered(member.view)
        self.addCleanup(self.make_room)
        self.cluster.leader().fill()
        until_answered(member.beat)
        self.assertEqual({'host1'}, until_answered(member.view).hosts)
        # The driver of tooz needs a lease, which is a write.
        late = self.build(call_timeout=LONG_CALL)
        for call in (
            lambda: late.join('host2', uuid.uuid4().hex, SETTINGS),
            late.view,
        ):
            with self.assertRaisesRegex(
                exceptions.BackendUnavailableError, 'space exceeded'
            ):
                call()
        self.make_room()
        self.joined('host2')
        self.assertEqual({'host1', 'host2'}, until_answered(late.view).hosts)

    def make_room(self) -> None:
        """Do what the documentation advises."""
        leader = self.cluster.leader()
        leader.free()
        for server in self.cluster.servers:
            server.compact()
        leader.disarm()
