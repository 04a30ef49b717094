"""Fakes of the rest of a deployment, for tests of plugins without servers.

A clock that a test moves, Ironic in memory, members in memory, and the
records. Each passes the same contract suite as the real one. The records are
real: those of a deployment, on a database in a temporary directory.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model, policy
from ironic_ownership.contracts.records import Records
from ironic_ownership.testing.fake_inventory import FakeInventory

__all__ = ['FakeClock', 'FakeInventory', 'FakeMembership', 'records']


class FakeClock:
    """A clock that only a test moves; call it to read the seconds."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def elapse(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class FakeMembership:
    """A store of members that a test fills, ages, and lets fail.

    :param clock: decides which members have expired.
    :param member_ttl: time to live of a member without a beat, in seconds.
    """

    def __init__(
        self, clock: Callable[[], float], member_ttl: float = 20.0
    ) -> None:
        self._store = memory.MemoryStore(clock)
        self._member_ttl = member_ttl

    def backend(self) -> memory.MemoryBackend:
        """Return a backend on this store, not joined."""
        return memory.MemoryBackend(
            {},
            member_ttl=self._member_ttl,
            call_timeout=5.0,
            store=self._store,
        )

    def join(
        self, host: str, *policies: tuple[str, policy.Policy]
    ) -> memory.MemoryBackend:
        """Let a service with these policies join.

        :param policies: name and policy, as in ``[ownership] policies``.
        :returns: its backend, to beat and to leave.
        """
        joined = self.backend()
        settings = model.MemberSettings(
            tuple(
                model.PolicySettings.of(name, one.settings())
                for name, one in policies
            )
        )
        joined.join(host, f'incarnation-of-{host}', settings)
        return joined

    def view(self) -> model.View:
        """Return the members that are alive now."""
        return self.backend().view()

    def fail(self, failing: bool = True) -> None:
        """Let all calls of the store fail, or succeed again."""
        self._store.available = not failing


@contextlib.contextmanager
def records() -> Iterator[Records]:
    """Open empty records of the caller's own.

    :yields: the records of a deployment, on a database that is deleted
        afterwards.
    """
    from ironic_ownership.db import connection, schema
    from ironic_ownership.db.records import SqlRecords

    with tempfile.TemporaryDirectory() as directory:
        url = f'sqlite:///{directory}/records.sqlite'
        database = connection.open_database(url)
        try:
            schema.ensure(database)
            yield SqlRecords(database)
        finally:
            database.close()
