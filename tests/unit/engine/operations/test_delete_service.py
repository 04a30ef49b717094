from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.deletion.service_gates import Gate
from ironic_ownership.engine.operations.delete_service import DeleteService
from ironic_ownership.engine.placement import inventory_diff
from tests.contract.suites import placement
from tests.unit.engine import service, world


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
        self.assertEqual(list(Gate), [r.gate for r in proposed.gates])
        self.assertEqual([], proposed.refused)
        self.assertEqual(before, self.state())
        self.assertEqual([], self.placement.calls)

    def test_service_and_its_provider_are_deleted(self) -> None:
        proposed = self.operation.propose('old')
        self.assertTrue(self.operation.execute(proposed, actor='operator'))
        self.assertEqual(['host1'], self.hosts())
        self.assertEqual({}, self.placement.providers)

    def test_refused_service_is_not_deleted(self) -> None:
        self.ironic.put(world.node(1))
        self.host.refresh()
        before = self.state()
        proposed = self.operation.propose('host1')
        self.assertEqual(
            [Gate.NO_COMPUTE_NODES, Gate.NOT_ALIVE],
            [result.gate for result in proposed.refused],
        )
        self.assertFalse(self.operation.execute(proposed, actor='operator'))
        self.assertEqual(before, self.state())
        self.assertEqual([], self.placement.calls)

    def test_unknown_members_refuse_with_a_warning(self) -> None:
        self.shared.store.available = False
        proposed = self.operation.propose('old')
        self.assertEqual(
            [Gate.NOT_ALIVE], [result.gate for result in proposed.refused]
        )
        self.assertIn('liveness is unknown', proposed.warnings[0])

    def test_service_that_was_given_a_node_meanwhile_stays(self) -> None:
        proposed = self.operation.propose('old')
        self.ironic.put(world.node(1))
        self.host.refresh()
        self.operator("UPDATE compute_nodes SET host = 'old'")
        with self.assertRaises(exceptions.ServiceInUseError):
            self.operation.execute(proposed, actor='operator')
        self.assertIn('old', self.hosts())

    def test_service_whose_provider_is_in_use_stays(self) -> None:
        self.consumers.add('consumer')
        proposed = self.operation.propose('old')
        with self.assertRaises(exceptions.ProviderInUseError):
            self.operation.execute(proposed, actor='operator')
        self.assertIn('old', self.hosts())

    def test_unknown_service_has_a_hint(self) -> None:
        with self.assertRaisesRegex(exceptions.NotFoundError, 'mean host1'):
            self.operation.propose('hsot1')
