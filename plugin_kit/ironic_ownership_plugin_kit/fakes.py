"""A clock that a test moves, and memory backends on that clock."""

from __future__ import annotations

import dataclasses
import time
import unittest
from typing import ClassVar

from ironic_ownership.backends import memory
from ironic_ownership.contracts.backend import Capability

_POLL_INTERVAL = 0.005


@dataclasses.dataclass
class FakeClock:
    """A clock that only a test moves; call it to read the seconds."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def elapse(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class MemoryCase(unittest.TestCase):
    """The hooks of the suites for the memory backend, as an example.

    :cvar kind: the class of the backends.
    """

    kind: ClassVar[type[memory.MemoryBackend]] = memory.MemoryBackend

    def setUp(self) -> None:
        super().setUp()
        self.clock = FakeClock()
        self.store = memory.MemoryStore(self.clock)

    def make_backend(self, member_ttl: float) -> memory.MemoryBackend:
        """Build a backend on the store of the test."""
        return self.kind(
            {}, member_ttl=member_ttl, call_timeout=5, store=self.store
        )

    def elapse(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.elapse(seconds)

    def interrupt(self) -> None:
        """Begin an outage of the store."""
        self.store.available = False

    def resume(self) -> None:
        """End the outage."""
        self.store.available = True

    def forget_everything(self) -> None:
        """Empty the store."""
        self.store.rows.clear()


class WatchedMemoryBackend(memory.MemoryBackend):
    """A memory backend that reports changes, including expiries."""

    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {*memory.MemoryBackend.capabilities, Capability.WATCH}
    )

    _reported: str | None = None

    def watch(self, timeout: float) -> bool:
        """Wait for a change."""
        deadline = time.monotonic() + timeout
        while True:
            checksum = self.view().checksum
            if checksum != self._reported:
                self._reported = checksum
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # The clock of a test moves without an event.
            time.sleep(min(left, _POLL_INTERVAL))
