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

FIRST, SECOND, THIRD = map(world.uuid, (1, 2, 3))


class VerificationTest(move_case.MoveCase):
    def setUp(self) -> None:
        super().setUp()
        self.placement = placement.FakePlacement(self.ironic.nodes)

    def compare(self, *nodes: NodeMove) -> Sequence[str]:
        order = Move('req-1', 'new', 'operator')
        move = Proposal(order, [PlannedNode(node) for node in nodes])
        (result,) = Verification(self.operation).compare([move])
        return result.findings

    def move(self, change: Callable[[], None] = lambda: None) -> Sequence[str]:
        """Move all nodes, with a change before the comparison."""

        def progress(done: int, total: int) -> None:
            if done == total:
                change()

        self.operation = self.operation_with(self.placement)
        result = self.execute(self.propose(), progress=progress)
        self.assertEqual(30, result.count(NodeState.MOVED))
        return result.findings

    def test_differences_from_the_records_are_found(self) -> None:
        moved = self.execute(self.propose()).moved
        new = 'new one'
        differs = f'its record has instance none, Ironic has {new}'
        del self.ironic.nodes[FIRST]
        self.change(SECOND, instance_uuid=new)
        self.assertEqual(
            [
                f'node {FIRST}: Ironic does not have it',
                f'node {SECOND}: {differs}',
            ],
            self.compare(*moved),
        )
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        self.assertIn('could not be compared', self.compare(*moved)[0])
        gone = NodeMove('x', 'old', state=NodeState.MOVED)
        self.assertIn('its owner is no service', self.compare(gone)[0])

    def test_changed_provider_is_found(self) -> None:
        def change() -> None:
            self.placement.put_traits(FIRST, ['CUSTOM_NEW'])
            del self.placement.providers[SECOND]

        changed = 'its Placement provider has changed'
        self.assertEqual(
            [f'node {uuid}: {changed}' for uuid in (FIRST, SECOND)],
            self.move(change),
        )

    def test_change_that_the_new_owner_has_reported_is_no_finding(
        self,
    ) -> None:
        del self.placement.providers[THIRD]

        def change() -> None:
            epoch = self.records.register('new', model.MemberSettings())
            for uuid in (FIRST, SECOND, THIRD):
                self.placement.put_provider(uuid, uuid)
                self.placement.put_traits(uuid, ['CUSTOM_NEW'])
                digest = inventory_diff.wanted(
                    model.Node(uuid, traits=('CUSTOM_NEW',)), None
                ).digest
                report = Report(uuid, digest)
                outcome = self.records.apply('new', epoch, [report])
                self.assertEqual((), outcome.refused)
            self.placement.providers[SECOND].consumers.add('an instance')

        (found,) = self.move(change)
        self.assertIn(SECOND, found)

    def test_outage_of_placement_stops_no_move(self) -> None:
        self.placement.fail_with = exceptions.PlacementUnavailableError('down')
        (found,) = self.move()
        self.assertIn('Placement could not be compared', found)
