"""Performance figures, each next to that of a peer in the same run.

Not shipped, and no tests: a figure depends on the machine. Run one module,
``python -m benchmarks.startup``, or all of them, ``python -m benchmarks``.
"""

from __future__ import annotations

import signal
import sys

_ENDING = signal.SIGHUP, signal.SIGINT, signal.SIGTERM


def _end(number: int, frame: object) -> None:
    """End, once, with all servers that were started."""
    for one in _ENDING:
        # Unlike SIG_IGN, programs that stop a server do not inherit it.
        signal.signal(one, lambda *_: None)
    sys.exit(128 + number)


# The name of a module that Python still looks for: tests import these, too.
if sys.argv[0] == '-m':
    for _number in _ENDING:
        if signal.getsignal(_number) is not signal.SIG_IGN:
            signal.signal(_number, _end)
