"""Errors of third-party code: their text, exits, and interruptions of it."""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn


class Interruption(BaseException):
    """Raised into third-party code by this package, to end it."""


_kept: contextvars.ContextVar[int] = contextvars.ContextVar(
    'process that the running third-party code may not end', default=0
)
_end = os._exit


def _exit(status: int) -> NoReturn:
    # A process that this code has forked may end.
    if _kept.get() == os.getpid():
        raise SystemExit(f'os._exit({status})')
    _end(status)


@contextlib.contextmanager
def exit_refused() -> Iterator[None]:
    """Make ``os._exit`` an error of the code in this context.

    Without a word, and perhaps as a success, it would end the process.
    """
    os._exit = _exit
    token = _kept.set(os.getpid())
    try:
        yield
    finally:
        _kept.reset(token)


_sent = threading.Event()


def note_interrupts() -> None:
    """Note each SIGINT: an interrupt without one is that of a plugin.

    For the main thread of a command.
    """

    def note(number: int, frame: FrameType | None) -> None:
        _sent.set()
        signal.default_int_handler(number, frame)

    if threading.current_thread() is threading.main_thread():
        _sent.clear()
        signal.signal(signal.SIGINT, note)


@contextlib.contextmanager
def interrupts_noted() -> Iterator[None]:
    """Note each SIGINT for a while, in a program that is not ours.

    Such a program keeps a handler of its own.
    """
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_default or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    note_interrupts()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_noted() -> bool:
    handler = signal.getsignal(signal.SIGINT)
    return getattr(handler, '__module__', None) == __name__


def plain(text: str, longest: int = 1000) -> str:
    """Return the begin of a text, in characters that can be encoded."""
    if len(text) > longest:
        text = f'{str.__getitem__(text, slice(longest))}...'
    return text.encode(errors='replace').decode()


def text_of(error: BaseException) -> str:
    """Return the text of any error, in one line.

    The text of an error of a plugin is a call of that plugin.
    """
    try:
        return ' '.join(plain(str(error)).split())
    except BaseException as exc:  # noqa: BLE001 - third-party code
        return f'its text cannot be had: {type(exc).__name__}'


def described(error: BaseException) -> str:
    """Return type and text of any error."""
    return f'{type(error).__name__}: {text_of(error)}'


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an error is an interruption, not one of a plugin.

    Ours, or an operator's Ctrl-C: only the main thread gets that, and only if
    it did not block the signal.
    """
    return isinstance(error, Interruption) or (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        and (_sent.is_set() or not _is_noted())
    )
