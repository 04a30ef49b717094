"""The memory backend keeps the contract of membership."""

from __future__ import annotations

from ironic_ownership.backends import memory
from ironic_ownership.testing import backend


class TestMemoryBackend(backend.BackendContract):
    def setUp(self) -> None:
        super().setUp()
        self.now = 1000.0
        self.store = memory.MemoryStore(lambda: self.now)

    def make_backend(self, member_ttl: float) -> memory.MemoryBackend:
        return memory.MemoryBackend(
            {}, member_ttl=member_ttl, call_timeout=5, store=self.store
        )

    def elapse(self, seconds: float) -> None:
        self.now += seconds
