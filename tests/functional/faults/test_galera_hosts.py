"""One host on each node of a Galera cluster, and nodes that fail.

Records and members are in the same database. The laws are evaluated in the
order of the commits, which is that of the binary log.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

from lab import committed_order, galera
from tests.functional.faults import test_processes
from tests.functional.faults.support import incident, stores
from tests.functional.support import databases, hosts, laws

NAMES = ('host1', 'host2', 'host3')
"""Each connects to the node of its number only."""


class _OnGalera(incident.IncidentTestCase):
    # With the records also a view of the members may be lost.
    patience = float(str(hosts.FAST['membership']['member_ttl']))

    def fresh_url(self) -> str:
        self.urls = databases.GALERA.fresh()
        self.nodes = databases.GALERA.server.nodes
        return self.urls[0]

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def start(self, *names: str, **options: object) -> list[hosts.Host]:
        """Start hosts, each on its own node."""
        started = [
            self.deployment.launch(
                name,
                database_port=self.nodes[NAMES.index(name)].port,
                **options,  # type: ignore[arg-type]
            )
            for name in names
        ]
        self.wait_for_members(*names)
        return started

    def assert_lawful(self, deployment: hosts.Deployment) -> None:
        assert isinstance(deployment, incident.Deployment)
        deployment.witness.stop()
        name = self.urls[0].rpartition('/')[2]
        order = committed_order.event_ids(self.nodes[0], name)
        evidence = dataclasses.replace(deployment.evidence(), order=order)
        report = committed_order.evaluate(self.nodes[0], name)
        self.assert_no_violation(
            deployment,
            [
                *laws.violations(deployment.records, evidence),
                *report.violations,
            ],
        )


class TestTransactionsOnGalera(test_processes.Transactions, _OnGalera):
    """A host is frozen, and another takes over through another node."""


class TestHostsOnGalera(_OnGalera):
    """A host whose node fails stops, and is replaced until it is back."""

    faults_survived = 6

    def test_faults_of_nodes_break_no_law(self) -> None:
        running = self.start(*NAMES)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, NAMES)
        self.free = sorted(set(uuids) - deployed)
        # The log of the first node is the one that is read in the end.
        cluster = databases.GALERA.server
        self.assert_replaced('host3', cluster.killed)
        self.assert_replaced('host2', cluster.frozen)
        self.assert_replaced('host3', cluster.isolated)
        for node in reversed(self.nodes):
            node.restart()
            cluster.wait_until_whole()
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
        with fault(self.nodes[NAMES.index(host)]):
            self.wait_for_lapse(host, before)
            self.wait_for_ring(self.free, others)
        self.wait_for_ring(self.free, NAMES)


del _OnGalera
