"""A process for one law, which is killed with its children if it hangs.

The process is a fork: it has the plugin's class without importing it again.
What a plugin does there, it cannot do to the caller.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar('T')


def run(
    work: Callable[[], T], seconds: float, failed: Callable[[str], T]
) -> T:
    """Return the result of some work, done in a process of its own.

    :param work: its result can be pickled.
    :param seconds: after which the process is killed.
    :param failed: returns the result, from words, if the process has none.
    """
    context = multiprocessing.get_context('fork')
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, work), daemon=False)
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return failed(
                f'it hangs: not even an interrupt ends it, after {seconds:g} '
                's it was killed'
            )
        try:
            result: T = receiver.recv()
        except EOFError:
            process.join()
            return failed(
                f'it ended its process, with exit code {process.exitcode}'
            )
        return result
    finally:
        assert process.pid is not None
        # Its group is its own once it has begun; before, it has no children.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
        receiver.close()


def _send(sender: Connection, work: Callable[[], object]) -> None:
    os.setsid()
    sender.send(work())
