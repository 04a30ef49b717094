"""The memory backend keeps the contract of membership."""

from __future__ import annotations

from ironic_ownership_plugin_kit import backend, fakes
from ironic_ownership_plugin_kit.fakes import MemoryCase


class TestMemoryBackend(MemoryCase, backend.BackendContract):
    pass


class TestMemoryOutages(MemoryCase, backend.OutageContract):
    pass


class TestMemoryWatch(MemoryCase, backend.WatchContract):
    kind = fakes.WatchedMemoryBackend
    moment = 0.05
