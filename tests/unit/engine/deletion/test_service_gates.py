from __future__ import annotations

import itertools
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.deletion import service_gates
from ironic_ownership.engine.deletion.service_gates import Gate
from ironic_ownership.engine.gates import refusals
from tests.unit.engine import world

EMPTY = model.View()


class TestServiceGates(unittest.TestCase):
    def failed(
        self, nodes: list[model.ComputeNode], view: model.View | None
    ) -> list[Gate]:
        results = service_gates.evaluate('host1', nodes, view)
        return [result.gate for result in refusals(results)]

    def test_dead_service_without_nodes_passes(self) -> None:
        others = model.View.of([world.member('host2')])
        for view in (EMPTY, others):
            self.assertEqual([], self.failed([], view))

    def test_unknown_liveness_counts_as_alive(self) -> None:
        self.assertEqual([Gate.NOT_ALIVE], self.failed([], None))

    def test_every_failed_gate_is_named(self) -> None:
        free, used = (
            [world.record(1, 'host1')],
            [world.record(1, 'host1', 'i')],
        )
        alive = model.View.of([world.member('host1')])
        for nodes, view in itertools.product(([], free, used), (EMPTY, alive)):
            expected = [
                *([Gate.NO_COMPUTE_NODES] if nodes else []),
                *([Gate.NO_INSTANCES] if nodes is used else []),
                *([Gate.NOT_ALIVE] if view is alive else []),
            ]
            self.assertEqual(expected, self.failed(nodes, view))

    def test_everything_that_remains_is_named_in_order(self) -> None:
        nodes = [world.record(n, 'host1', f'i{n}') for n in range(9, 0, -1)]
        node_gate, instance_gate, _ = service_gates.evaluate(
            'host1', nodes, EMPTY
        )
        numbers = range(1, 10)
        self.assertEqual(tuple(map(world.uuid, numbers)), node_gate.remaining)
        self.assertEqual(
            tuple(f'i{n}' for n in numbers), instance_gate.remaining
        )
