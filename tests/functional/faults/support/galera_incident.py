"""One host on each node of a Galera cluster.

Records and members are in the same database. The laws are evaluated in the
order of the commits, which is that of the binary log.
"""

from __future__ import annotations

import dataclasses
import itertools

from lab import committed_order, galera
from tests.functional.faults.support import incident, stores
from tests.functional.support import databases, hosts, laws

NAMES = ('host1', 'host2', 'host3')
"""Each connects to the node of its number only."""

_numbers = itertools.count(1)


class GaleraTestCase(incident.IncidentTestCase):
    """A deployment on a cluster, whose first node has no fault.

    :ivar cluster: of three nodes.
    :ivar urls: of the database at each node.
    """

    # With the records also a view of the members may be lost.
    patience = float(str(hosts.FAST['membership']['member_ttl']))

    cluster: galera.Galera
    urls: list[str]

    def open_cluster(self) -> galera.Galera:
        """Return a running cluster: that of the process."""
        return databases.GALERA.server

    def fresh_url(self) -> str:
        self.cluster = self.open_cluster()
        self.urls = self.cluster.create_database(f'hosts{next(_numbers)}')
        return self.urls[0]

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def start(self, *names: str, **options: object) -> list[hosts.Host]:
        """Start hosts, each on its own node."""
        started = [
            self.deployment.launch(
                name,
                database_port=self.cluster.nodes[NAMES.index(name)].port,
                **options,  # type: ignore[arg-type]
            )
            for name in names
        ]
        self.wait_for_members(*names)
        return started

    def assert_lawful(self, deployment: hosts.Deployment) -> None:
        assert isinstance(deployment, incident.Deployment)
        deployment.witness.stop()
        # The log of a node that was lost may end early.
        first = self.cluster.nodes[0]
        name = self.urls[0].rpartition('/')[2]
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
