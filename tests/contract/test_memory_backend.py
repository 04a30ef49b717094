"""The memory backend keeps the contract of membership."""

from __future__ import annotations

from ironic_ownership.backends import memory
from ironic_ownership_plugin_kit import backend
from ironic_ownership_plugin_kit.fakes import MemoryCase


class TestMemoryBackend(MemoryCase, backend.BackendContract):
    pass


class TestMemoryOutages(MemoryCase, backend.OutageContract):
    pass


class TestMemoryWatch(MemoryCase, backend.WatchContract):
    kind = memory.WatchedMemoryBackend
    moment = 0.05
