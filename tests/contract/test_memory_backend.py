"""The memory backend keeps the contract of membership."""

from __future__ import annotations

import time
from typing import ClassVar

from ironic_ownership.backends import memory
from ironic_ownership.contracts.backend import Capability
from ironic_ownership_plugin_kit import backend
from ironic_ownership_plugin_kit.fakes import MemoryCase


class TestMemoryBackend(MemoryCase, backend.BackendContract):
    pass


class TestMemoryOutages(MemoryCase, backend.OutageContract):
    pass


class WatchedMemoryBackend(memory.MemoryBackend):
    """A memory backend that reports changes, including expiries."""

    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {*memory.MemoryBackend.capabilities, Capability.WATCH}
    )

    _reported: str | None = None

    def watch(self, timeout: float) -> bool:
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
            time.sleep(min(left, 0.005))


class TestMemoryWatch(MemoryCase, backend.WatchContract):
    kind = WatchedMemoryBackend
    moment = 0.05
