"""What stands in the way of a service's deletion."""

from __future__ import annotations

import itertools
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.deletion import service_gates
from ironic_ownership.engine.deletion.service_gates import Gate
from tests.unit.engine import world

NOBODY = model.View()


class TestServiceGates(unittest.TestCase):
    def failed(
        self, nodes: list[model.ComputeNode], view: model.View | None
    ) -> list[Gate]:
        evidence = service_gates.Evidence('host1', nodes, view)
        return [v.gate for v in service_gates.judge(evidence) if not v.passed]

    def test_dead_service_without_nodes_passes(self) -> None:
        others = model.View.of([world.member('host2')])
        for view in (NOBODY, others):
            self.assertEqual([], self.failed([], view))

    def test_unknown_liveness_counts_as_alive(self) -> None:
        self.assertEqual([Gate.NOT_ALIVE], self.failed([], None))

    def test_every_failed_gate_is_named(self) -> None:
        free, used = (
            [world.record(1, 'host1')],
            [world.record(1, 'host1', 'i')],
        )
        alive = model.View.of([world.member('host1')])
        for nodes, view in itertools.product(
            ([], free, used), (NOBODY, alive)
        ):
            expected = [
                *([Gate.NO_COMPUTE_NODES] if nodes else []),
                *([Gate.NO_INSTANCES] if nodes is used else []),
                *([Gate.NOT_ALIVE] if view is alive else []),
            ]
            self.assertEqual(expected, self.failed(nodes, view))

    def test_what_is_left_is_counted_and_the_first_are_named(self) -> None:
        nodes = [world.record(n, 'host1', f'i{n}') for n in range(9, 0, -1)]
        evidence = service_gates.Evidence('host1', nodes, NOBODY)
        node_gate, instance_gate, _ = service_gates.judge(evidence)
        self.assertEqual((9, 9), (node_gate.left, instance_gate.left))
        self.assertEqual(
            tuple(map(world.uuid, range(1, 6))), node_gate.examples
        )
        self.assertEqual(
            ('i1', 'i2', 'i3', 'i4', 'i5'), instance_gate.examples
        )
