"""Detection of what a pure function must not do: IO, clocks, threads.

Also functions whose last digit depends on the machine, and random numbers
without a seed. For a process of its own: Python's audit hooks stay for the
life of a process. Imports are Python's own, and not reported.
"""

from __future__ import annotations

import _socket
import _thread
import builtins
import cmath
import contextlib
import datetime
import io
import math
import os
import platform
import queue
import random
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from types import FrameType
from typing import Any

_COMPUTING = (
    *('array.', 'builtins.', 'code.', 'compile', 'cpython.', 'exec'),
    *('function.', 'gc.', 'import', 'marshal.', 'object.', 'pickle.', 'sys.'),
)
"""Audit events of Python's own work; the others leave the process."""
_FUNCTIONS = frozenset(
    function
    for module, names in (
        (_thread, 'allocate_lock start_new_thread'),
        (builtins, 'input print'),
        (os, ' '.join({*vars(os)} - {'fspath', 'strerror'})),
        (time, ' '.join(vars(time))),
        (
            math,
            (
                'acos acosh asin asinh atan atan2 atanh cbrt cos cosh '
                'dist erf erfc exp exp2 expm1 gamma hypot lgamma log '
                'log10 log1p log2 pow '
                'sin sinh tan tanh'
            ),
        ),
        (cmath, 'acos asin atan cos cosh exp log log10 polar rect sin tan'),
    )
    for name in names.split()
    if callable(function := getattr(module, name, None))
)
"""Functions whose result is not the same on every machine, in every process,
at every time. The floating-point functions are those of the C library: their
last digit differs between machines."""
_UNSEEDED = random.random.__self__  # type: ignore[attr-defined]
"""The generator behind the functions of ``random``."""
_NOW = frozenset(('now', 'today', 'utcnow'))
_OUTSIDE = io.IOBase, _socket.socket, queue.SimpleQueue
_CALLS = frozenset(
    function.__code__
    for function in (
        platform.uname,
        threading.current_thread,
        uuid.getnode,
        *(vars(type(os.environ))[n] for n in ('__getitem__', '__iter__')),
    )
)
_SEEDING = random.Random.__init__.__code__


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
        if active and not event.startswith(_COMPUTING):
            shown = ', '.join(map(repr, arguments[:1]))
            note(f'{event}({shown})', sys._getframe(1))

    def profile(frame: FrameType, event: str, function: Any) -> None:
        if event == 'c_call' and _is_outside(function):
            note(f'{function.__qualname__}()', frame)
        elif (
            event == 'call'
            and frame.f_code is _SEEDING
            and frame.f_locals.get('x') is None
        ):
            note('random.Random() without a seed', frame.f_back)
        elif event == 'call' and frame.f_code in _CALLS:
            note(f'{frame.f_code.co_qualname}()', frame.f_back)

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
    if owner is _UNSEEDED:
        return True
    if isinstance(owner, io.StringIO | io.BytesIO):
        return False
    if isinstance(owner, _OUTSIDE):
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
