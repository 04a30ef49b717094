"""Detection of what a pure function must not do: IO, clocks, threads.

For a process of its own: Python's audit hooks stay for the life of a
process. Imports are Python's own, and not reported.
"""

from __future__ import annotations

import _socket
import _thread
import builtins
import contextlib
import datetime
import io
import os
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

_EVENTS = (
    'ctypes.dlopen',
    'fcntl.',
    'ftplib.',
    'glob.',
    'http.',
    'imaplib.',
    'mmap.',
    'open',
    'os.',
    'pathlib.',
    'poplib.',
    'shutil.',
    'smtplib.',
    'socket.',
    'sqlite3.',
    'subprocess.',
    'syslog.',
    'tempfile.',
    'urllib.',
    'webbrowser.',
)
_FUNCTIONS = frozenset(
    (
        _thread.start_new_thread,
        builtins.input,
        builtins.print,
        os.getpid,
        os.urandom,
        time.monotonic,
        time.monotonic_ns,
        time.perf_counter,
        time.perf_counter_ns,
        time.process_time,
        time.sleep,
        time.time,
        time.time_ns,
    )
)
_NOW = frozenset(('now', 'today', 'utcnow'))


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Record the actions of this thread that are no computation.

    :yields: one line for each of them, with its place in the code.
    """
    seen: list[str] = []
    active = True

    def note(what: str, frame: FrameType | None) -> None:
        where = _place(frame)
        if where is not None:
            seen.append(f'{what} {where}')

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if active and event.startswith(_EVENTS):
            shown = ', '.join(map(repr, arguments[:1]))
            note(f'{event}({shown})', sys._getframe(1))

    def profile(frame: FrameType, event: str, function: Any) -> None:
        if event == 'c_call' and _is_outside(function):
            note(f'{function.__qualname__}()', frame)

    sys.addaudithook(audit)
    sys.setprofile(profile)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        active = False


def _is_outside(function: Any) -> bool:
    owner = getattr(function, '__self__', None)
    if isinstance(owner, type):
        return issubclass(owner, datetime.date) and function.__name__ in _NOW
    if isinstance(owner, io.StringIO | io.BytesIO):
        return False
    if isinstance(owner, io.IOBase | _socket.socket):
        return True
    try:
        return function in _FUNCTIONS
    except TypeError:  # a method of something that cannot be hashed
        return False


def _place(frame: FrameType | None) -> str | None:
    nearest = frame
    while frame is not None:
        if frame.f_code.co_filename == __file__:
            return None  # our own end of the watch
        if frame.f_code.co_filename.startswith('<frozen importlib'):
            return None
        frame = frame.f_back
    if nearest is None:
        return ''
    return f'at {nearest.f_code.co_filename}:{nearest.f_lineno}'
