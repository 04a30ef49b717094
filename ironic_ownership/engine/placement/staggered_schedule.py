"""Staggered periodic re-checks: each uuid is due once per interval.

No state for each uuid: the due time follows from the uuid, so that it is the
same in every process, and the start of a process makes nothing due.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from ironic_ownership.engine.membership import fence

_PHASES = 2**32


class StaggeredSchedule:
    """Schedule of one check of each uuid per interval.

    Threading: one thread at a time.

    :param interval: seconds between two checks of one uuid; 0 for never.
    """

    def __init__(
        self, interval: float, clock: fence.Clock = fence.monotonic
    ) -> None:
        self._interval = interval
        self._clock = clock
        self._last = clock()
        self._due: set[str] = set()

    def due(self, uuids: Iterable[str]) -> frozenset[str]:
        """Return the uuids that are due and not done yet.

        :param uuids: all existing ones.
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
            if self._round(uuid, now) > self._round(uuid, before)
        }
        return frozenset(self._due)

    def done(self, uuid: str) -> None:
        """Mark a uuid as checked."""
        self._due.discard(uuid)

    def _round(self, uuid: str, now: float) -> float:
        phase = zlib.crc32(uuid.encode()) / _PHASES
        return (now / self._interval - phase) // 1
