from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
from ironic_ownership.engine.checks import problem
from ironic_ownership.engine.placement import inventory_diff
from tests.unit.engine import world
from tests.unit.engine.checks import test_runner


class TestPlacement(test_runner.CheckCase):
    """All nodes have a class, and Placement knows the first one."""

    def setUp(self) -> None:
        super().setUp()
        self.reporting = True
        self.nodes = [
            dataclasses.replace(node, resource_class='baremetal')
            for node in self.nodes
        ]
        self.records = [
            self.known(*pair)
            for pair in zip(self.records, self.nodes, strict=True)
        ]

    def known(
        self, record: model.ComputeNode, node: model.Node
    ) -> model.ComputeNode:
        digest = inventory_diff.wanted(node, record.unavailable).digest
        return dataclasses.replace(record, placement_digest=digest)

    def change(self, place: int, **values: object) -> None:
        """Change one record."""
        self.records[place] = dataclasses.replace(
            self.records[place], **values
        )

    def test_node_whose_availability_changed_is_behind(self) -> None:
        self.change(1, unavailable='maintenance')
        found = self.assert_found('placement_behind', world.uuid(2))
        self.assertEqual(('host2',), found.services)
        self.assertEqual(problem.Severity.WARNING, found.severity)
        self.assertEqual(['placement_behind'], self.codes())

    def test_node_that_was_never_reported_is_behind(self) -> None:
        self.change(0, placement_digest=None)
        self.assert_found('placement_behind', world.uuid(1))

    def test_where_nothing_is_reported_nothing_is_behind(self) -> None:
        self.reporting = False
        self.assertEqual([], self.codes())
        self.change(0, placement_digest=None)
        # A service does report.
        self.assertEqual(['placement_behind'], self.codes())
        self.change(1, placement_digest=None)
        self.assertEqual([], self.codes())
        self.reporting = True
        self.assertEqual(['placement_behind'], self.codes())

    def test_node_without_a_class_is_named_and_not_behind(self) -> None:
        self.nodes[0] = world.node(1, shard='a')
        self.change(0, placement_digest=None)
        self.assert_found('no_resource_class', world.uuid(1))
        self.assertEqual(['no_resource_class'], self.codes())

    def test_node_of_a_dead_service_is_not_its_to_report(self) -> None:
        self.change(1, placement_digest=None)
        del self.members[1]
        self.assertNotIn('placement_behind', self.codes())

    def test_service_that_reports_sums_has_no_nodes_to_report(self) -> None:
        self.members = world.members(world.RESERVING, 'host1', 'host2')
        self.services = [
            dataclasses.replace(row, settings=world.RESERVING)
            for row in self.services
        ]
        self.change(0, placement_digest=None)
        self.assertNotIn('placement_behind', self.codes())
