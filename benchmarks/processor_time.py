"""Processor time of processes and their children, by the kernel's account."""

from __future__ import annotations

import contextlib
import os
import pathlib

_TICKS = os.sysconf('SC_CLK_TCK')


def of_tree(pid: int | None) -> float:
    """Return the seconds of a process and of its living descendants."""
    times: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(')')[2].split()
            one = int(path.parent.name)
            times[one] = (int(fields[11]) + int(fields[12])) / _TICKS
            children.setdefault(int(fields[1]), []).append(one)
    waiting, total = [pid or 0], 0.0
    while waiting:
        one = waiting.pop()
        total += times.get(one, 0.0)
        waiting += children.get(one, [])
    return total
