"""The base of the suites that every membership backend passes.

It builds the backends of a test and says, by hooks that a subclass fills in,
what may happen to their store. The suites are put together in ``backend``.
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
    """Builds backends on one store; a subclass says how.

    ``ttl`` is how long a member of the tests lives without a beat, in
    seconds: short where ``elapse`` really waits, but long enough for a busy
    machine. ``patience`` is how long a test waits for what has no bound of
    its own, or after its bound: it only tells "late" from "never".
    """

    ttl: ClassVar[float] = 30.0
    patience: ClassVar[float] = 60.0

    def make_backend(self, member_ttl: float) -> backend.MembershipBackend:
        """Return another instance on this test's store, not joined yet."""
        raise NotImplementedError

    def elapse(self, seconds: float) -> None:
        """Let time pass for this test's store; others may beat meanwhile."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Make the store stop answering; it loses nothing. Idempotent.

        Freeze its process or drop what is sent to it: a store that refuses
        at once is the easier case.
        """
        raise NotImplementedError

    def resume(self) -> None:
        """End what :meth:`interrupt` began. Idempotent."""
        raise NotImplementedError

    def forget_everything(self) -> None:
        """Make the store lose all members, as a restart without its data."""
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
        """Return host and incarnation of all, as a new instance sees them."""
        found = self.build().view().members
        return [(m.host, m.incarnation) for m in found]

    def member(self, host: str, incarnation: str) -> model.Member:
        """Return what a new instance sees of a member that is alive."""
        found = self.build().view().members
        return next(
            m for m in found if (m.host, m.incarnation) == (host, incarnation)
        )

    def interrupted(self) -> None:
        """Interrupt the store until :meth:`resume`, at most for this test."""
        self.addCleanup(self.resume)
        self.interrupt()

    def in_time(self, call: Callable[[], T], bound: float) -> T:
        """Make a call that has to end: by itself and while nothing changes.

        :param bound: seconds that the contract gives it.
        """
        answers: list[Callable[[], T]] = []
        thread = threading.Thread(
            target=lambda: answers.append(_outcome(call)), daemon=True
        )
        thread.start()
        thread.join(bound + self.patience)
        if not answers:
            self.fail(f'the call has not ended long after {bound:g} s')
        return answers[0]()

    def assert_unavailable(
        self, one: backend.MembershipBackend, call: Callable[[], object]
    ) -> None:
        """Have a call end in time, saying that the store does not answer."""
        with self.assertRaises(exceptions.BackendUnavailableError):
            self.in_time(call, one.call_timeout)

    def answered(self, call: Callable[[], T]) -> T:
        """Repeat a call until a store that came back answers it again."""
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
    except BaseException as exc:  # noqa: BLE001 - raised by who asks for it
        error = exc

        def fail() -> T:
            raise error

        return fail
    return lambda: result
