"""Fence: a local write lease that expires once heartbeats stop succeeding.

The lease runs from the start of the last accepted heartbeat, on a clock that
neither an administrator nor a time server can set. It ends before another
process may declare this one dead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ironic_ownership.contracts import exceptions

Clock = Callable[[], float]

_NO_MEMBER = (
    'this service has no valid membership',
    'It acts again after its next heartbeat succeeds',
)


def monotonic() -> float:
    """Return seconds on a clock that only runs forward.

    Where the system has such a clock, it includes the time for which the
    machine was suspended: other members were not.
    """
    boot_time = getattr(time, 'CLOCK_BOOTTIME', None)
    if boot_time is None:
        return time.monotonic()
    return time.clock_gettime(boot_time)


class Fence:
    """The right to act and write, limited in time and bound to one epoch.

    Threading: any thread.

    :param member_ttl: seconds after a beat at which a member expires.
    :param margin: seconds by which the right ends earlier.
    """

    def __init__(
        self, member_ttl: float, margin: float, clock: Clock = monotonic
    ) -> None:
        self._length = member_ttl - margin
        self._clock = clock
        self._lock = threading.Lock()
        self._until = float('-inf')
        self._epoch: int | None = None
        self._reason = _NO_MEMBER

    def extend(self, beat_started: float, epoch: int) -> None:
        """Extend the right after a beat was accepted.

        :param beat_started: time just before that beat was sent.
        """
        with self._lock:
            self._until = beat_started + self._length
            self._epoch = epoch
            self._reason = _NO_MEMBER

    def drop(self, reason: tuple[str, str] | None = None) -> None:
        """Withdraw the right immediately.

        :param reason: message and hint of later errors, until :meth:`extend`.
        """
        with self._lock:
            self._until = float('-inf')
            self._epoch = None
            self._reason = reason or _NO_MEMBER

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

    def epoch(self) -> int:
        """Return the epoch to write under.

        :raises FencedError: if there is no right to act at this moment.
        """
        with self._lock:
            if self._epoch is None or self._clock() >= self._until:
                message, hint = self._reason
                raise exceptions.FencedError(message, hint=hint)
            return self._epoch

    @property
    def may_act(self) -> bool:
        """True if there is a right to act at this moment."""
        try:
            self.epoch()
        except exceptions.FencedError:
            return False
        return True
