"""Deadline: the end of the time that one run of the program may take.

A call into a library cannot be interrupted, so the process ends. That is as
safe as SIGKILL: each transaction is completed or rolled back, and an
unfinished move can be resumed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import threading

from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.cli import errors
from ironic_ownership.contracts.calls import pending

GRACE = 5.0
"""Seconds in which a move may finish the nodes that it has begun."""


def _end(text: str) -> None:
    # Not by sys.stderr, whose lock may be held by a thread that hangs.
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
    os._exit(errors.ExitCode.DEGRADED)


class Deadline:
    """Ends the process when its time is over.

    Threading: any thread.

    :param seconds: from :meth:`start` on.
    :ivar api: the client of operations, once there is one.
    """

    def __init__(self, seconds: float) -> None:
        self.api: OperationClient | None = None
        self._seconds = seconds
        self._grace = 0.0
        self._passed = False
        self._cancelled = threading.Event()
        self._ending = threading.Lock()
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def start(self) -> None:
        """Begin to count."""
        self._timer.start()

    def passed(self) -> bool:
        """Return whether the time is over."""
        return self._passed

    def allow_grace(self) -> None:
        """Let a move that has begun stop by itself."""
        self._grace = GRACE

    def cancel(self) -> None:
        """Let the process live: the run has ended. Idempotent."""
        with self._ending:
            self._cancelled.set()
        self._timer.cancel()

    def _expire(self) -> None:
        self._passed = True
        self._cancelled.wait(self._grace)
        with self._ending:
            if not self._cancelled.is_set():
                _end(f'{errors.PROG}: error: {self._text()}\n')

    def _text(self) -> str:
        waits = ', '.join(
            f'{server} ({seconds:.1f} s)'
            for server, seconds in sorted(pending.durations().items())
        )
        waiting = 'It waits for no server: it is still computing'
        if waits:
            waiting = f'No answer yet from: {waits}'
        text = (
            f'no result within {self._seconds:g} s, the time limit of this '
            f'command. {waiting}'
        )
        if self.api is None or not self.api.has_written:
            return text
        request_id = self.api.request_id
        return (
            f'{text}. The change may have been made, completely or in '
            f'part: "{errors.PROG} event list --request-id {request_id}" '
            f'shows the changes, and "{errors.PROG} move list --unfinished" '
            'the moves to resume'
        )


def seconds(text: str) -> float:
    """Read the value of the option.

    :raises ArgumentTypeError: if it is no positive number.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a positive number of seconds'
        )
    return value


HELP = (
    'end with exit code 4 if there is no result after this time, and name '
    'the servers that have not answered. A move that runs stops after the '
    f'nodes that it has begun, at most {GRACE:g} s later, and can be resumed'
)
"""Help of the option."""
