"""A clock that a test moves, for stores that take one."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class FakeClock:
    """A clock that only a test moves; call it to read the seconds."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def elapse(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
