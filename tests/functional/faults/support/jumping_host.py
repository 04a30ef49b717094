"""A host process whose wall clock libfaketime sets.

To be run instead of the host's program. libfaketime 0.9.10 takes a sleep
until some moment of the monotonic clock, which Python's is, for one of the
wall clock, so that it fails after a jump. Threads that wait for each other
are not affected, and so we sleep that way.
"""

from __future__ import annotations

import sys
import threading
import time

from ironic_ownership.cmd import host


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


if __name__ == '__main__':
    time.sleep = _sleep
    sys.exit(host.main())
