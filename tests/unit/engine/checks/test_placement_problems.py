from __future__ import annotations

import dataclasses

from ironic_ownership.engine.checks import problem
from ironic_ownership.engine.placement import inventory_diff
from tests.unit.engine import world
from tests.unit.engine.checks import test_runner


class TestPlacement(test_runner.CheckCase):
    """All nodes have a class, and Placement knows them as they are."""

    def setUp(self) -> None:
        super().setUp()
        self.reporting = True
        self.nodes = [
            dataclasses.replace(node, resource_class='baremetal')
            for node in self.nodes
        ]
        for place, node in enumerate(self.nodes):
            digest = inventory_diff.wanted(node, None).digest
            self.change(place, placement_digest=digest)

    def change(self, place: int, **values: object) -> None:
        """Change one record."""
        self.records[place] = dataclasses.replace(
            self.records[place], **values
        )

    def test_node_that_changed_or_was_never_reported_is_behind(self) -> None:
        self.assertEqual([], self.codes())
        self.change(1, unavailable='maintenance')
        found = self.assert_found('placement_behind', world.uuid(2))
        self.assertEqual(('host2',), found.services)
        self.assertEqual(problem.Severity.WARNING, found.severity)
        self.assertEqual(['placement_behind'], self.codes())
        self.change(1, unavailable=None)
        self.change(0, placement_digest=None)
        self.assert_found('placement_behind', world.uuid(1))
        # A node without a class cannot be reported.
        self.nodes[0] = world.node(1, shard='a')
        self.assert_found('no_resource_class', world.uuid(1))
        self.assertEqual(['no_resource_class'], self.codes())

    def test_where_nothing_is_reported_nothing_is_behind(self) -> None:
        self.reporting = False
        self.change(0, placement_digest=None)
        # A service does report.
        self.assertEqual(['placement_behind'], self.codes())
        self.change(1, placement_digest=None)
        self.assertEqual([], self.codes())
        self.reporting = True
        self.assertEqual(['placement_behind'], self.codes())

    def test_service_that_is_dead_or_reports_sums_is_not_behind(self) -> None:
        self.change(1, placement_digest=None)
        self.members = world.members(world.RESERVING, 'host1', 'host2')
        for host in ('host1', 'host2'):
            self.row(host, settings=world.RESERVING)
        self.assertNotIn('placement_behind', self.codes())
        self.setUp()
        self.change(1, placement_digest=None)
        del self.members[1]
        self.assertNotIn('placement_behind', self.codes())
