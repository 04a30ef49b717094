"""Errors of third-party code: their text, and interruptions of that code."""

from __future__ import annotations

import signal
import threading


class Interruption(BaseException):
    """Raised into third-party code by this package, to end it."""


def text_of(error: BaseException) -> str:
    """Return the text of any error, in one line.

    The text of an error of a plugin is a call of that plugin.
    """
    try:
        return ' '.join(str(error).split())
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
    )
