"""The gates of a move and of a release, by what each row changes.

A row is the situation of one node, and the gates that refuse it then. Without
a change ``old`` is disabled and dead, ``new`` lives, and the node has an
instance everywhere.
"""

from __future__ import annotations

import dataclasses
import unittest
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.engine import gates
from ironic_ownership.engine.changes.case import (
    Case,
    ChangeSnapshot,
    OwnerChange,
)
from ironic_ownership.engine.changes.gates import MOVE, evaluate
from ironic_ownership.engine.gates import Outcome, refusals
from tests.unit.engine import world

GATES = gates.codes(MOVE)
UUID = world.uuid(1)
OLD = world.advertised(world.ALL, 15.0)
NEW = model.View.of([world.member('new', OLD)])
BOTH = model.View.of([world.member('new', OLD), world.member('old', OLD)])
DOWN = 'etcd is down'
STOPPED, AGREES = 'source_stopped', 'instance_agrees'
ALIVE, ADMITS = 'destination_alive', 'destination_admits'
ONE, BUSY = 'at_most_one_instance', 'no_operation_in_progress'


def at(
    *,
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    node: dict[str, Any] | None = None,
    owner: str | None = 'old',
    recorded: str | None = 'i1',
    running: tuple[str, ...] = ('i1',),
    **values: Any,
) -> ChangeSnapshot:
    """Return the situation, changed in some way."""
    services = {
        'old': model.Service('old', 1, disabled=True, settings=OLD),
        'new': model.Service('new', 1, settings=world.ALL),
    }
    for host, changed in (('old', old), ('new', new)):
        services[host] = dataclasses.replace(services[host], **(changed or {}))
    shown = {'instance_uuid': 'i1', 'provision_state': 'active'}
    found = ChangeSnapshot(
        services,
        NEW,
        {UUID: world.record(1, owner, recorded)},
        {UUID: running},
        {UUID: world.node(1, **{**shown, **(node or {})})},
    )
    return dataclasses.replace(found, **values)


def case(
    snapshot: ChangeSnapshot, *overrides: str, to: str | None = 'new'
) -> Case:
    return Case(OwnerChange(to, snapshot, world.interpret, {*overrides}), UUID)


def failed(
    snapshot: ChangeSnapshot, *overrides: str, to: str | None = 'new'
) -> set[str]:
    found = evaluate(case(snapshot, *overrides, to=to))
    return {result.gate for result in refusals(found)}


class MoveGatesTest(unittest.TestCase):
    def check(self, *rows: tuple[ChangeSnapshot, set[str]]) -> None:
        for number, (snapshot, fails) in enumerate(rows):
            with self.subTest(row=number):
                self.assertEqual(fails, failed(snapshot))

    def test_node_of_a_stopped_source_passes_every_gate(self) -> None:
        self.check((at(), set()), (at(owner=None), set()))

    def test_source_is_stopped_by_force_or_by_being_dead_and_disabled(
        self,
    ) -> None:
        down = {'disabled': False, 'forced_down': True}
        runs = {'disabled': False}
        stock = {'settings': model.MemberSettings(()), 'up_in_nova': True}
        self.check(
            (at(old=runs), {STOPPED}),
            (at(old=runs, view=BOTH), {STOPPED}),
            (at(old=down), set()),
            (at(old=down, view=BOTH), set()),
            (at(view=BOTH), {STOPPED}),
            (at(old={'forced_down': True}, view=BOTH), set()),
            (at(old=stock), {STOPPED}),
            # Unknown liveness is no proof of a death.
            (at(view=DOWN), {STOPPED, ALIVE}),
            (at(old=down, view=DOWN), {ALIVE}),
        )

    def test_source_without_a_row_is_stopped_unless_it_is_alive(self) -> None:
        # The row is lost after the restore of a backup.
        gone = {'services': {'new': at().services['new']}}
        self.check(
            (at(**gone), set()),
            (at(**gone, view=BOTH), {STOPPED}),
            (at(**gone, view=DOWN), {STOPPED, ALIVE}),
        )

    def test_live_source_releases_a_node_that_is_free_everywhere(self) -> None:
        i1 = ('i1',)
        for in_ironic, running, members, fails in (
            (None, (), BOTH, set()),
            ('i1', i1, BOTH, {STOPPED}),
            ('i1', (), BOTH, {AGREES, STOPPED}),
            (None, i1, BOTH, {AGREES, STOPPED}),
            (None, (), NEW, {STOPPED}),
            (None, (), DOWN, {STOPPED, ALIVE}),
        ):
            snapshot = at(
                old={'disabled': False},
                node={'instance_uuid': in_ironic},
                recorded=None,
                running=running,
                view=members,
            )
            self.check((snapshot, fails))
            self.assertIs(not fails, case(snapshot).hands_over)
        # Release 1.0 neither says how long permissions last, nor waits.
        earlier = model.View.of(
            [world.member('new'), world.member('old', OLD)]
        )
        for settings, view, words in (
            (world.ALL, BOTH, 'release of old does not advertise'),
            (OLD, earlier, 'release of new does not wait'),
        ):
            snapshot = at(
                old={'disabled': False, 'settings': settings},
                node={'instance_uuid': None},
                recorded=None,
                running=(),
                view=view,
            )
            self.check((snapshot, {STOPPED}))
            (refused,) = refusals(evaluate(case(snapshot)))
            self.assertIn(words, str(refused.detail))

    def test_destination_has_to_exist_live_and_be_enabled(self) -> None:
        unknown = failed(at(), to='unknown')
        enabled = 'destination_enabled'
        self.assertEqual(
            {'destination_exists', ALIVE, enabled, ADMITS}, unknown
        )
        self.assertIn('not_same_service', failed(at(), to='old'))
        self.check(
            (at(view=model.View()), {ALIVE}),
            (at(new={'disabled': True}), {enabled}),
            (at(new={'forced_down': True}), {enabled}),
        )

    def test_destination_has_to_admit_the_node(self) -> None:
        for settings, fails in (
            (world.runs(shard_key='a'), {ADMITS}),
            (world.runs(conductor_group='g'), {ADMITS}),
            (world.runs(conductor_group=''), set()),
            (world.runs(picky='ipmi'), {ADMITS}),
            (world.UNKNOWN, {ADMITS}),
            (world.NEWER, {ADMITS}),
        ):
            member = model.View.of([world.member('new', settings)])
            self.check((at(view=member), fails))
        # The last settings of a dead one count.
        other = {'settings': world.runs(shard_key='a')}
        self.check((at(new=other, view=model.View()), {ALIVE, ADMITS}))

    def test_instances_on_record_and_in_ironic_have_to_agree(self) -> None:
        for recorded, in_ironic, running, moves, fails in (
            ('i1', None, ('i1',), 'i1', {AGREES}),
            ('i1', 'i2', ('i1',), 'i1', {AGREES}),
            ('i1', 'i1', ('i1', 'i2'), 'i1', {ONE}),
            # The owner died before it recorded the instance.
            (None, 'i2', ('i2',), 'i2', set()),
            ('i1', 'i2', ('i1', 'i2'), 'i2', set()),
            # Nova is building it, or is about to delete it.
            (None, None, ('i2',), 'i2', {AGREES}),
            # Something else than Nova has deployed the node.
            (None, 'i2', (), None, {AGREES}),
            (None, 'i2', ('i2', 'i3'), 'i2', {ONE}),
            ('i1', 'i3', ('i1', 'i2'), 'i1', {AGREES, ONE}),
        ):
            node = {'instance_uuid': in_ironic}
            snapshot = at(recorded=recorded, node=node, running=running)
            self.check((snapshot, fails))
            self.assertEqual(moves, case(snapshot).instance_uuid)
        for recorded, in_ironic, running, detail in (
            ('i1', None, ('i1',), 'the record has i1, Ironic none'),
            (None, 'i2', (), 'the record has none, Ironic i2'),
            (None, None, ('i2',), 'the cell has i2, Ironic none'),
        ):
            node = {'instance_uuid': in_ironic}
            found = case(at(recorded=recorded, node=node, running=running))
            (refusal,) = refusals(evaluate(found))
            self.assertEqual(detail, refusal.detail)

    def test_objection_of_a_cell_refuses_by_the_gate_of_its_code(self) -> None:
        for code in ('is_ironic', 'cell_service', 'cell_row'):
            snapshot = at(objections={UUID: f'{code}: QEMU: why'})
            (refusal,) = refusals(evaluate(case(snapshot, *GATES)))
            self.assertEqual(code, refusal.gate)
            self.assertEqual('QEMU: why', refusal.detail)
            self.assertTrue(refusal.hint)

    def test_operation_in_progress_keeps_the_node(self) -> None:
        for state, target, fails in (
            ('deploying', 'active', {BUSY}),
            ('clean wait', 'available', {BUSY}),
            ('deploy failed', 'active', set()),
            ('error', 'available', set()),
        ):
            node = {'provision_state': state, 'target_provision_state': target}
            self.check((at(node=node), fails))
        self.check(
            (at(node={'reservation': 'conductor-1'}), {BUSY}),
            (at(node={'target_power_state': 'power off'}), {BUSY}),
            (at(node={'maintenance': True}), set()),
        )

    def test_what_ironic_does_not_tell_has_failed(self) -> None:
        unseen = {ADMITS, 'node_exists', AGREES, BUSY}
        for nodes in ({UUID: None}, {}, 'Ironic is down'):
            self.check((at(nodes=nodes), unseen))
            self.assertEqual(set(), failed(at(nodes=nodes), *unseen))
        refused = refusals(evaluate(case(at(nodes='Ironic is down'))))
        self.assertEqual({Outcome.UNKNOWN}, {r.outcome for r in refused})

    def test_gates_that_protect_data_are_never_overridden(self) -> None:
        for snapshot, fails in (
            (
                at(old={'disabled': False}, running=('i1', 'i2')),
                {STOPPED, ONE},
            ),
            (at(records={}), {'record_exists', STOPPED}),
        ):
            self.assertEqual(fails, failed(snapshot, *GATES))

    def test_dead_or_disabled_destination_is_overridden(self) -> None:
        away = at(new={'disabled': True}, view=model.View())
        enabled = 'destination_enabled'
        self.assertEqual(set(), failed(away, ALIVE, enabled))
        self.assertEqual({ALIVE}, failed(away, enabled))

    def test_group_of_a_node_that_is_not_admitted_is_named(self) -> None:
        other = model.View.of([world.member('new', world.runs(shard_key='a'))])
        for group, text in (('', 'default'), ('rack-a', 'rack-a')):
            snapshot = at(node={'conductor_group': group}, view=other)
            (found,) = refusals(evaluate(case(snapshot)))
            self.assertIn(f'conductor group {text}', found.detail)

    def test_every_gate_has_a_result_with_its_detail(self) -> None:
        nothing = ChangeSnapshot({}, model.View(), {}, {}, {})
        found = evaluate(case(nothing, to='unknown'))
        self.assertEqual(GATES, [result.gate for result in found])
        refused = refusals(found)
        self.assertEqual(9, len(refused))
        self.assertTrue(all(result.detail for result in refused))


class ReleaseGatesTest(unittest.TestCase):
    """Node 1 left the shard of ``old`` for that of ``new``."""

    def test_each_gate_alone_stops_the_release(self) -> None:
        before, other = (
            {'disabled': False, 'settings': world.runs(shard_key=host)}
            for host in ('old', 'new')
        )
        lives, new = (
            {**one, 'settings': world.advertised(one['settings'], 15.0)}
            for one in (before, other)
        )
        members = [world.member('old', lives['settings'])]
        stock = {'disabled': False, 'settings': model.Service('x', 0).settings}
        for service, peer, node, running, fails in (
            (lives, new, {}, (), set()),
            ({**stock, 'epoch': 0}, new, {}, (), {'owner_registered'}),
            (before, new, {}, (), {'owner_registered'}),
            # Of a release that claims a node while it is held.
            (lives, other, {}, (), {'owner_registered'}),
            (lives, new, {'instance_uuid': 'i1'}, (), {'no_instance'}),
            (lives, new, {}, ('i1',), {'no_instance'}),
            (lives, new, {'reservation': 'c1'}, (), {BUSY}),
            (lives, new, {'shard': 'old'}, (), {'not_given_back'}),
        ):
            snapshot = at(
                old=service,
                new=peer,
                node={'instance_uuid': None, 'shard': 'new', **node},
                recorded=None,
                running=running,
                view=model.View.of(
                    [*members, world.member('new', peer['settings'])]
                ),
            )
            self.assertEqual(fails, failed(snapshot, to=None), (node, running))

    def test_policies_of_others_that_fail_stop_what_they_may_admit(
        self,
    ) -> None:
        old = world.advertised(world.runs(shard_key='old'), 15.0)
        lives = {'disabled': False, 'settings': old}
        for name in ('fails', 'no_peers', 'picky'):
            for more, fails in (
                ({'shard_key': 'other'}, set()),
                ({}, {'not_given_back'}),
            ):
                bad = world.advertised(
                    world.runs(**more, **{name: None}), 15.0
                )
                snapshot = at(
                    old=lives,
                    new={'settings': bad},
                    node={'instance_uuid': None, 'shard': 'new'},
                    recorded=None,
                    running=(),
                    view=model.View.of([world.member('new', bad)]),
                )
                with self.subTest(name, **more):
                    self.assertEqual(fails, failed(snapshot, to=None))
