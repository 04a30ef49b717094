"""The laws of every membership backend, on a real ZooKeeper."""

from __future__ import annotations

from ironic_ownership_plugin_kit import (
    backend as suites,
)
from tests import (
    store,
)


class TestMembers(store.ZooKeeperCase, suites.BackendContract):
    pass


class TestOutages(store.ZooKeeperCase, suites.OutageContract):
    # Most of these calls are waited for until they give up.
    call_timeout = 3.0


class TestWatch(store.ZooKeeperCase, suites.WatchContract):
    pass
