"""Verification of a move: differences from Ironic and in Placement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.contracts.records import Report
from ironic_ownership.engine.changes.case import PlannedNode, Proposal
from ironic_ownership.engine.changes.verification import Verification
from ironic_ownership.engine.placement import inventory_diff
from tests.contract.suites import placement
from tests.unit.engine import world
from tests.unit.engine.changes import move_case


class VerificationTest(move_case.MoveCase):
    def setUp(self) -> None:
        super().setUp()
        self.uuids = [r.uuid for r in self.records.compute_nodes()]
        self.placement = placement.FakePlacement(self.uuids)

    def compare(self, *nodes: NodeMove) -> list[str]:
        verification = Verification(self.operation)
        order = Move('req-1', 'new', 'operator')
        move = Proposal(order, [PlannedNode(node) for node in nodes])
        (result,) = verification.compare([move])
        return list(result.findings)

    def move(self, change: Callable[[], None] = lambda: None) -> Sequence[str]:
        """Move all nodes, with a change before the comparison.

        :returns: the findings.
        """

        def progress(done: int, total: int) -> None:
            if done == total:
                change()

        operation = self.operation_with(self.placement)
        (result,) = operation.execute_all([self.propose()], progress=progress)
        self.assertEqual(30, result.count(NodeState.MOVED))
        return result.findings

    def test_differences_from_ironic_are_found(self) -> None:
        moved = self.execute(self.propose()).moved
        del self.ironic.nodes[world.uuid(1)]
        self.ironic.put(world.node(2, shard='b', instance_uuid='new one'))
        found = self.compare(*moved)
        self.assertEqual(2, len(found), found)
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        self.assertIn('could not be compared', self.compare(*moved)[0])

    def test_node_without_an_owner_is_found(self) -> None:
        gone = NodeMove('x', 'old', state=NodeState.MOVED)
        self.assertIn('its owner is no service', self.compare(gone)[0])

    def test_unchanged_providers_are_no_finding(self) -> None:
        self.assertEqual([], self.move())

    def test_changed_provider_is_found(self) -> None:
        def change() -> None:
            self.placement.put_traits(self.uuids[0], ['CUSTOM_NEW'])
            del self.placement.providers[self.uuids[1]]

        found = self.move(change)
        self.assertEqual(2, len(found), found)

    def test_change_that_the_new_owner_has_reported_is_no_finding(
        self,
    ) -> None:
        first, second, third, *_ = self.uuids
        del self.placement.providers[third]

        def change() -> None:
            epoch = self.records.register('new', model.MemberSettings())
            for uuid in (first, second, third):
                self.placement.put_provider(uuid, uuid)
                self.placement.put_traits(uuid, ['CUSTOM_NEW'])
                digest = inventory_diff.wanted(
                    model.Node(uuid, traits=('CUSTOM_NEW',)), None
                ).digest
                report = Report(uuid, digest)
                outcome = self.records.apply('new', epoch, [report])
                self.assertEqual((), outcome.refused)
            self.placement.providers[second].consumers.add('an instance')

        (found,) = self.move(change)
        self.assertIn(second, found)

    def test_outage_of_placement_stops_no_move(self) -> None:
        self.placement.fail_with = exceptions.PlacementUnavailableError('down')
        (found,) = self.move()
        self.assertIn('Placement could not be compared', found)
