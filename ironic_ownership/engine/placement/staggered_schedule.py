"""Whose turn it is: everybody's once in an interval, never all at once.

Keeps no time for each: the turn follows from the uuid, so that it is the same
in every process, and nothing is due only because a process has started.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from ironic_ownership.engine.membership import fence

_PHASES = 2**32


class StaggeredSchedule:
    """Gives each uuid a turn.

    Threading: one thread at a time.

    :param interval: seconds between two turns of one uuid; 0 for never.
    """

    def __init__(
        self, interval: float, clock: fence.Clock = fence.monotonic
    ) -> None:
        self._interval = interval
        self._clock = clock
        self._last = clock()
        self._due: set[str] = set()

    def due(self, uuids: Iterable[str]) -> frozenset[str]:
        """Return whose turn has come and is not over yet.

        :param uuids: all that there are now.
        """
        if self._interval <= 0:
            return frozenset()
        now, before = self._clock(), self._last
        self._last = now
        known = set(uuids)
        self._due &= known
        self._due |= {
            uuid
            for uuid in known
            if self._number(uuid, now) > self._number(uuid, before)
        }
        return frozenset(self._due)

    def over(self, uuid: str) -> None:
        """End a turn."""
        self._due.discard(uuid)

    def _number(self, uuid: str, now: float) -> float:
        phase = zlib.crc32(uuid.encode()) / _PHASES
        return (now / self._interval - phase) // 1
