"""The ``tooz`` backend on three ZooKeeper servers, of which some fail."""

from __future__ import annotations

import itertools
import time
import unittest
import uuid
from collections.abc import Callable

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
from lab import zookeeper
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered

SETTINGS = backend_case.SETTINGS
LONG = 120.0
CALL_TIMEOUT = 4.0
PATIENCE = 180.0

_groups = itertools.count(1)


class TestEnsemble(unittest.TestCase):
    cluster: zookeeper.Cluster

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        # A server that lost its leader goes on answering for this long.
        cls.cluster = zookeeper.Cluster(
            databases.temporary_directory('zookeeper'), sync_limit=30
        )
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    def setUp(self) -> None:
        super().setUp()
        self.group = f'group{next(_groups)}'
        self.addCleanup(self.cluster.network.heal)
        # Each test loses one of them: all of them have to serve before.
        for server in self.cluster.servers:
            if server.pid is None:
                server.begin()
        for server in self.cluster.servers:
            server.wait()

    def build(self, *numbers: int, ttl: float = LONG) -> ToozBackend:
        """Build a backend that tries some servers, in this order."""
        ports = self.cluster.ports
        hosts = ','.join(f'127.0.0.1:{ports[n]}' for n in numbers)
        made = coordination.build(
            f'zookeeper://{hosts}?randomize_hosts=false',
            self.group,
            ttl,
            CALL_TIMEOUT,
        )
        self.addCleanup(made.close)
        return made

    def joined(self, host: str, *numbers: int) -> ToozBackend:
        made = self.build(*(numbers or (0, 1, 2)))
        until_answered(lambda: made.join(host, uuid.uuid4().hex, SETTINGS))
        return made

    def order(self, first: zookeeper.ZooKeeper) -> tuple[int, ...]:
        number = self.cluster.servers.index(first)
        return (number, *(n for n in range(3) if n != number))

    def test_frozen_server_costs_a_call_and_no_membership(self) -> None:
        follower = self.cluster.followers()[0]
        member = self.joined('host1', *self.order(follower))
        watcher = self.build(*self.order(follower))
        until_answered(watcher.view)
        follower.freeze()
        try:
            for call in (member.beat, watcher.view):
                with self.assertRaises(exceptions.BackendUnavailableError):
                    call()
                # The session lives for two minutes: kazoo alone would wait.
                self.answered_in_three(call)
        finally:
            follower.thaw()

    def answered_in_three(self, call: Callable[[], object]) -> None:
        for remaining in (2, 1, 0):
            try:
                call()
                return
            except exceptions.BackendUnavailableError:
                if not remaining:
                    raise

    def test_server_that_lost_its_leader_gives_no_old_answer(self) -> None:
        follower = self.cluster.followers()[0]
        own, *others = self.order(follower)
        watcher = self.build(own)
        until_answered(watcher.view)
        member = self.joined('host1', own)
        self.assertEqual({'host1'}, until_answered(watcher.view).hosts)
        self.cluster.isolate(follower)
        self.joined('host2', *others)
        for call in (watcher.view, member.beat):
            with self.assertRaises(exceptions.BackendUnavailableError):
                call()
        self.cluster.network.heal()
        self.assertEqual(
            {'host1', 'host2'}, until_answered(watcher.view).hosts
        )
        until_answered(member.beat)

    def test_watch_survives_the_loss_of_its_server(self) -> None:
        follower = self.cluster.followers()[0]
        own, *others = self.order(follower)
        watcher = self.build(own, *others)
        until_answered(lambda: watcher.watch(5))
        follower.kill()
        self.joined('host1', *others)
        gives_up = time.monotonic() + PATIENCE
        while not until_answered(lambda: watcher.watch(5)):
            self.assertLess(time.monotonic(), gives_up)
        self.assertEqual({'host1'}, until_answered(watcher.view).hosts)
        follower.start()
