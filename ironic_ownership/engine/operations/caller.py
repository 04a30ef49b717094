"""The caller of an operation: its progress, and request to stop."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Receives the number of things done, and of all of them."""

Stopping = Callable[[], bool]
"""Tells whether the caller wants the operation to stop early."""


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


def never_stopping() -> bool:
    """Return that the operation should go on."""
    return False
