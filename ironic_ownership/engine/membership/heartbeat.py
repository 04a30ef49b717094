"""When to beat and when to look around: the loop of the heartbeat's thread.

A beat is never late because of a look: one that might hang is not begun
when the right to act would end meanwhile. Nothing here asks Ironic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import capabilities, exceptions
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership import local_member
from ironic_ownership.engine.membership.fence import Clock, Fence, monotonic

LOG = log.getLogger(__name__)

LONGEST_WATCH = 1.0
"""Seconds of one call to the backend that waits for changes: so long may a
stop or a changed interval have to wait."""

SHORTEST_LOOK = 0.05
"""Seconds between two looks, whatever a store says of who expires next."""


class Heartbeat:
    """Keeps one process a member.

    :param interval: seconds between the starts of two beats.
    :param watch_interval: seconds between two looks at the members.
    """

    def __init__(
        self,
        membership: local_member.Membership,
        backend: MembershipBackend,
        fence: Fence,
        conditions: Conditions,
        *,
        interval: float,
        watch_interval: float,
        clock: Clock = monotonic,
    ) -> None:
        self._membership = membership
        self._backend = backend
        self._fence = fence
        self._conditions = conditions
        self._interval = interval
        self._watch_interval = watch_interval
        self._clock = clock
        self._watches = capabilities.Capability.WATCH in backend.capabilities
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self._answered = threading.Event()
        self._beat_at = self._look_at = clock()

    def change_intervals(self, interval: float, watch_interval: float) -> None:
        """Beat and look at other intervals from now on. Any thread."""
        self._interval, self._watch_interval = interval, watch_interval
        self._beat_at = self._clock()  # a long old interval is not waited for
        self._changed.set()

    def aside(self, work: Callable[[], None]) -> None:
        """Do something in a thread of its own, and look when it is done.

        For what may take longer than a heartbeat may wait.
        """

        def run() -> None:
            work()
            self._answered.set()
            self._changed.set()

        threading.Thread(target=run, name='records', daemon=True).start()

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
            if self._membership.is_member:
                return
            self._changed.wait(self._beat_at - self._clock())
            self._changed.clear()

    def run(self) -> None:
        """Beat and look until :meth:`stop` is called."""
        while not self._stopping.is_set():
            try:
                self._step()
            except exceptions.OwnershipError as exc:
                self._conditions.report('heartbeat', f'no heartbeat: {exc}')
                self._wait_plainly(self._watch_interval)
            except Exception:  # the process must go on beating
                LOG.exception('heartbeat failed in a way nobody foresaw')
                self._wait_plainly(self._watch_interval)
            else:
                self._conditions.clear('heartbeat', 'heartbeats succeed again')

    def _step(self) -> None:
        now = self._clock()
        if now >= self._beat_at or self._membership.wants_beat:
            self._beat()
        elif not self._membership.may_look or not self._is_time_to_look(now):
            self._wait(now)
        elif self._is_short_of_time():
            self._beat()
        else:
            self._answered.clear()
            self._membership.look()
            self._plan_look()

    def _is_time_to_look(self, now: float) -> bool:
        return now >= self._look_at or self._answered.is_set()

    def _beat(self) -> None:
        self._beat_at = self._clock() + self._interval
        self._membership.beat()
        self._plan_look()

    def _plan_look(self) -> None:
        self._look_at = self._clock() + self._watch_interval
        if self._watches and not self._membership.wants_look:
            self._look_at = max(self._look_at, self._beat_at)
        expiry = self._membership.next_expiry
        if expiry is not None:
            # Who is about to expire is seen to be gone then, not later.
            soonest = self._clock() + SHORTEST_LOOK
            self._look_at = min(self._look_at, max(soonest, expiry))

    def _is_short_of_time(self) -> bool:
        """Tell whether the right could end while a look hangs."""
        return 0 < self._fence.remaining <= self._backend.call_timeout

    def _wait(self, now: float) -> None:
        until = self._beat_at
        if self._membership.may_look:
            until = min(until, self._look_at)
        timeout = max(until - now, 0.0)
        if (
            not self._watches
            or not self._membership.may_look
            or self._membership.awaits_answer
        ):
            self._wait_plainly(timeout)
            return
        if self._changed.is_set():
            self._changed.clear()
            return
        try:
            if self._backend.watch(min(timeout, LONGEST_WATCH)):
                self._look_at = self._clock()
        except exceptions.MembershipError:
            # The next beat says what is wrong; until then, do not hurry.
            self._look_at = self._clock()
            self._wait_plainly(min(timeout, self._watch_interval))

    def _wait_plainly(self, timeout: float) -> None:
        self._changed.wait(timeout)
        self._changed.clear()
