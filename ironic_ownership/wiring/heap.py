"""The heap of the process: its free parts go back to the operating system.

A list of all nodes, and the records of all, are replaced by others; what
served them lies between what is kept. glibc reuses that memory, and returns
only the free end of it.
"""

from __future__ import annotations

import ctypes


def trim() -> bool:
    """Return free memory to the operating system; milliseconds.

    :returns: whether there was any. Never without glibc.
    """
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    return bool(malloc_trim(0))
