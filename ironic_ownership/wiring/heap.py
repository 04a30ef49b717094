"""The heap of the process: its free parts go back to the operating system.

A list of all nodes, and the records of all, are replaced by others; what
served them lies between what is kept. Python keeps some of it for objects of
the same kind, until a full collection. glibc reuses the rest, and returns only
the free end of it.
"""

from __future__ import annotations

import ctypes
import gc


def keep() -> None:
    """Leave what exists now out of all collections to come.

    For a process that is about to serve: its modules, options and plugins
    stay until its end, and a full collection that walks them takes most of
    its time for nothing.
    """
    gc.collect()
    gc.freeze()


def trim() -> bool:
    """Return free memory to the operating system.

    Some milliseconds, or some 40 in a process without :func:`keep`.

    :returns: whether there was any. Never without glibc.
    """
    gc.collect()
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    return bool(malloc_trim(0))
