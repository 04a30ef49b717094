"""Backends that keep every law: the memory backend, on the clock of a test."""

from __future__ import annotations

import unittest
from typing import ClassVar

from ironic_ownership.backends import memory


class MemoryCase(unittest.TestCase):
    """A store in memory, with time and outages controlled by the test."""

    kind: ClassVar[type[memory.MemoryBackend]] = memory.MemoryBackend

    def setUp(self) -> None:
        super().setUp()
        self.now = 1000.0
        self.store = memory.MemoryStore(lambda: self.now)

    def make_backend(self, member_ttl: float) -> memory.MemoryBackend:
        return self.kind(
            {}, member_ttl=member_ttl, call_timeout=5, store=self.store
        )

    def elapse(self, seconds: float) -> None:
        self.now += seconds

    def interrupt(self) -> None:
        self.store.available = False

    def resume(self) -> None:
        self.store.available = True

    def forget_everything(self) -> None:
        self.store.rows.clear()
