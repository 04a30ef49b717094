"""Time limit of a law: a plugin that never returns is interrupted.

By a signal, so in the main thread of a process only, and not on every
system; elsewhere there is no limit.
"""

from __future__ import annotations

import contextlib
import pathlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ironic_ownership.contracts import foreign_errors

_OWN = str(pathlib.Path(__file__).parent)
_STANDARD = str(pathlib.Path(threading.__file__).parent)
_AGAIN = 1.0
"""Seconds to the next signal, for code that catches the first."""


class TimeLimitError(foreign_errors.Interruption):
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
