"""Activity of a host process since its start: what it changed, and how often.

Counts only grow, so that a reader who asks from time to time sees all of it.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Mapping

from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Forget,
    Outcome,
    Release,
    Update,
)

Key = tuple[str, str]

FENCED: Key = ('fence', '')
"""Key of a service that was declared dead by this one."""

_KINDS = {
    Claim: 'claim',
    Release: 'release',
    Forget: 'delete',
    Update: 'update',
}


class Activity:
    """Counts of one process.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # A reader notices the first one only if there were none before.
        self._changes: collections.Counter[Key] = collections.Counter(
            {FENCED: 0}
        )

    @property
    def changes(self) -> Mapping[Key, int]:
        """Number of changes by kind and reason code."""
        with self._lock:
            return dict(self._changes)

    def applied(self, outcome: Outcome) -> None:
        """Count what one transaction fenced."""
        with self._lock:
            self._changes[FENCED] += len(outcome.fenced)

    def changed(self, change: Change) -> None:
        """Count one change that was written."""
        kind = _KINDS.get(type(change))
        if kind is None:
            return
        reason = getattr(change, 'reason', None)
        with self._lock:
            self._changes[kind, reason.value if reason else ''] += 1
