"""Records and members behind a proxy that fails; the cluster works."""

from __future__ import annotations

import unittest

from ironic_ownership_plugin_kit import backend
from lab import haproxy
from tests.contract import database
from tests.functional.faults import test_records_outages
from tests.functional.support import databases


class TestOutagesOfHAProxy(test_records_outages.Outages, unittest.TestCase):
    kind = databases.HAPROXY


class TestOutages(database.InterruptedDatabase, backend.OutageContract):
    """The contract of the members' backend."""

    @property
    def server(self) -> haproxy.HAProxy:
        return databases.HAPROXY.server

    def fresh_url(self) -> str:
        return databases.HAPROXY.fresh()
