"""Batches of an operation, their progress, and the request to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar('T')

Progress = Callable[[int, int], None]
"""Receives the number of things done, and of all of them."""

Stopping = Callable[[], bool]
"""Tells whether the caller wants the operation to stop early."""


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


def never_stopping() -> bool:
    """Return that the operation should go on."""
    return False


def batches(
    things: Sequence[T],
    size: int,
    progress: Progress = no_progress,
    stopping: Stopping = never_stopping,
) -> Iterator[Sequence[T]]:
    """Yield things in batches, until the caller stops the operation.

    :param size: of a batch.
    :param progress: called after each batch.
    :param stopping: asked before each batch.
    """
    for start in range(0, len(things), size):
        if stopping():
            return
        batch = things[start:][:size]
        yield batch
        progress(start + len(batch), len(things))
