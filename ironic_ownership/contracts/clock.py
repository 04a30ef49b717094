"""Clock for leases and time-outs, which no one can set."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns seconds since some moment."""


def monotonic() -> float:
    """Return seconds on a clock that only runs forward.

    Where the system has such a clock, it includes the time for which the
    machine was suspended: other members were not.
    """
    boot_time = getattr(time, 'CLOCK_BOOTTIME', None)
    if boot_time is None:
        return time.monotonic()
    return time.clock_gettime(boot_time)
