"""The ``tooz`` backend on a real memcached."""

from __future__ import annotations

from ironic_ownership.testing import backend
from tests.functional.support import coordination


class TestMemcached(coordination.OnStore, backend.BackendContract):
    kind = 'memcached'
    # Its clock ticks once a second, and members get one tick more.
    late = 1.2


class TestMemcachedOutages(coordination.Interrupted, backend.OutageContract):
    kind = 'memcached'
