"""The caller of an operation: its name, progress, and request to stop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Receives the number of things done, and of all of them."""

Stopping = Callable[[], bool]
"""Tells whether the caller wants the operation to stop early."""


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """The one for whom an operation runs.

    :param actor: user and place, for the records.
    :param request_id: for the log, Ironic and Placement.
    """

    actor: str
    request_id: str


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


def never_stopping() -> bool:
    """Return that the operation should go on."""
    return False
