"""ZooKeeper as a store of members, for the suites."""

from __future__ import annotations

import itertools
import time
import unittest
from typing import ClassVar

from ironic_ownership import (
    contracts,
)
from ironic_ownership_kazoo_membership import (
    backend,
)
from tests import (
    server,
)


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ZooKeeperCase(unittest.TestCase):
    """Tests of one class share a server; each has a node of its own.

    All backends of a test live in this process, so it is their leases that
    end a silent member. That ZooKeeper itself ends one whose process is gone
    is for ``test_zookeeper``.
    """

    zookeeper: ClassVar[server.ZooKeeper]
    call_timeout: ClassVar[float] = 30.0
    _numbers = itertools.count(1)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.zookeeper = server.ZooKeeper()
        cls.addClassCleanup(cls.zookeeper.remove)
        cls.zookeeper.start()

    def setUp(self) -> None:
        super().setUp()
        self.clock = Clock()
        self.path = f'/test{next(self._numbers)}'
        self.backends: list[backend.KazooBackend] = []
        self.addCleanup(self.end_sessions)

    def end_sessions(self) -> None:
        """End even the sessions that outlast their backend."""
        self.clock.now += 1e6
        for one in self.backends:
            one.lease.check()

    def make_backend(
        self, member_ttl: float, **options: contracts.Value
    ) -> backend.KazooBackend:
        """Return another instance on this test's node."""

        class Backend(backend.KazooBackend):
            clock = staticmethod(self.clock)

        made = Backend(
            {
                'servers': (self.zookeeper.address,),
                'path': self.path,
                **options,
            },
            member_ttl=member_ttl,
            call_timeout=self.call_timeout,
        )
        self.backends.append(made)
        return made

    def elapse(self, seconds: float) -> None:
        """Let time pass for the leases, and a little for the server."""
        time.sleep(0.01)
        self.clock.now += seconds
        for one in self.backends:
            one.lease.check()

    def interrupt(self) -> None:
        """Freeze the server."""
        self.zookeeper.freeze()

    def resume(self) -> None:
        """Let the server go on."""
        self.zookeeper.thaw()

    def forget_everything(self) -> None:
        """Start the server again without its data."""
        self.zookeeper.restart(empty=True)
