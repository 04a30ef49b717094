"""Time limits of laws: a plugin that never returns is interrupted or killed.

The interruption is a signal, so in the main thread of a process only, and not
on every system; elsewhere there is no limit. A process of its own is killed
with its children. It is a fork: it has the plugin's class without importing it
again, and what a plugin does there, it cannot do to the caller.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pathlib
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from types import FrameType
from typing import TypeVar

from ironic_ownership.contracts.calls import Interruption

_OWN = str(pathlib.Path(__file__).parent)
_STANDARD = str(pathlib.Path(threading.__file__).parent)
_AGAIN = 1.0
"""Seconds to the next signal, for code that catches the first."""


class TimeLimitError(Interruption):
    """Code did not end in time; not caught by ``except Exception``."""


@contextlib.contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """Interrupt the code in this context after some seconds.

    :param what: begins the message.
    :raises TimeLimitError: with the place in the code, in this thread.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or not hasattr(signal, 'setitimer')
    ):
        yield
        return

    def interrupt(_: int, frame: FrameType | None) -> None:
        raise TimeLimitError(
            f'{what} still runs after {seconds:g} s{_place(frame)}'
        )

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place(frame: FrameType | None) -> str:
    while frame is not None:
        file = frame.f_code.co_filename
        in_packages = 'site-packages' in file
        if not file.startswith((_OWN, '<')) and (
            in_packages or not file.startswith(_STANDARD)
        ):
            return (
                f', in {frame.f_code.co_qualname} at {file}:{frame.f_lineno}'
            )
        frame = frame.f_back
    return ''


T = TypeVar('T')


def in_process(
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
