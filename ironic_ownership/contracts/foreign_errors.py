"""Errors of third-party code: their text, and an operator's Ctrl-C."""

from __future__ import annotations

import signal
import threading


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
    """Tell whether an error is an operator's Ctrl-C, not one of a plugin.

    Only the main thread gets it, and only if it did not block the signal.
    """
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    )
