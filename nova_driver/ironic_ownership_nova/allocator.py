"""The C allocator of nova-compute: one arena for all threads.

glibc gives each new thread an arena, and what it freed there is not used by
others. The embedded host has a dozen threads that are idle most of the time,
so that these arenas would cost more memory than everything else of it. Python
runs one thread at a time, which leaves nothing to gain by them.
"""

from __future__ import annotations

import ctypes
import os

_M_ARENA_MAX = -8
_VARIABLE = 'MALLOC_ARENA_MAX'


def limit_arenas() -> bool:
    """Use one arena for threads that start from now on.

    :returns: false where that is not possible, or where the operator has
        decided with the environment variable MALLOC_ARENA_MAX.
    """
    if _VARIABLE in os.environ:
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1))
    except (AttributeError, OSError):
        return False  # not glibc
