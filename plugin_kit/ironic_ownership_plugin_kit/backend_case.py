"""Base of the contract suites of membership backends.

It builds the backends of a test, and declares hooks by which a subclass acts
on their store. ``backend`` combines the suites.
"""

from __future__ import annotations

import threading
import time
import unittest
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from ironic_ownership.contracts import backend, exceptions, model

T = TypeVar('T')

SETTINGS = model.MemberSettings(
    (
        model.PolicySettings.of('shard_key', {'shard_key': 'Rack-1 é'}),
        model.PolicySettings.of(
            'peer_list', {'peer_list': ('a', 'b'), 'n': 1, 'x': None}
        ),
    )
)
OTHER = model.MemberSettings((model.PolicySettings.of('all', {}),))


class BackendCase(unittest.TestCase):
    """Builds backends on one store, as defined by a subclass.

    ``ttl`` is the time to live of the members in the tests, in seconds: short
    where ``elapse`` really waits, but long enough for a busy machine.
    ``patience`` is how long a test waits beyond the bound of a call, or where
    there is no bound: it only distinguishes "late" from "never".
    """

    ttl: ClassVar[float] = 30.0
    patience: ClassVar[float] = 60.0

    def make_backend(self, member_ttl: float) -> backend.MembershipBackend:
        """Return another instance on this test's store, not joined yet."""
        raise NotImplementedError

    def elapse(self, seconds: float) -> None:
        """Let time pass for this test's store."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Make the store stop answering; it loses nothing. Idempotent.

        Freeze its process or drop its traffic: a store that refuses
        connections is the easier case.
        """
        raise NotImplementedError

    def resume(self) -> None:
        """End an interruption. Idempotent."""
        raise NotImplementedError

    def forget_everything(self) -> None:
        """Make the store lose all members, as in a restart without data."""
        raise NotImplementedError

    def build(self, ttl: float | None = None) -> backend.MembershipBackend:
        """Build an instance and have it closed after the test."""
        made = self.make_backend(self.ttl if ttl is None else ttl)
        self.addCleanup(made.close)
        return made

    def joined(
        self,
        host: str,
        incarnation: str,
        settings: model.MemberSettings = SETTINGS,
        ttl: float | None = None,
    ) -> backend.MembershipBackend:
        """Build an instance that has joined."""
        made = self.build(ttl)
        made.join(host, incarnation, settings)
        return made

    def members(self) -> Sequence[tuple[str, str]]:
        """Return host and incarnation of all, as seen by a new instance."""
        found = self.build().view().members
        return [(m.host, m.incarnation) for m in found]

    def member(self, host: str, incarnation: str) -> model.Member:
        """Return a member that is alive, as seen by a new instance."""
        found = self.build().view().members
        return next(
            m for m in found if (m.host, m.incarnation) == (host, incarnation)
        )

    def interrupted(self) -> None:
        """Interrupt the store until :meth:`resume` or the end of the test."""
        self.addCleanup(self.resume)
        self.interrupt()

    def in_time(self, call: Callable[[], T], bound: float) -> T:
        """Make a call that has to end by itself while nothing changes.

        :param bound: seconds within which it has to, by the contract.
        """
        answers: list[Callable[[], T]] = []
        ended = threading.Event()

        def run() -> None:
            answers.append(_outcome(call))
            ended.set()

        threading.Thread(target=run, daemon=True).start()
        if not self.wait_for(ended, bound + self.patience):
            self.fail(f'the call has not ended long after {bound:g} s')
        return answers[0]()

    def wait_for(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event, at most so long.

        Override it where a test knows earlier that the event cannot come.

        :returns: whether it came.
        """
        return event.wait(seconds)

    def assert_unavailable(
        self, one: backend.MembershipBackend, call: Callable[[], object]
    ) -> None:
        """Check that a call fails in time because the store is down."""
        with self.assertRaises(exceptions.BackendUnavailableError):
            self.in_time(call, one.call_timeout)

    def answered(self, call: Callable[[], T]) -> T:
        """Retry a call until a store that came back answers it."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return call()
            except exceptions.BackendUnavailableError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _outcome(call: Callable[[], T]) -> Callable[[], T]:
    try:
        result = call()
    except BaseException as exc:  # noqa: BLE001 - raised in the thread of the test
        error = exc

        def fail() -> T:
            raise error

        return fail
    return lambda: result
