"""Real coordination services for the tests: one of each a test process.

A server starts when the first test asks for it and ends with the process;
every test has a membership group of its own. A missing server is an error,
not a skip.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
import unittest
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ironic_ownership.backends.tooz import backend
from ironic_ownership.contracts import exceptions
from lab import etcd, redis, zookeeper
from tests.functional.support import databases

_groups = itertools.count(1)
_PATIENCE = 180.0
"""Seconds."""

T = TypeVar('T')

KINDS = {
    'etcd': etcd.Etcd,
    'zookeeper': zookeeper.ZooKeeper,
    'redis': redis.Redis,
}


@functools.cache
def server(kind: str) -> Any:
    """Return the test process's server of a kind."""
    return databases.started(KINDS[kind], kind)


def build(
    url: str, group: str, ttl: float = 30, call_timeout: float = 20
) -> backend.ToozBackend:
    return backend.ToozBackend(
        {'backend_url': url, 'group': group},
        member_ttl=ttl,
        call_timeout=call_timeout,
    )


def until_answered(call: Callable[[], T]) -> T:
    """Repeat a call until the store answers it.

    :raises BackendUnavailableError: if it has not after three minutes.
    """
    gives_up = time.monotonic() + _PATIENCE
    while True:
        try:
            return call()
        except exceptions.BackendUnavailableError:
            if time.monotonic() > gives_up:
                raise
            time.sleep(0.05)


class OnStore(unittest.TestCase):
    """A fresh group a test, on a server of some kind.

    Time really passes here: ``ttl`` is short, and long enough for a machine
    that is busy. A member that beats has half of it for each beat, and a
    process may stand still for seconds. ``late`` is by how much the store may
    expire a member too late, in seconds.
    """

    kind: ClassVar[str]
    ttl: ClassVar[float] = 8.0
    late: ClassVar[float] = 0.2
    call_timeout: ClassVar[float] = 20

    def setUp(self) -> None:
        super().setUp()
        self.server = server(self.kind)
        self.group = f'group-{os.getpid()}-{next(_groups)}'

    def make_backend(self, member_ttl: float) -> backend.ToozBackend:
        return build(
            self.server.url, self.group, member_ttl, self.call_timeout
        )

    def elapse(self, seconds: float) -> None:
        time.sleep(seconds)
        if seconds > self.ttl:
            time.sleep(self.late)


class Swept(OnStore):
    """A store that removes expired members itself, when it comes to it."""

    def elapse(self, seconds: float) -> None:
        super().elapse(seconds)
        if seconds > self.ttl:
            watcher = self.make_backend(self.ttl)
            self.addCleanup(watcher.close)
            gives_up = time.monotonic() + 180
            while watcher.view().members and time.monotonic() < gives_up:
                time.sleep(0.05)


class Interrupted(OnStore):
    """A server that freezes, and one that forgets."""

    # A call of these tests waits as long when no server answers.
    call_timeout = 2

    def interrupt(self) -> None:
        self.server.freeze()

    def resume(self) -> None:
        self.server.thaw()

    def forget_everything(self) -> None:
        self.server.lose_data()
