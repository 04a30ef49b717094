"""The heartbeat: schedule of beats and polls, and the poll of the own row.

Nothing here sends requests to Ironic.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from ironic_ownership.contracts import backend, exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.worker import Worker

LONGEST_WATCH = 1.0
"""Seconds of one call to the backend that waits for changes: a stop or a
changed interval may have to wait that long."""

SHORTEST_POLL = 0.05
"""Seconds between two polls, regardless of the next expiry."""


@dataclasses.dataclass(eq=False)
class Heartbeat(Worker):
    """Keeps one process a member.

    :param interval: seconds between the starts of two beats.
    :param watch_interval: seconds between two polls of the members.
    """

    context: ServiceContext
    member: LocalMember
    _: dataclasses.KW_ONLY
    interval: float
    watch_interval: float

    condition = 'heartbeat'
    fails = 'heartbeat failed'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._backend = self.context.ports.backend
        self.conditions = self.context.conditions
        self._clock = self.context.clock
        self._watches = backend.Capability.WATCH in self._backend.capabilities
        self._answered = threading.Event()
        self._beat_at = self._poll_at = self._clock()

    def change_intervals(self, interval: float, watch_interval: float) -> None:
        """Use other intervals from now on. Any thread."""
        self.interval, self.watch_interval = interval, watch_interval
        self._beat_at = self._clock()  # do not wait for a long old interval
        self.wake()

    def poll_soon(self) -> None:
        """Poll the members, and register if that is due. Any thread."""
        self._answered.set()
        self.wake()

    def join(self) -> float | None:
        """Beat until this process is a member: then :meth:`step` goes on.

        :returns: seconds until the next attempt; ``None`` for a member.
        :raises MembershipError: if it never can be.
        """
        self._beat()
        if self.member.is_member:
            return None
        return self._beat_at - self._clock()

    def failed(self, error: Exception) -> float:
        """Report the error, and go on soon."""
        super().failed(error)
        return self.watch_interval

    def step(self) -> float:
        """Beat, poll, or wait for what the store reports."""
        now = self._clock()
        if now >= self._beat_at or self.member.wants_beat:
            self._beat()
        elif not self.member.may_poll or not (
            now >= self._poll_at or self._answered.is_set()
        ):
            return self._watch(now)
        # A poll that hangs must not delay the beat until the right has ended.
        # One that has ended leaves nothing to protect.
        elif 0 < self.context.fence.remaining <= self._backend.call_timeout:
            self._beat()
        else:
            self._answered.clear()
            self.member.poll()
            self._schedule_poll()
        return 0.0

    def _beat(self) -> None:
        # Set before the beat, so that a slow one does not stretch the
        # interval.
        self._beat_at = self._clock() + self.interval
        self.member.beat()
        # Not after any step: one that waits for the next beat is no success.
        if self.member.may_poll:
            self.conditions.clear(self.condition, 'heartbeat succeeded again')
        self._schedule_poll()

    def _schedule_poll(self) -> None:
        self._poll_at = self._clock() + self.watch_interval
        # The store reports changes, so the poll after each beat is enough.
        if self._watches and not self.member.wants_poll:
            self._poll_at = max(self._poll_at, self._beat_at)
        expiry = self.member.next_expiry
        if expiry is not None:
            # A member that expires is found missing then, not later.
            soonest = self._clock() + SHORTEST_POLL
            self._poll_at = min(self._poll_at, max(soonest, expiry))

    def _watch(self, now: float) -> float:
        """Let the store report a change, if it can; return the time left."""
        until = self._beat_at
        if self.member.may_poll:
            until = min(until, self._poll_at)
        timeout = max(until - now, 0.0)
        if (
            not self._watches
            or not self.member.may_poll
            or self.member.registration.is_pending
        ):
            return timeout
        # A watch would not notice that it was woken.
        if self._wanted.is_set():
            return 0.0
        try:
            if self._backend.watch(min(timeout, LONGEST_WATCH)):
                self._poll_at = self._clock()
        except exceptions.MembershipError:
            # The next beat reports the error; until then, do not hurry.
            self._poll_at = self._clock()
            return min(timeout, self.watch_interval)
        return 0.0


@dataclasses.dataclass(eq=False)
class EpochMonitor(Worker):
    """Polls the own service row, once per heartbeat interval.

    So a process learns from the records that its right to act has ended, on
    every membership backend, and even while that backend or Ironic does not
    answer. In a thread of its own: neither the heartbeat waits for the
    records, nor this poll for the members. It costs one query by key.

    :param heartbeat: gives the interval, and registers again.
    :param on_change: called after a change of the state of this process.
    """

    heartbeat: Heartbeat
    on_change: Callable[[], None] = lambda: None

    condition = 'epoch'
    fails = 'polling the own service row failed'
    works = 'the own service row is polled again'

    def __post_init__(self) -> None:
        super().__post_init__()
        self.conditions = self.heartbeat.conditions

    def step(self) -> float:
        """Poll, and come back after an interval."""
        clock = self.heartbeat.context.clock
        started = clock()
        if self.heartbeat.member.check_epoch():
            self.heartbeat.poll_soon()
            self.on_change()
        self.conditions.succeeded(Loop.EPOCH)
        return max(started + self.heartbeat.interval - clock(), 0.0)

    def failed(self, error: Exception) -> float:
        """Report the error; try again after an interval."""
        super().failed(error)
        return self.heartbeat.interval
