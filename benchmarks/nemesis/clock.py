"""The clock of all processes of one run."""

from __future__ import annotations

import time


def now() -> float:
    """Return seconds since the machine started.

    The same for all processes, and no fault sets it.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_offset() -> float:
    """Return the seconds to subtract from a wall clock time."""
    return time.time() - now()
