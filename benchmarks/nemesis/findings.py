"""Violations of the laws, each with its time line."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence

from benchmarks.nemesis import clock

_MOST = 200


@dataclasses.dataclass(frozen=True)
class Violation:
    """One broken law.

    :param at: when it was found or happened, on the clock of the run.
    :param context: lines of the time line around it.
    """

    at: float
    law: str
    text: str
    node: str | None = None
    context: Sequence[str] = ()


class Findings:
    """All violations, each of them once.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], Violation] = {}

    def add(
        self,
        law: str,
        text: str,
        *,
        at: float | None = None,
        node: str | None = None,
        context: Sequence[str] = (),
    ) -> None:
        """Add one, unless it is known or there are too many."""
        when = clock.now() if at is None else at
        with self._lock:
            if (law, text) in self._found:
                return
            if len(self._found) >= _MOST:
                self.dropped += 1
                return
            self._found[law, text] = Violation(when, law, text, node, context)

    @property
    def all(self) -> list[Violation]:
        """All violations so far, in the order of their discovery."""
        with self._lock:
            return list(self._found.values())
