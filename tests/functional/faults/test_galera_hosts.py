"""Hosts on a Galera cluster, and nodes of it that fail."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from lab import galera
from tests.functional.faults import test_processes
from tests.functional.faults.support.galera_incident import (
    NAMES,
    GaleraTestCase,
)


class TestTransactionsOnGalera(test_processes.Transactions, GaleraTestCase):
    """A host is frozen, and another takes over through another node."""


class TestHostsOnGalera(GaleraTestCase):
    """A host whose node fails stops, and is replaced until it is back."""

    faults_survived = 6

    def test_faults_of_nodes_break_no_law(self) -> None:
        running = self.start(*NAMES)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, NAMES)
        self.free = sorted(set(uuids) - deployed)
        self.assert_replaced('host3', self.cluster.killed)
        self.assert_replaced('host2', self.cluster.frozen)
        self.assert_replaced('host3', self.cluster.isolated)
        for node in reversed(self.cluster.nodes):
            node.restart()
            self.cluster.wait_until_whole()
            more, _ = self.enrol(8)
            self.wait_for_ring([*self.free, *more], NAMES)
        for host in running:
            self.assertIsNone(host.process.returncode, host.troubles())

    def assert_replaced(
        self,
        host: str,
        fault: Callable[
            [galera.Node], contextlib.AbstractContextManager[None]
        ],
    ) -> None:
        """See the others take the free nodes of a host, until it is back."""
        others = [name for name in NAMES if name != host]
        before = self.deployment.last_event()
        with fault(self.cluster.nodes[NAMES.index(host)]):
            self.wait_for_lapse(host, before)
            self.wait_for_ring(self.free, others)
        self.wait_for_ring(self.free, NAMES)
