"""Until when this process may act: what stops it when it lost its peers.

The right to act is counted from the start of the last heartbeat that was
accepted, on a clock that no administrator and no time server moves. It ends
before anybody else may declare this process dead.
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

    Where the system has one that also counts the time of a suspended
    machine, that one: the others did not sleep.
    """
    boot_time = getattr(time, 'CLOCK_BOOTTIME', None)
    if boot_time is None:
        return time.monotonic()
    return time.clock_gettime(boot_time)


class Fence:
    """The right to act and write, bounded in time and bound to one epoch.

    Threading: any thread.

    :param member_ttl: seconds after a beat at which others see us dead.
    :param margin: seconds by which we stop earlier.
    """

    def __init__(
        self, member_ttl: float, margin: float, clock: Clock = monotonic
    ) -> None:
        self._length = member_ttl - margin
        self._clock = clock
        self._lock = threading.Lock()
        self._until = float('-inf')
        self._epoch: int | None = None
        self._why = _NO_MEMBER

    def extend(self, beat_started: float, epoch: int) -> None:
        """Grant the right from a beat that was accepted.

        :param beat_started: the clock just before that beat was sent.
        :param epoch: the epoch under which to write.
        """
        with self._lock:
            self._until = beat_started + self._length
            self._epoch = epoch
            self._why = _NO_MEMBER

    def drop(self, why: tuple[str, str] | None = None) -> None:
        """Take the right away at once.

        :param why: said to whoever asks for the right, with a hint.
        """
        with self._lock:
            self._until = float('-inf')
            self._epoch = None
            self._why = why or _NO_MEMBER

    def reaches(self, beat_started: float) -> bool:
        """Tell whether a beat that was accepted would still give the right.

        Whatever became of the right itself.
        """
        return self._clock() < beat_started + self._length

    @property
    def remaining(self) -> float:
        """Seconds for which the right lasts; at most 0 without it."""
        with self._lock:
            return self._until - self._clock()

    def epoch(self) -> int:
        """Return the epoch to write under.

        :raises FencedError: if there is no right to act at this moment.
        """
        with self._lock:
            if self._epoch is None or self._clock() >= self._until:
                what, hint = self._why
                raise exceptions.FencedError(what, hint=hint)
            return self._epoch

    @property
    def may_act(self) -> bool:
        """Whether there is a right to act at this moment."""
        try:
            self.epoch()
        except exceptions.FencedError:
            return False
        return True
