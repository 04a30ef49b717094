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
from collections.abc import Callable

from ironic_ownership.api.operation_client import (
    OperationClient,
    RemoteClient,
)
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

    :param client: returns the client of operations, once there is one.
    :ivar passed: whether the time is over.
    """

    def __init__(self, client: Callable[[], OperationClient | None]) -> None:
        self.passed = False
        self._client = client
        self._grace = 0.0
        self._cancelled = threading.Event()
        self._ending = threading.Lock()

    def start(self, seconds: float) -> None:
        """Begin to count."""
        threading.Thread(
            name='time limit',
            target=self._expire,
            args=(seconds,),
            daemon=True,
        ).start()

    def allow_grace(self) -> None:
        """Let a move that has begun stop by itself."""
        self._grace = GRACE

    def cancel(self) -> None:
        """Let the process live: the run has ended. Idempotent."""
        with self._ending:
            self._cancelled.set()

    def _expire(self, seconds: float) -> None:
        if self._cancelled.wait(seconds):
            return
        self.passed = True
        self._cancelled.wait(self._grace)
        with self._ending:
            if not self._cancelled.is_set():
                _end(f'{errors.PROG}: error: {self._text(seconds)}\n')

    def _text(self, limit: float) -> str:
        waits = ', '.join(
            f'{server} ({seconds:.1f} s)'
            for server, seconds in sorted(pending.durations().items())
        )
        waiting = 'It waits for no server: it is still computing'
        if waits:
            waiting = f'No answer yet from: {waits}'
        text = (
            f'no result within {limit:g} s, the time limit of this command. '
            f'{waiting}'
        )
        client = self._client()
        if client is None or not client.has_written:
            return text
        which = f' --request-id {client.request_id}'
        # The HTTP service gives each request another id.
        which = '' if isinstance(client, RemoteClient) else which
        return (
            f'{text}. The change may have been made, completely or in part: '
            f'"{errors.PROG} event list{which}" '
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
