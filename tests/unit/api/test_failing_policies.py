"""Policies of one service that fail hide nothing of the others."""

from __future__ import annotations

from ironic_ownership.api.resources import nodes
from ironic_ownership.contracts import model
from ironic_ownership.engine.queries import (
    deployment_snapshot,
    service_status,
)
from tests.unit.engine.queries.test_node_query import QueryCase, node


class FailingPoliciesTest(QueryCase):
    def snapshot(
        self, *found: model.Node
    ) -> deployment_snapshot.DeploymentSnapshot:
        return deployment_snapshot.DeploymentSnapshot(
            self.records.services(),
            {record.uuid: record for record in self.records.compute_nodes()},
            deployment_snapshot.Nodes({one.uuid: one for one in found}),
            self.ports.backend.view(),
            {},
        )

    def test_load_of_the_other_service_is_known(self) -> None:
        self.join_failing('peers')
        listing = service_status.Listing(
            [
                service_status.ServiceStatus(row, None, view_known=True)
                for row in self.records.services()
            ]
        )
        with self.assertLogs(level='WARNING'):
            found = service_status.add_load(
                listing, self.snapshot(node('a')), self.ports.interpret
            )
        self.assertEqual(2, len(found.services))

    def test_node_is_admitted_by_the_other_service(self) -> None:
        self.join_failing('peers')
        with self.assertLogs(level='WARNING'):
            admits = nodes._admits(self.snapshot(), self.ports.interpret, [])
        assert admits is not None
        self.assertTrue(admits(node('a')))
