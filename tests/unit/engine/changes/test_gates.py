"""The gates of a move, one by one: what passes, fails, or is unknown."""

from __future__ import annotations

import dataclasses
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine import gates
from ironic_ownership.engine.changes.case import Case, Change, Snapshot
from ironic_ownership.engine.changes.gates import MOVE, evaluate
from ironic_ownership.engine.gates import GateResult, Outcome, refusals
from tests.unit.engine import world

GATES = gates.codes(MOVE)
UUID = world.uuid(1)
GOOD = Snapshot(
    services={
        'old': model.Service('old', 1, disabled=True, settings=world.ALL),
        'new': model.Service('new', 1, settings=world.ALL),
    },
    view=model.View.of([world.member('new')]),
    records={UUID: world.record(1, 'old', 'i1')},
    instances={UUID: ['i1']},
    nodes={UUID: world.node(1, instance_uuid='i1', provision_state='active')},
)


def failed(snapshot: Snapshot, *overrides: str, to: str = 'new') -> set[str]:
    change = Change(to, snapshot, world.interpret, frozenset(overrides))
    return {r.gate for r in refusals(evaluate(Case(change, UUID)))}


def results(snapshot: Snapshot, to: str = 'new') -> tuple[GateResult, ...]:
    return evaluate(Case(Change(to, snapshot, world.interpret), UUID))


def with_service(host: str, **values) -> Snapshot:
    changed = dataclasses.replace(GOOD.services[host], **values)
    return dataclasses.replace(GOOD, services={**GOOD.services, host: changed})


def with_node(**values) -> Snapshot:
    return dataclasses.replace(
        GOOD,
        nodes={
            UUID: world.node(1, **{'instance_uuid': 'i1', **values}),
        },
    )


def with_members(*members: model.Member) -> Snapshot:
    return dataclasses.replace(GOOD, view=model.View.of(members))


class MoveGatesTest(unittest.TestCase):
    def test_node_of_a_stopped_source_passes_every_gate(self) -> None:
        self.assertEqual(set(), failed(GOOD))

    def test_source_is_stopped_by_force_or_by_being_dead_and_disabled(
        self,
    ) -> None:
        alive = model.View.of([world.member('new'), world.member('old')])
        for disabled, forced_down, is_alive, passes in (
            (False, False, False, False),
            (False, False, True, False),
            (False, True, False, True),
            (False, True, True, True),
            (True, False, False, True),
            (True, False, True, False),
            (True, True, True, True),
        ):
            snapshot = with_service(
                'old', disabled=disabled, forced_down=forced_down
            )
            if is_alive:
                snapshot = dataclasses.replace(snapshot, view=alive)
            self.assertEqual(
                set() if passes else {'source_stopped'},
                failed(snapshot),
                (disabled, forced_down, is_alive),
            )

    def test_source_that_stock_nova_serves_is_alive(self) -> None:
        stock = model.MemberSettings(())
        snapshot = with_service(
            'old', disabled=True, settings=stock, up_in_nova=True
        )
        self.assertEqual({'source_stopped'}, failed(snapshot))

    def test_liveness_that_is_not_known_is_no_proof_of_death(self) -> None:
        snapshot = dataclasses.replace(GOOD, view='etcd is down')
        self.assertEqual(
            {'source_stopped', 'destination_alive'}, failed(snapshot)
        )
        forced = dataclasses.replace(
            with_service('old', forced_down=True), view='etcd is down'
        )
        self.assertEqual({'destination_alive'}, failed(forced))

    def test_source_without_a_row_is_stopped_unless_it_is_alive(self) -> None:
        # The row is lost after the restore of a backup.
        gone = dataclasses.replace(
            GOOD, services={'new': GOOD.services['new']}
        )
        self.assertEqual(set(), failed(gone))
        members = model.View.of([world.member('new'), world.member('old')])
        alive = dataclasses.replace(gone, view=members)
        self.assertEqual({'source_stopped'}, failed(alive))
        unknown = dataclasses.replace(gone, view='etcd is down')
        self.assertIn('source_stopped', failed(unknown))

    def test_live_source_releases_a_node_that_is_free_everywhere(
        self,
    ) -> None:
        both = model.View.of([world.member('new'), world.member('old')])
        agrees, stopped = 'instance_agrees', 'source_stopped'
        for in_ironic, running, members, fails in (
            (None, [], both, set()),
            ('i1', ['i1'], both, {stopped}),
            ('i1', [], both, {agrees, stopped}),
            (None, ['i1'], both, {agrees, stopped}),
            (None, [], model.View.of([world.member('new')]), {stopped}),
            (None, [], 'etcd is down', {stopped, 'destination_alive'}),
        ):
            snapshot = dataclasses.replace(
                with_node(instance_uuid=in_ironic),
                services=with_service('old', disabled=False).services,
                records={UUID: world.record(1, 'old')},
                instances={UUID: running},
                view=members,
            )
            case = Case(Change('new', snapshot, world.interpret), UUID)
            with self.subTest(ironic=in_ironic, running=running):
                self.assertEqual(fails, failed(snapshot))
                self.assertIs(not fails, case.hands_over)

    def test_unowned_node_has_no_source_to_stop(self) -> None:
        snapshot = dataclasses.replace(
            GOOD, records={UUID: world.record(1, None, 'i1')}
        )
        self.assertEqual(set(), failed(snapshot))

    def test_destination_has_to_exist_live_and_be_enabled(self) -> None:
        self.assertEqual(
            {
                *('destination_exists', 'destination_alive'),
                *('destination_enabled', 'destination_admits'),
            },
            failed(GOOD, to='unknown'),
        )
        self.assertEqual({'destination_alive'}, failed(with_members()))
        for values in ({'disabled': True}, {'forced_down': True}):
            self.assertEqual(
                {'destination_enabled'},
                failed(with_service('new', **values)),
            )

    def test_destination_has_to_admit_the_node(self) -> None:
        for settings, passes in (
            (world.runs(shard_key='a'), False),
            (world.runs(conductor_group='g'), False),
            (world.runs(conductor_group=''), True),
            (world.runs(picky='ipmi'), False),
            (world.UNKNOWN, False),
            (world.NEWER, False),
        ):
            snapshot = with_members(world.member('new', settings))
            self.assertEqual(
                set() if passes else {'destination_admits'},
                failed(snapshot),
                settings,
            )

    def test_dead_destination_is_evaluated_by_its_last_settings(
        self,
    ) -> None:
        snapshot = dataclasses.replace(
            with_service('new', settings=world.runs(shard_key='a')),
            view=model.View(),
        )
        self.assertEqual(
            {'destination_alive', 'destination_admits'}, failed(snapshot)
        )

    def test_source_is_not_the_destination(self) -> None:
        self.assertIn('not_same_service', failed(GOOD, to='old'))

    def test_instances_on_record_and_in_ironic_have_to_agree(self) -> None:
        for instance in (None, 'i2'):
            self.assertEqual(
                {'instance_agrees'},
                failed(with_node(instance_uuid=instance)),
            )
        two = dataclasses.replace(GOOD, instances={UUID: ['i1', 'i2']})
        self.assertEqual({'at_most_one_instance'}, failed(two))

    def test_instance_moves_that_ironic_and_the_cell_have(self) -> None:
        none = {UUID: world.record(1, 'old')}
        for records, in_ironic, running, moves, fails in (
            # The owner died before it recorded the instance.
            (none, 'i2', ['i2'], 'i2', set()),
            (GOOD.records, 'i2', ['i1', 'i2'], 'i2', set()),
            # Nova is building it, or is about to delete it.
            (none, None, ['i2'], 'i2', {'instance_agrees'}),
            (GOOD.records, None, ['i1'], 'i1', {'instance_agrees'}),
            # Something else than Nova has deployed the node.
            (none, 'i2', [], None, {'instance_agrees'}),
            (none, 'i2', ['i2', 'i3'], 'i2', {'at_most_one_instance'}),
            (
                GOOD.records,
                *('i3', ['i1', 'i2'], 'i1'),
                {'instance_agrees', 'at_most_one_instance'},
            ),
        ):
            snapshot = dataclasses.replace(
                with_node(instance_uuid=in_ironic),
                records=records,
                instances={UUID: running},
            )
            case = Case(Change('new', snapshot, world.interpret), UUID)
            self.assertEqual(fails, failed(snapshot), (in_ironic, running))
            self.assertEqual(moves, case.instance_uuid)

    def test_node_that_the_cell_does_not_call_ironics_is_refused(self) -> None:
        snapshot = dataclasses.replace(GOOD, other_types={UUID: 'QEMU'})
        self.assertEqual({'is_ironic'}, failed(snapshot, *GATES))
        (refusal,) = refusals(results(snapshot))
        self.assertIn('QEMU', refusal.detail)
        self.assertIn(UUID, refusal.hint)

    def test_operation_in_progress_keeps_the_node(self) -> None:
        for values, passes in (
            ({'reservation': 'conductor-1'}, False),
            ({'target_power_state': 'power off'}, False),
            (
                {
                    'provision_state': 'deploying',
                    'target_provision_state': 'active',
                },
                False,
            ),
            (
                {
                    'provision_state': 'clean wait',
                    'target_provision_state': 'available',
                },
                False,
            ),
            (
                {
                    'provision_state': 'deploy failed',
                    'target_provision_state': 'active',
                },
                True,
            ),
            (
                {
                    'provision_state': 'error',
                    'target_provision_state': 'available',
                },
                True,
            ),
            ({'provision_state': 'active', 'maintenance': True}, True),
        ):
            self.assertEqual(
                set() if passes else {'no_operation_in_progress'},
                failed(with_node(**values)),
                values,
            )

    def test_what_ironic_does_not_tell_has_failed(self) -> None:
        unseen = {
            *('destination_admits', 'node_exists'),
            *('instance_agrees', 'no_operation_in_progress'),
        }
        for nodes in ({UUID: None}, {}, 'Ironic is down'):
            snapshot = dataclasses.replace(GOOD, nodes=nodes)
            self.assertEqual(unseen, failed(snapshot))
            self.assertEqual(set(), failed(snapshot, *unseen))

    def test_gates_that_protect_data_are_never_overridden(self) -> None:
        snapshot = dataclasses.replace(
            with_service('old', disabled=False),
            instances={UUID: ['i1', 'i2']},
        )
        self.assertEqual(
            {'source_stopped', 'at_most_one_instance'},
            failed(snapshot, *GATES),
        )
        self.assertEqual(
            {'record_exists', 'source_stopped'},
            failed(dataclasses.replace(GOOD, records={}), *GATES),
        )

    def test_every_gate_has_a_result_with_its_detail(self) -> None:
        found = results(Snapshot({}, model.View(), {}, {}, {}), 'unknown')
        self.assertEqual(GATES, [result.gate for result in found])
        refused = refusals(found)
        self.assertEqual(9, len(refused))
        self.assertTrue(all(result.detail for result in refused))

    def test_gate_that_cannot_be_evaluated_is_unknown_and_refuses(
        self,
    ) -> None:
        snapshot = dataclasses.replace(GOOD, nodes='Ironic is down')
        refused = refusals(results(snapshot))
        self.assertEqual(
            [
                *('destination_admits', 'node_exists'),
                *('instance_agrees', 'no_operation_in_progress'),
            ],
            [result.gate for result in refused],
        )
        self.assertEqual({Outcome.UNKNOWN}, {r.outcome for r in refused})


class ReleaseGatesTest(unittest.TestCase):
    """Node 1 left the shard of ``old`` for that of ``new``."""

    def test_each_gate_alone_stops_the_release(self) -> None:
        settings = {h: world.runs(shard_key=h) for h in ('old', 'new')}
        members = [world.member(*one) for one in settings.items()]
        services = {
            h: model.Service(h, 1, settings=settings[h]) for h in settings
        }
        stock = {'old': model.Service('old', 0), 'new': services['new']}
        for node, running, known, fails in (
            ({'shard': 'new'}, [], services, []),
            ({'shard': 'new'}, [], stock, ['owner_registered']),
            (
                {'shard': 'new', 'instance_uuid': 'i1'},
                [],
                services,
                ['no_instance'],
            ),
            ({'shard': 'new'}, ['i1'], services, ['no_instance']),
            (
                {'shard': 'new', 'reservation': 'c1'},
                *([], services, ['no_operation_in_progress']),
            ),
            ({'shard': 'old'}, [], services, ['not_given_back']),
        ):
            snapshot = Snapshot(
                known,
                model.View.of(members),
                {UUID: world.record(1, 'old')},
                {UUID: running},
                {UUID: world.node(1, **node)},
            )
            case = Case(Change(None, snapshot, world.interpret), UUID)
            found = [r.gate for r in refusals(evaluate(case))]
            self.assertEqual(fails, found, (node, running))
