"""Fence: a local write lease that expires once heartbeats stop succeeding.

The lease runs from the start of the last accepted heartbeat, on a clock that
neither an administrator nor a time server can set. It ends before another
process may declare this one dead.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Iterator

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.calls import Clock, monotonic

Refusal = Callable[[], exceptions.FencedError]
"""Returns the error of each call for which there is no right to act."""

_NO_MEMBER = functools.partial(
    exceptions.FencedError,
    'this service has no valid membership',
    hint='It acts again after its next heartbeat succeeds',
)
_CLOSED = functools.partial(
    exceptions.FencedError,
    'this process has stopped to serve',
    hint='Start it again',
    lasting=True,
)


def forced_down(host: str) -> exceptions.FencedError:
    """Return the error of a service that an operator forces down."""
    return exceptions.FencedError(
        f'{host} is forced down',
        hint=f'Run "ironic-ownership service set {host} --up" once nothing '
        'else acts on its nodes',
        lasting=True,
    )


def check_row(host: str, epoch: int, row: model.Service | None) -> None:
    """Check that the row of a service gives it the right to act.

    :param epoch: of the lease, from before the row was read.
    :raises FencedError: if it does not.
    """
    if row is not None and row.forced_down:
        raise forced_down(host)
    if row is None or row.fenced or row.epoch != epoch:
        raise exceptions.FencedError(
            f'{host} was fenced: another service, or another process of this '
            'one, has taken over its right to act',
            hint='It acts again after it has registered again',
        )


@dataclasses.dataclass(frozen=True)
class Lease:
    """The right of one epoch, as it was at one moment.

    :param until: when it ends by the fence's clock, in seconds.
    :param term: counts how often the fence was opened: a lease from before
        the fence was dropped does not come back, under any epoch.
    """

    epoch: int
    until: float
    term: int


class ChangeSignal:
    """Counts changes; threads wait until there are more than they know.

    No change is missed between two calls of :meth:`wait`.

    Threading: any thread.

    :ivar count: the number of changes so far.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.count = 0
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, receive: Callable[[], None]) -> None:
        """Call a function after each change; it must not block."""
        self._subscribers.append(receive)

    def notify(self) -> None:
        """Count a change, and wake all waiting threads."""
        with self._condition:
            self.count += 1
            self._condition.notify_all()
        for receive in self._subscribers:
            receive()

    def wait(self, seen: int, timeout: float) -> None:
        """Wait until there are more changes than were seen.

        :param seen: an earlier count.
        :param timeout: seconds to wait at most.
        """
        with self._condition:
            self._condition.wait_for(lambda: self.count != seen, timeout)


class Fence:
    """The right to act and write, limited in time and bound to one epoch.

    Registration opens it, heartbeats extend it, and any thread that learns of
    the end of the right drops it.

    Threading: any thread.

    :param member_ttl: seconds after a beat at which a member expires.
    :param margin: seconds by which the right ends earlier.
    :ivar changes: notified whenever the right begins or is withdrawn; not
        when it expires.
    :ivar margin: the same.
    """

    def __init__(
        self, member_ttl: float, margin: float, clock: Clock = monotonic
    ) -> None:
        self.changes = ChangeSignal()
        self.margin = margin
        self._length = member_ttl - margin
        self._clock = clock
        self._lock = threading.Lock()
        self._until = float('-inf')
        self._epoch: int | None = None
        self._term = 0
        self._leaving = collections.Counter[str]()
        self._left = collections.Counter[str]()
        self._unanswered = collections.Counter[str]()
        self._closed = False
        self._reason: Refusal = _NO_MEMBER

    def open(self, beat_started: float, epoch: int) -> None:
        """Grant the right under an epoch that was just registered.

        :param beat_started: time just before the last accepted beat was sent.
        """
        with self._lock:
            if self._closed:
                return
            # Opened again under the same epoch, as after a change of settings:
            # the leases stay valid.
            if epoch != self._epoch:
                self._term += 1
            self._epoch = epoch
            # From the start: the store counts from a later moment, so the
            # right ends before the membership.
            self._until = beat_started + self._length
            self._reason = _NO_MEMBER
        self.changes.notify()

    def extend(self, beat_started: float) -> None:
        """Extend the right after a beat was accepted, if it was not dropped.

        :param beat_started: time just before that beat was sent.
        """
        with self._lock:
            # A beat that was under way when the right was dropped.
            if self._epoch is None:
                return
            had_expired = self._clock() >= self._until
            self._until = beat_started + self._length
        if had_expired:
            self.changes.notify()

    def drop(self, reason: Refusal | None = None) -> None:
        """Withdraw the right immediately.

        :param reason: of later errors, until :meth:`open`.
        """
        with self._lock:
            self._until = float('-inf')
            self._epoch = None
            self._reason = _CLOSED if self._closed else reason or _NO_MEMBER
        self.changes.notify()

    @contextlib.contextmanager
    def releasing(self, uuids: Iterable[str]) -> Iterator[None]:
        """End all permissions for nodes, and give none while this lasts.

        If the records do not answer, the release may still be committed: it
        lasts until :meth:`settle_releases`.
        """
        leaving = collections.Counter(uuids)
        with self._lock:
            self._leaving += leaving
        try:
            yield
        except exceptions.RecordsUnavailableError:
            with self._lock:
                self._unanswered += leaving
            raise
        except BaseException:
            self._released(leaving)
            raise
        self._released(leaving)

    def settle_releases(self, settle: Callable[[], object]) -> None:
        """End the releases that got no answer.

        :param settle: returns when none of them can be committed any more.
        """
        with self._lock:
            unanswered = self._unanswered
            self._unanswered = collections.Counter()
        if not unanswered:
            return
        try:
            settle()
        except BaseException:
            with self._lock:
                self._unanswered += unanswered
            raise
        self._released(unanswered)

    def _released(self, uuids: collections.Counter[str]) -> None:
        # Also those whose record was read before the commit.
        with self._lock:
            self._leaving -= uuids
            self._left.update(uuids)

    def releases(self, uuid: str) -> int | None:
        """Return how often a node was released; ``None`` during a release."""
        with self._lock:
            return None if self._leaving[uuid] else self._left[uuid]

    def close(self) -> None:
        """Withdraw the right for ever: the process stops."""
        with self._lock:
            self._closed = True
        self.drop()

    def reaches(self, beat_started: float) -> bool:
        """Tell whether an accepted beat would still grant the right.

        Regardless of the current state of the fence.
        """
        return self._clock() < beat_started + self._length

    @property
    def remaining(self) -> float:
        """Seconds until the right ends; at most 0 without it."""
        with self._lock:
            return self._until - self._clock()

    def lease(self) -> Lease:  # Model: MayAct
        """Return the right as it is now.

        :raises FencedError: if there is no right to act at this moment.
        """
        with self._lock:
            if self._epoch is None or self._clock() >= self._until:
                raise self._reason()
            return Lease(self._epoch, self._until, self._term)

    def epoch(self) -> int:
        """Return the epoch to write under.

        :raises FencedError: if there is no right to act at this moment.
        """
        return self.lease().epoch

    def wait_until(self, met: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition is met that follows the right, or the feed.

        :param timeout: seconds to wait at most.
        :returns: whether it is met.
        """
        until = self._clock() + timeout
        while True:
            # Counted before the test, so that no change falls between them.
            seen = self.changes.count
            if met():
                return True
            left = until - self._clock()
            if left <= 0:
                return False
            # The end of a lease is no event: read the clock then.
            expiry = self.remaining
            self.changes.wait(seen, min(left, expiry) if expiry > 0 else left)

    @property
    def may_act(self) -> bool:
        """True if there is a right to act at this moment."""
        return self.remaining > 0
