from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.changes.deletion import DeleteNodes, Deletion
from ironic_ownership.engine.deletion.gates import GATES
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.gates import Result, codes
from tests.contract.suites import placement
from tests.unit.engine import service, world

GONE, ALSO_GONE, THERE = map(world.uuid, (1, 2, 3))


class TestDeleteNodes(service.ServiceCase):
    """``host1`` owns eight nodes, of which Ironic lost two."""

    def setUp(self) -> None:
        super().setUp()
        host = self.start('host1')
        self.ironic.put(
            *(world.node(number, name=f'n{number}') for number in range(1, 9))
        )
        host.refresh()
        del self.ironic.nodes[GONE], self.ironic.nodes[ALSO_GONE]
        self.placement = placement.FakePlacement(map(world.uuid, range(1, 9)))
        self.operation = DeleteNodes(
            dataclasses.replace(host.context.ports, placement=self.placement),
            Limits(0.0, 0.25, 3),
            model.Scope(),
        )

    def execute(self, proposed: Deletion, **more) -> list[str]:
        done = self.operation.execute(proposed, Origin('operator'), **more)
        return [node.result for node in done.nodes]

    def test_proposal_writes_nothing(self) -> None:
        before = self.state()
        proposed = self.operation.propose([GONE, THERE])
        self.assertEqual(
            [Result.WOULD_DELETE, Result.REFUSED],
            [node.result for node in proposed.nodes],
        )
        for node in proposed.nodes:
            self.assertEqual(codes(GATES), [r.gate for r in node.gates])
        _, refused = proposed.nodes
        self.assertEqual(
            (THERE, ['node_is_gone']),
            (refused.record.uuid, [r.gate for r in refused.refused]),
        )
        self.assertEqual(before, self.state())
        self.assertEqual([], self.placement.writes)
        self.assertEqual(8, len(self.placement.providers))

    def test_refused_nodes_are_skipped(self) -> None:
        steps: list[tuple[int, int]] = []
        results = self.execute(
            self.operation.propose([THERE, GONE, GONE]),
            progress=lambda done, total: steps.append((done, total)),
        )
        self.assertEqual([Result.REFUSED, Result.DELETED], results)
        self.assertEqual([(1, 2), (2, 2)], steps)
        self.assertEqual({2, 3, 4, 5, 6, 7, 8}, self.owners().keys())
        self.assertNotIn(GONE, self.placement.providers)

    def test_gates_are_evaluated_again_on_execution(self) -> None:
        proposed = self.operation.propose([GONE, ALSO_GONE])
        self.ironic.put(world.node(1))
        self.assertEqual(
            [Result.REFUSED, Result.DELETED], self.execute(proposed)
        )
        self.assertIn(GONE, self.placement.providers)
        del self.ironic.nodes[GONE]
        proposed = self.operation.propose([GONE])
        self.records.register('host1', world.ALL)
        self.assertEqual([Result.REFUSED], self.execute(proposed))
        self.assertIn(1, self.owners())

    def test_stop_leaves_the_remaining_nodes(self) -> None:
        stops = iter((False, True))
        results = self.execute(
            self.operation.propose([GONE, ALSO_GONE]),
            stopping=lambda: next(stops),
        )
        self.assertEqual([Result.DELETED, Result.WOULD_DELETE], results)
        self.assertIn(2, self.owners())


class TestForgetInstances(service.ServiceCase):
    """``host1`` owns a node with an instance, which Ironic lost."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1, instance_uuid=world.uuid(901)))
        host = self.start('host1')
        host.refresh()
        self.node = self.ironic.nodes.pop(GONE)
        self.operation = DeleteNodes(
            host.context.ports, Limits(0.0, 0.25, 3), model.Scope()
        )
        self.proposed = self.operation.propose(
            [world.uuid(901), GONE], instances=True
        )

    def execute(self) -> Result:
        done = self.operation.execute(
            self.proposed, Origin('operator', reason='scrapped')
        )
        (one,) = done.nodes
        self.refused = [result.gate for result in one.refused]
        return one.result

    def test_instance_is_named_once_and_forgotten(self) -> None:
        self.assertIs(Result.FORGOTTEN, self.execute())
        self.assertEqual({1: None}, self.instances())

    def test_gates_are_evaluated_again_on_execution(self) -> None:
        self.ironic.put(self.node)
        self.assertIs(Result.REFUSED, self.execute())
        self.assertEqual(['node_is_gone'], self.refused)
        del self.ironic.nodes[GONE]
        self.records.register('host1', world.ALL, incarnation='another')
        self.assertIs(Result.REFUSED, self.execute())
        self.assertEqual(['still_owner'], self.refused)
        self.assertEqual({1: world.uuid(901)}, self.instances())
