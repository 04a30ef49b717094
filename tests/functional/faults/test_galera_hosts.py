"""Hosts on a Galera cluster, and nodes of it that fail."""

from __future__ import annotations

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
        free = self.share(*NAMES)
        for host, fault in (
            ('host3', self.cluster.killed),
            ('host2', self.cluster.frozen),
            ('host3', self.cluster.isolated),
        ):
            before = self.deployment.last_event()
            with fault(self.cluster.nodes[NAMES.index(host)]):
                self.wait_for_lapse(host, before)
                self.wait_for_ring(free, {*NAMES} - {host})
            self.wait_for_ring(free, NAMES)
        for node in reversed(self.cluster.nodes):
            node.restart()
            self.cluster.wait_until_whole()
            self.assert_all_is_well(*NAMES)
        self.wait_for_ring(free, NAMES)
