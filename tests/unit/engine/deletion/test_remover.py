from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import SeenOwner
from ironic_ownership.engine.deletion import gates, missing_nodes
from ironic_ownership.engine.deletion.missing_nodes import Batch
from ironic_ownership.engine.deletion.remover import NodeDeletion, Remover
from ironic_ownership.engine.gates import Outcome
from tests.contract.suites import fake_bare_metal, placement
from tests.unit.engine import service, world

GONE = world.uuid(1)
DOWN = exceptions.PlacementUnavailableError('Placement is down')
SILENT = exceptions.IronicUnavailableError('Ironic is down')


class RemovalCase(service.ServiceCase):
    """``host1`` owns a node that Ironic does not have."""

    def setUp(self) -> None:
        super().setUp()
        self.placement = placement.FakePlacement([GONE])
        self.host = self.start('host1', placement=self.placement)
        self.ironic.put(*map(world.node, range(1, 9)))
        self.host.refresh()
        del self.ironic.nodes[GONE]
        (self.record,) = self.records.compute_nodes_by_uuid([GONE])
        seen = gates.fact(True, 'seen')
        self.round = Batch({'no_mass_loss': seen, 'sees_all_nodes': seen})
        self.done: list[str] = []

    def remove(
        self,
        delete: Callable[[], bool] | None = None,
        begin: Callable[[], str | None] | None = None,
        uses: bool = True,
    ) -> NodeDeletion:
        ports = self.host.context.ports
        if not uses:
            ports = dataclasses.replace(ports, placement=None)
        return Remover(ports).remove(
            self.record,
            self.round,
            begin=begin or (lambda: self.done.append('mark')),
            delete=delete or self.delete,
        )

    def delete(self) -> bool:
        self.done.append('record')
        return True

    def assert_refused(
        self,
        gate: str,
        detail: str = '',
        removal: NodeDeletion | None = None,
        begins: bool = False,
    ) -> NodeDeletion:
        removal = removal or self.remove()
        (refused,) = removal.refused
        self.assertEqual(gate, refused.gate)
        self.assertIn(detail, refused.detail)
        self.assertFalse(removal.deleted or removal.provider_deleted)
        self.assertEqual(['mark'] if begins else [], self.done)
        self.done.clear()
        self.assertIn(GONE, self.placement.providers)
        return removal


class TestRemover(RemovalCase):
    def test_mark_then_provider_then_record(self) -> None:
        def begin() -> None:
            self.assertIn(GONE, self.placement.providers)
            self.done.append('mark')

        def delete() -> bool:
            self.assertNotIn(GONE, self.placement.providers)
            return self.delete()

        self.ironic.calls.clear()
        removal = self.remove(delete, begin)
        self.assertTrue(removal.deleted and removal.provider_deleted)
        self.assertEqual(['mark', 'record'], self.done)
        # Ironic is asked last.
        self.assertEqual([('get', GONE)], self.ironic.calls)
        self.assertEqual(
            [('consumers', GONE), ('delete_provider', GONE)],
            self.placement.calls,
        )
        # A provider that is gone already is no obstacle.
        removal = self.remove()
        self.assertTrue(removal.deleted)
        self.assertFalse(removal.provider_deleted)

    def test_record_that_cannot_be_deleted_keeps_its_provider(self) -> None:
        why = 'the cell has an instance on it'
        self.assert_refused('still_owner', why, self.remove(begin=lambda: why))

        def fenced() -> str | None:
            raise exceptions.FencedError('fenced')

        self.assertRaises(exceptions.FencedError, self.remove, begin=fenced)
        self.assertIn(GONE, self.placement.providers)

    def test_node_that_came_back_is_kept(self) -> None:
        self.ironic.put(world.node(1))
        self.assert_refused('node_is_gone')
        # With an instance, it is kept also when it is gone again.
        self.ironic.put(world.node(1, instance_uuid='i1'))
        self.host.refresh()
        del self.ironic.nodes[GONE]
        self.assert_refused('no_instance', 'i1')

    def test_allocation_keeps_it(self) -> None:
        self.placement.providers[GONE].consumers |= {'c2', 'c1'}
        self.assert_refused('no_allocation', 'c1, c2')

    def test_other_owner_since_then_keeps_it(self) -> None:
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.assert_refused('still_owner', 'now no service')
        self.operator('UPDATE compute_nodes SET deleted_at = 1')
        self.assert_refused('still_owner')

    def test_mass_loss_and_a_narrow_credential_keep_it(self) -> None:
        self.round.found = {'no_mass_loss': gates.fact(False, 'seen')}
        refused = [r.gate for r in self.remove().refused]
        self.assertEqual(['no_mass_loss', 'sees_all_nodes'], refused)
        self.assertIn(GONE, self.placement.providers)

    def test_outage_is_unknown_and_asked_once_a_round(self) -> None:
        self.ironic.calls.clear()
        for server, error, gate, call in (
            (self.placement, DOWN, 'no_allocation', 'consumers'),
            (self.ironic, SILENT, 'node_is_gone', 'get'),
        ):
            server.fail_with = error
            for _ in range(3):
                removal = self.assert_refused(gate, 'is down')
                self.assertIs(Outcome.UNKNOWN, removal.refused[0].outcome)
            self.assertEqual([(call, GONE)], server.calls)
            server.fail_with = None
            self.round.silent.clear()
            self.ironic.calls.clear()

    def test_provider_that_cannot_be_deleted_keeps_the_record(self) -> None:
        for error in (
            DOWN,
            exceptions.PlacementError('odd'),
            exceptions.ProviderInUseError('allocated in the last moment'),
        ):
            self.placement.failures['delete_provider'] = error
            self.round.silent.clear()
            self.assert_refused('no_allocation', str(error), begins=True)

    def test_without_placement_the_record_goes_alone(self) -> None:
        removal = self.remove(uses=False)
        self.assertTrue(removal.deleted)
        (found,) = (r for r in removal.gates if r.gate == 'no_allocation')
        self.assertIs(Outcome.NOT_CONFIGURED, found.outcome)
        self.assertIn('[placement] is not configured', found.detail)
        self.assertEqual([], self.placement.calls)

    def test_record_that_changed_in_the_last_moment_is_reported(self) -> None:
        removal = self.remove(lambda: False)
        self.assertFalse(removal.deleted)
        self.assertEqual(['still_owner'], [r.gate for r in removal.refused])


class TestRefreshWithPlacement(RemovalCase):
    def recorded(self) -> Reason | None:
        found = self.records.compute_nodes_by_uuid([GONE])
        return found[0].reason if found else None

    def begin_deletion(self) -> None:
        """Do the first step of an operator, who does no other."""
        (row,) = self.records.services()
        self.records.begin_deletion(GONE, SeenOwner('host1', row.epoch))

    def test_deletion_that_ended_at_any_step_is_resumed(self) -> None:
        for provider in (True, False):
            self.ironic.put(world.node(1))
            self.placement.providers.setdefault(
                GONE, placement.FakePlacement([GONE]).providers[GONE]
            )
            self.host.refresh()
            self.begin_deletion()
            if not provider:
                del self.placement.providers[GONE]
            del self.ironic.nodes[GONE]
            self.assertIs(Reason.BEING_DELETED, self.recorded())
            self.host.refresh()
            self.assertIsNone(self.recorded())
            self.assertEqual({}, self.placement.providers)

    def test_node_that_ironic_has_again_takes_the_mark_back(self) -> None:
        self.begin_deletion()
        self.ironic.put(world.node(1))
        self.host.refresh()
        self.assertIs(Reason.EXCLUSIVE, self.recorded())
        self.assertEqual('host1', self.owners()[1])
        self.assertEqual(0, self.host.refresh().refused)

    def test_outage_is_reported_once_and_nothing_else_waits(self) -> None:
        self.placement.fail_with = DOWN
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for number in (11, 12, 13):
                self.ironic.put(world.node(number))
                self.host.refresh()
                self.assertEqual('host1', self.owners()[number])
        self.assertEqual(1, len(logs.output))
        self.assertIn('no_allocation', logs.output[0])
        self.assertEqual('host1', self.owners()[1])
        self.placement.fail_with = None
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertNotIn(1, self.owners())
        self.assertIn('no more records kept', '\n'.join(logs.output))

    def test_notice_ends_when_the_node_returns(self) -> None:
        self.placement.providers[GONE].consumers.add('c1')
        self.host.refresh()
        self.assertIn('kept', self.host.conditions.standing)
        self.ironic.put(world.node(1))
        self.host.refresh()
        self.assertNotIn('kept', self.host.conditions.standing)


class TestMassLoss(unittest.TestCase):
    LIMITS = missing_nodes.Limits(0.0, 0.25, 3)

    def setUp(self) -> None:
        self.ironic = fake_bare_metal.FakeBareMetal()
        self.owned = [world.record(n, 'host1', shard='s') for n in range(500)]

    def evaluate(self, scope: model.Scope | None = None) -> Batch:
        self.ironic.calls.clear()
        return missing_nodes.evaluate(
            self.ironic, self.LIMITS, scope or model.Scope(), self.owned
        )

    def check(
        self,
        lost: bool,
        scope: model.Scope | None = None,
        *,
        lists: list[model.Scope],
        looked_up: int,
    ) -> None:
        batch = self.evaluate(scope)
        found = batch.found['no_mass_loss']
        gone = 0 if scope else looked_up
        known = f'{"at least " if lost else ""}{gone}'
        self.assertIn(f'{known} of 500 nodes of host1 are m', f'{found}')
        self.assertIs(lost, found.outcome is Outcome.FAILED)
        self.assertTrue(batch.found['sees_all_nodes'].outcome.passed)
        calls = self.ironic.calls
        self.assertEqual(
            lists, [what for name, what in calls if name == 'scan']
        )
        self.assertEqual(looked_up, [name for name, _ in calls].count('get'))

    def put(self, first: int, shard: str | None = 's') -> None:
        self.ironic.nodes.clear()
        self.ironic.put(
            *(world.node(n, shard=shard) for n in range(first, 500))
        )

    def test_share_of_the_owner_is_what_counts(self) -> None:
        # A certain loss is not looked up to its end.
        for first, lost, looked_up in (
            *((0, False, 0), (125, False, 125), (126, True, 126)),
            (500, True, 126),
        ):
            self.put(first)
            self.check(lost, lists=[model.Scope()], looked_up=looked_up)

    def test_nodes_elsewhere_are_looked_up_and_not_lost(self) -> None:
        scope = model.Scope(shard='s')
        self.put(0, shard='other')
        self.check(False, scope, lists=[scope], looked_up=500)
        # With a shard only shards are listed.
        self.put(0)
        self.check(
            False,
            model.Scope(shard='mine', conductor_group='g'),
            lists=[model.Scope(shard='mine'), scope],
            looked_up=0,
        )

    def test_outage_leaves_both_gates_unknown(self) -> None:
        for method, gate in (
            ('scan', 'no_mass_loss'),
            ('get', 'no_mass_loss'),
            ('shard_counts', 'sees_all_nodes'),
        ):
            self.ironic.failures = {method: SILENT}
            found = self.evaluate().found[gate]
            self.assertIs(Outcome.UNKNOWN, found.outcome, method)

    def test_shard_with_the_name_of_none_is_counted(self) -> None:
        # Ironic counts nodes without a shard under the same name.
        found = missing_nodes.compare_counts(
            self.ironic, 'None', 0, trusted=False
        )
        self.assertIs(Outcome.PASSED, found.outcome)
        self.ironic.shard_counts = lambda: {None: 1}  # type: ignore
        found = missing_nodes.compare_counts(
            self.ironic, 'None', 0, trusted=False
        )
        self.assertIs(Outcome.FAILED, found.outcome)
        self.assertIn('1 counted in shard None', found.detail)

    def test_fewer_listed_than_counted_fails(self) -> None:
        self.put(0)
        self.ironic.shard_counts = lambda: {'s': 501}  # type: ignore
        outcome, detail, _ = self.evaluate().found['sees_all_nodes']
        self.assertIs(Outcome.FAILED, outcome)
        self.assertIn('500 nodes listed, 501 counted in all', detail)
