"""A clock that only a test moves."""

from __future__ import annotations


class Clock:
    """Seconds that only a test moves; call it to read it."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def elapse(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
