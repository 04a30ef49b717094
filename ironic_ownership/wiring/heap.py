"""The heap of the process: its free parts go back to the operating system.

A list of all nodes, and the records of all, are replaced by others; what
served them lies between what is kept. Python keeps some of it for objects of
the same kind, until a full collection. glibc reuses the rest, and returns only
the free end of it.
"""

from __future__ import annotations

import ctypes
import gc

_M_ARENA_MAX = -8
"""Parameter of mallopt(3): the most heaps among which threads are spread."""


def keep() -> None:
    """Leave what exists now out of all collections to come.

    For a process that is about to serve: its modules, options and plugins
    stay until its end, and a full collection that walks them takes most of
    its time for nothing. Threads that start later share one heap of glibc:
    each of its own would keep free memory for itself, and threads of Python
    seldom ask for memory at the same time.
    """
    gc.collect()
    gc.freeze()
    _call('mallopt', _M_ARENA_MAX, 1)


def trim() -> bool:
    """Return free memory to the operating system.

    For after a list of all nodes: the collection walks all that is kept.

    :returns: whether there was any. Never without glibc.
    """
    gc.collect()
    return bool(_call('malloc_trim', 0))


def _call(function: str, *args: int) -> int:
    """Call a function of glibc; 0 without it."""
    try:
        found = getattr(ctypes.CDLL(None), function)
    except (AttributeError, OSError):
        return 0
    return int(found(*args))
