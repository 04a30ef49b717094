"""The heartbeat loop: schedule of beats and polls in a thread of its own.

A poll never delays a beat: it does not begin when it could hang until after
the right to act ends. Nothing here sends requests to Ironic.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import capabilities, exceptions
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)

LONGEST_WATCH = 1.0
"""Seconds of one call to the backend that waits for changes: a stop or a
changed interval may have to wait that long."""

SHORTEST_POLL = 0.05
"""Seconds between two polls, regardless of the next expiry."""


@dataclasses.dataclass(eq=False)
class Heartbeat:
    """Keeps one process a member.

    :param interval: seconds between the starts of two beats.
    :param watch_interval: seconds between two polls of the members.
    """

    context: ServiceContext
    member: LocalMember
    _: dataclasses.KW_ONLY
    interval: float
    watch_interval: float

    def __post_init__(self) -> None:
        self._backend = self.context.ports.backend
        self._conditions = self.context.conditions
        self._clock = self.context.clock
        self._watches = (
            capabilities.Capability.WATCH in self._backend.capabilities
        )
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self._answered = threading.Event()
        self._beat_at = self._poll_at = self._clock()

    def change_intervals(self, interval: float, watch_interval: float) -> None:
        """Use other intervals from now on. Any thread."""
        self.interval, self.watch_interval = interval, watch_interval
        self._beat_at = self._clock()  # do not wait for a long old interval
        self._changed.set()

    def run_in_background(self, work: Callable[[], None]) -> None:
        """Run a function in another thread, and poll when it returns.

        For work that may take longer than a heartbeat may wait.
        """

        def run() -> None:
            work()
            self.poll_soon()

        threading.Thread(target=run, name='records', daemon=True).start()

    def poll_soon(self) -> None:
        """Poll the members, and register if that is due. Any thread."""
        self._answered.set()
        self._changed.set()

    def stop(self) -> None:
        """Make :meth:`run` return soon. Any thread."""
        self._stopping.set()
        self._changed.set()

    def join(self) -> None:
        """Beat until this process is a member, or :meth:`stop` is called.

        :raises MembershipError: if it never can be.
        """
        while not self._stopping.is_set():
            self._beat()
            if self.member.is_member:
                return
            self._changed.wait(self._beat_at - self._clock())
            self._changed.clear()

    def run(self) -> None:
        """Beat and poll until :meth:`stop` is called."""
        while not self._stopping.is_set():
            try:
                self._step()
            except exceptions.OwnershipError as exc:
                self._conditions.report(
                    'heartbeat', f'heartbeat failed: {exc}', exc
                )
                self._wait_for_change(self.watch_interval)
            except Exception as exc:  # noqa: BLE001 - it must go on beating
                self._conditions.unexpected(
                    'heartbeat', 'heartbeat failed', exc
                )
                self._wait_for_change(self.watch_interval)
            else:
                self._conditions.clear(
                    'heartbeat', 'heartbeat succeeded again'
                )

    def _step(self) -> None:
        now = self._clock()
        if now >= self._beat_at or self.member.wants_beat:
            self._beat()
        elif not self.member.may_poll or not (
            now >= self._poll_at or self._answered.is_set()
        ):
            self._wait(now)
        elif self._could_outlast_fence():
            self._beat()
        else:
            self._answered.clear()
            self.member.poll()
            self._schedule_poll()

    def _beat(self) -> None:
        self._beat_at = self._clock() + self.interval
        self.member.beat()
        self._schedule_poll()

    def _schedule_poll(self) -> None:
        self._poll_at = self._clock() + self.watch_interval
        if self._watches and not self.member.wants_poll:
            self._poll_at = max(self._poll_at, self._beat_at)
        expiry = self.member.next_expiry
        if expiry is not None:
            # A member that expires is found missing then, not later.
            soonest = self._clock() + SHORTEST_POLL
            self._poll_at = min(self._poll_at, max(soonest, expiry))

    def _could_outlast_fence(self) -> bool:
        return 0 < self.context.fence.remaining <= self._backend.call_timeout

    def _wait(self, now: float) -> None:
        until = self._beat_at
        if self.member.may_poll:
            until = min(until, self._poll_at)
        timeout = max(until - now, 0.0)
        if (
            not self._watches
            or not self.member.may_poll
            or self.member.awaits_records
        ):
            self._wait_for_change(timeout)
            return
        if self._changed.is_set():
            self._changed.clear()
            return
        try:
            if self._backend.watch(min(timeout, LONGEST_WATCH)):
                self._poll_at = self._clock()
        except exceptions.MembershipError:
            # The next beat reports the error; until then, do not hurry.
            self._poll_at = self._clock()
            self._wait_for_change(min(timeout, self.watch_interval))

    def _wait_for_change(self, timeout: float) -> None:
        self._changed.wait(timeout)
        self._changed.clear()
