from __future__ import annotations

import itertools
import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.changes.services import (
    DELETE,
    DeleteService,
    Deletion,
)
from ironic_ownership.engine.gates import codes
from ironic_ownership.engine.placement import inventory_diff
from tests.contract.suites import placement
from tests.unit.engine import service, world

EMPTY = model.View()


class TestDeleteService(service.ServiceCase):
    """``host1`` runs; ``old`` is stopped and owns nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.host = self.start('host1')
        self.start('old').backend.leave()
        provider = inventory_diff.service_uuid('old')
        self.placement = placement.FakePlacement([provider])
        self.consumers = self.placement.providers[provider].consumers
        self.operation = DeleteService(
            self.records, self.host.backend, lambda: self.placement
        )

    def hosts(self) -> list[str]:
        return [row.host for row in self.records.services()]

    def test_proposal_writes_nothing(self) -> None:
        before = self.state()
        proposed = self.operation.propose('OLD')
        self.assertEqual(codes(DELETE), [r.gate for r in proposed.gates])
        self.assertEqual([], proposed.refused)
        self.assertEqual(before, self.state())
        self.assertEqual([], self.placement.calls)

    def test_service_and_its_provider_are_deleted(self) -> None:
        proposed = self.operation.propose('old')
        self.assertTrue(self.operation.execute(proposed, Origin('operator')))
        self.assertEqual(['host1'], self.hosts())
        self.assertEqual({}, self.placement.providers)

    def test_refused_service_is_not_deleted(self) -> None:
        self.ironic.put(world.node(1))
        self.host.refresh()
        before = self.state()
        proposed = self.operation.propose('host1')
        self.assertEqual(
            ['no_compute_nodes', 'not_alive'],
            [result.gate for result in proposed.refused],
        )
        self.assertFalse(self.operation.execute(proposed, Origin('operator')))
        self.assertEqual(before, self.state())
        self.assertEqual([], self.placement.calls)

    def test_unknown_members_refuse_with_a_warning(self) -> None:
        self.shared.store.available = False
        proposed = self.operation.propose('old')
        self.assertEqual(
            ['not_alive'], [result.gate for result in proposed.refused]
        )
        self.assertIn('liveness is unknown', proposed.warnings[0])

    def test_service_that_was_given_a_node_meanwhile_stays(self) -> None:
        proposed = self.operation.propose('old')
        self.ironic.put(world.node(1))
        self.host.refresh()
        self.operator("UPDATE compute_nodes SET host = 'old'")
        with self.assertRaises(exceptions.ServiceInUseError):
            self.operation.execute(proposed, Origin('operator'))
        self.assertIn('old', self.hosts())

    def test_service_whose_provider_is_in_use_stays(self) -> None:
        self.consumers.add('consumer')
        proposed = self.operation.propose('old')
        with self.assertRaises(exceptions.ProviderInUseError):
            self.operation.execute(proposed, Origin('operator'))
        self.assertIn('old', self.hosts())

    def test_unknown_service_has_a_hint(self) -> None:
        with self.assertRaisesRegex(exceptions.NotFoundError, 'mean host1'):
            self.operation.propose('hsot1')


class TestServiceGates(unittest.TestCase):
    def failed(
        self, nodes: list[model.ComputeNode], view: model.View | None
    ) -> list[str]:
        return [r.gate for r in Deletion('host1', nodes, view).refused]

    def test_dead_service_without_nodes_passes(self) -> None:
        others = model.View.of([world.member('host2')])
        for view in (EMPTY, others):
            self.assertEqual([], self.failed([], view))

    def test_unknown_liveness_counts_as_alive(self) -> None:
        self.assertEqual(['not_alive'], self.failed([], None))

    def test_every_failed_gate_is_named(self) -> None:
        free, used = (
            [world.record(1, 'host1')],
            [world.record(1, 'host1', 'i')],
        )
        alive = model.View.of([world.member('host1')])
        for nodes, view in itertools.product(([], free, used), (EMPTY, alive)):
            expected = [
                *(['no_compute_nodes'] if nodes else []),
                *(['no_instances'] if nodes is used else []),
                *(['not_alive'] if view is alive else []),
            ]
            self.assertEqual(expected, self.failed(nodes, view))

    def test_everything_that_remains_is_named_in_order(self) -> None:
        nodes = [world.record(n, 'host1', f'i{n}') for n in range(9, 0, -1)]
        node_gate, instance_gate, _ = Deletion('host1', nodes, EMPTY).gates
        numbers = range(1, 10)
        self.assertEqual(tuple(map(world.uuid, numbers)), node_gate.remaining)
        self.assertEqual(
            tuple(f'i{n}' for n in numbers), instance_gate.remaining
        )
