from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Delete, SeenOwner
from ironic_ownership.db.removals import SqlRemovals
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
        self.missing: list[str] = []

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
            begin=begin or self.begin,
            delete=delete or self.delete,
        )

    def begin(self) -> None:
        self.assertIn(GONE, {*self.placement.providers, *self.missing})
        self.done.append('mark')

    def delete(self) -> bool:
        self.done.append('record')
        return True

    def assert_refused(
        self, *codes: str, begins: bool = False
    ) -> NodeDeletion:
        removal = self.remove()
        self.assertEqual(list(codes), [r.gate for r in removal.refused])
        self.assertFalse(removal.deleted or removal.provider_deleted)
        self.assertEqual(['mark'] if begins else [], self.done)
        self.done.clear()
        self.assertIn(GONE, self.placement.providers)
        return removal


class TestRemover(RemovalCase):
    def test_mark_then_provider_then_record(self) -> None:
        def delete() -> bool:
            self.assertNotIn(GONE, self.placement.providers)
            return self.delete()

        removal = self.remove(delete)
        self.assertTrue(removal.deleted and removal.provider_deleted)
        self.assertEqual(['mark', 'record'], self.done)

    def test_record_that_cannot_be_deleted_keeps_its_provider(self) -> None:
        removal = self.remove(begin=lambda: 'the cell has an instance on it')
        (refusal,) = removal.refused
        self.assertEqual(
            ('still_owner', 'the cell has an instance on it'),
            (refusal.gate, refusal.detail),
        )
        self.assertEqual([], self.done)
        self.assertIn(GONE, self.placement.providers)

    def test_ironic_is_asked_last_and_right_before(self) -> None:
        self.ironic.calls.clear()
        self.remove()
        self.assertEqual([('get', GONE)], self.ironic.calls)
        self.assertEqual(
            [('consumers', GONE), ('delete_provider', GONE)],
            self.placement.calls,
        )

    def test_node_that_came_back_is_kept(self) -> None:
        self.ironic.put(world.node(1))
        self.assert_refused('node_is_gone')

    def test_instance_since_then_keeps_it(self) -> None:
        self.ironic.put(world.node(1, instance_uuid='i1'))
        self.host.refresh()
        del self.ironic.nodes[GONE]
        (refused,) = self.assert_refused('no_instance').refused
        self.assertIn('i1', refused.detail)

    def test_allocation_keeps_it(self) -> None:
        self.placement.providers[GONE].consumers |= {'c2', 'c1'}
        (refused,) = self.assert_refused('no_allocation').refused
        self.assertIn('c1, c2', refused.detail)

    def test_other_owner_since_then_keeps_it(self) -> None:
        self.operator('UPDATE compute_nodes SET host = NULL')
        removal = self.assert_refused('still_owner')
        self.assertIn('now no service', removal.refused[0].detail)

    def test_record_deleted_by_another_keeps_the_provider(self) -> None:
        self.operator('UPDATE compute_nodes SET deleted_at = 1')
        self.assert_refused('still_owner')

    def test_mass_loss_and_a_narrow_credential_keep_it(self) -> None:
        self.round.found = {'no_mass_loss': gates.fact(False, 'seen')}
        self.assert_refused('no_mass_loss', 'sees_all_nodes')

    def test_caller_that_may_not_write_deletes_no_provider(self) -> None:
        def fenced() -> str | None:
            raise exceptions.FencedError('fenced')

        self.assertRaises(exceptions.FencedError, self.remove, begin=fenced)
        self.assertIn(GONE, self.placement.providers)

    def test_placement_down_is_unknown_and_asked_once_a_round(self) -> None:
        self.placement.fail_with = DOWN
        for _ in range(3):
            removal = self.assert_refused('no_allocation')
            self.assertIs(Outcome.UNKNOWN, removal.refused[0].outcome)
            self.assertIn('is down', removal.refused[0].detail)
        self.assertEqual([('consumers', GONE)], self.placement.calls)

    def test_ironic_down_is_unknown_and_asked_once_a_round(self) -> None:
        self.ironic.fail_with = SILENT
        self.ironic.calls.clear()
        for _ in range(3):
            self.assert_refused('node_is_gone')
        self.assertEqual([('get', GONE)], self.ironic.calls)

    def test_provider_that_cannot_be_deleted_keeps_the_record(self) -> None:
        for error in (
            DOWN,
            exceptions.PlacementError('odd'),
            exceptions.ProviderInUseError('allocated in the last moment'),
        ):
            self.placement.failures['delete_provider'] = error
            self.round.silent.clear()
            removal = self.assert_refused('no_allocation', begins=True)
            self.assertIn(str(error), removal.refused[0].detail)

    def test_provider_that_is_gone_already_is_no_obstacle(self) -> None:
        del self.placement.providers[GONE]
        self.missing.append(GONE)
        removal = self.remove()
        self.assertTrue(removal.deleted)
        self.assertFalse(removal.provider_deleted)

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
        SqlRemovals(self.database).begin_deletion(
            GONE, SeenOwner('host1', row.epoch)
        )

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

    def test_failure_of_the_last_step_is_resumed(self) -> None:
        error = exceptions.RecordsUnavailableError('down')
        apply = self.records.apply

        def fails(host, epoch, changes, **how):
            if isinstance(changes[0], Delete):
                raise error
            return apply(host, epoch, changes, **how)

        with (
            mock.patch.object(self.records, 'apply', fails),
            self.assertRaises(exceptions.RecordsUnavailableError),
        ):
            self.host.refresh()
        self.assertEqual({}, self.placement.providers)
        self.assertIs(Reason.BEING_DELETED, self.recorded())
        self.host.refresh()
        self.assertIsNone(self.recorded())

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
        return missing_nodes.evaluate(
            self.ironic, self.LIMITS, scope or model.Scope(), self.owned
        )

    def is_lost(self, scope: model.Scope | None = None) -> bool:
        found = self.evaluate(scope).found['no_mass_loss']
        self.assertIn('of 500 nodes of host1 are', found.detail)
        return found.outcome is Outcome.FAILED

    def put(self, first: int, shard: str | None = 's') -> None:
        self.ironic.put(
            *(world.node(n, shard=shard) for n in range(first, 500))
        )

    def test_share_of_the_owner_is_what_counts(self) -> None:
        for first, lost in ((0, False), (125, False), (126, True)):
            self.ironic.nodes.clear()
            self.put(first)
            self.assertIs(lost, self.is_lost())

    def test_nodes_elsewhere_are_looked_up_and_not_lost(self) -> None:
        self.put(0, shard='other')
        scope = model.Scope(shard='s')
        self.assertIs(False, self.is_lost(scope))
        listed = [a for m, a in self.ironic.calls if m == 'scan']
        self.assertEqual([scope], listed)

    def test_with_a_shard_only_shards_are_listed(self) -> None:
        self.put(0)
        found = self.evaluate(model.Scope(shard='mine', conductor_group='g'))
        listed = [a for m, a in self.ironic.calls if m == 'scan']
        self.assertEqual(
            [model.Scope(shard='mine'), model.Scope(shard='s')], listed
        )
        self.assertTrue(found.found['sees_all_nodes'].outcome.passed)

    def test_certain_loss_is_not_looked_up_to_its_end(self) -> None:
        self.assertIs(True, self.is_lost())
        looked_up = [a for m, a in self.ironic.calls if m == 'get']
        self.assertEqual(126, len(looked_up))

    def test_outage_leaves_both_gates_unknown(self) -> None:
        for method in ('scan', 'get', 'shard_counts'):
            self.ironic.failures = {method: SILENT}
            found = self.evaluate()
            gate = 'no_mass_loss'
            if method == 'shard_counts':
                gate = 'sees_all_nodes'
            unknown = found.found[gate].outcome
            self.assertIs(Outcome.UNKNOWN, unknown, method)

    def test_shard_with_the_name_of_none_is_counted(self) -> None:
        # Ironic counts nodes without a shard under the same name.
        found = missing_nodes.compare_counts(self.ironic, 'None', 0)
        self.assertIs(Outcome.PASSED, found.outcome)
        self.ironic.shard_counts = lambda: {None: 1}  # type: ignore
        found = missing_nodes.compare_counts(self.ironic, 'None', 0)
        self.assertIs(Outcome.FAILED, found.outcome)

    def test_fewer_listed_than_counted_fails(self) -> None:
        self.put(0)
        counted = {'s': 501}
        self.ironic.shard_counts = lambda: counted  # type: ignore
        found = self.evaluate()
        outcome, detail, _ = found.found['sees_all_nodes']
        self.assertIs(Outcome.FAILED, outcome)
        self.assertIn('500 nodes listed, 501 counted', detail)
