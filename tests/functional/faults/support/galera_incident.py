"""One host on each node of a Galera cluster.

Records and members are in the same database. The laws are evaluated in the
order of the commits, which is that of the binary log.
"""

from __future__ import annotations

import dataclasses
import itertools

from lab import committed_order, galera
from tests.functional.faults.support import incident
from tests.functional.support import databases, hosts, laws

NAMES = ('host1', 'host2', 'host3')
"""Each connects to the node of its number only."""

_numbers = itertools.count(1)


class GaleraTestCase(incident.IncidentTestCase):
    """A deployment on a cluster, whose first node has no fault.

    :ivar cluster: of three nodes.
    """

    with_records = True
    cluster: galera.Galera

    def open_cluster(self) -> galera.Galera:
        """Return a running cluster: that of the process."""
        return databases.GALERA.server

    def fresh_url(self) -> str:
        self.cluster = self.open_cluster()
        return self.cluster.create_database(f'hosts{next(_numbers)}')[0]

    def launch(self, name: str) -> hosts.Host:
        node = self.cluster.nodes[NAMES.index(name)]
        return self.deployment.launch(name, database_port=node.port)

    def assert_lawful(self, deployment: hosts.Deployment) -> None:
        assert isinstance(deployment, incident.Deployment)
        # The log of a node that was lost may end early.
        first = self.cluster.nodes[0]
        name = deployment.connection.rpartition('/')[2]
        order = committed_order.event_ids(first, name)
        evidence = dataclasses.replace(deployment.evidence(), order=order)
        report = committed_order.evaluate(first, name)
        self.assert_no_violation(
            deployment,
            [
                *laws.violations(deployment.records, evidence),
                *report.violations,
            ],
        )
