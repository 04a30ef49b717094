"""The hint of every gate, carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import Any
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import gates as move_gates
from ironic_ownership.engine.changes import services as change_services
from ironic_ownership.engine.changes.case import (
    Case,
    ChangeSnapshot,
    OwnerChange,
)
from ironic_ownership.engine.deletion import gates as deletion_gates
from ironic_ownership.engine.gates import Gate
from tests.unit.engine import service, world
from tests.unit.hints import site

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
NODE = world.uuid(1)
Story = Generator[None, str, None]
KINDS: dict[str, Sequence[Gate[Any]]] = {
    'move': move_gates.MOVE,
    'release': move_gates.RELEASE,
    'delete': deletion_gates.GATES,
    'service': change_services.DELETE,
    'failover': change_services.FAIL_OVER,
}
CASES: dict[tuple[str, str], Callable[[TestGates], Story]] = {}


def case(
    kind: str, gate: str
) -> Callable[[Callable[[TestGates], Story]], Callable[..., Story]]:
    """Register what makes a gate fail, and what its hint asks for."""

    def register(story: Callable[[TestGates], Story]) -> Any:
        CASES[kind, gate] = story
        return story

    return register


class TestGates(site.Site):
    """``host1`` and ``host2`` share nothing; node 1 is of ``host1``."""

    def test_every_gate_has_a_case(self) -> None:
        every = {(k, g.code) for k, gates in KINDS.items() for g in gates}
        self.assertEqual(every, CASES.keys())

    def setUp(self) -> None:
        super().setUp()
        self.node(1, shard='a')
        self.serve('host1', A)
        self.serve('host2', B)

    def failing(self, kind: str) -> dict[str, str]:
        """Return the hints of the gates that do not pass."""
        if kind == 'move':
            (row,) = self.rows(
                f'compute node move {NODE} --to host2 --dry-run'
            )
            return {
                g['gate']: g['hint']
                for g in row['gates']
                if g['result'] == 'failed'
            }
        if kind == 'release':
            (row,) = self.rows(f'compute node release {NODE} --dry-run')
            gates = row['failed_gates']
            hints = (row['hint'] or '').split('; ')
            if len(gates) != len(hints):  # one that has a semicolon itself
                hints = [row['hint']] * len(gates)
            return dict(zip(gates, hints, strict=True)) if gates else {}
        if kind == 'delete':
            return {
                row['gate']: row['hint']
                for row in self.rows(f'compute node check-delete {NODE}')
                if row['hint']
            }
        if kind == 'service':
            return {
                row['gate']: row['hint']
                for row in self.rows('service delete host1 --dry-run')
                if not row['passed']
            }
        operation = change_services.FailOverService(
            self.records, self.wired.backend
        )
        return {
            g.gate: g.hint
            for g in operation.propose('host1').gates
            if not g.passed
        }

    def test_gate_that_is_unknown_has_a_hint(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        for kind in ('move', 'delete'):
            hints = self.failing(kind)
            self.assertTrue(hints)
            self.assertTrue(all(hints.values()), hints)
        self.ironic.fail_with = None
        self.assertNotIn('node_exists', self.failing('move'))

    def test_nodes_that_ironic_cannot_count(self) -> None:
        del self.ironic.nodes[NODE]
        self.ironic.failures['shard_counts'] = exceptions.IronicError('403')
        self.shared.clock.elapse(service.RECHECK)
        self.settle()
        self.assertEqual({1: 'host1'}, self.owners())
        hint = self.failing('delete')['sees_all_nodes']
        self.assertIn('trust_credential = true', hint)
        limits = self.wired.limits
        trusting = dataclasses.replace(limits, trusts_credential=True)
        self.wired.limits = trusting
        self.assertEqual({}, self.failing('delete'))
        down = exceptions.IronicUnavailableError('down')
        self.ironic.failures['shard_counts'] = down
        self.assertIn('sees_all_nodes', self.failing('delete'))
        self.ironic.failures['shard_counts'] = exceptions.IronicError('403')
        missing = self.alive['host1'].missing_nodes
        missing.limits = dataclasses.replace(
            missing.limits, trusts_credential=True
        )
        missing.ask_all_again()
        self.settle()
        self.assertEqual({}, self.owners())

    def play(self, kind: str, gate: str) -> None:
        story = CASES[kind, gate](self)
        next(story)
        hint = self.failing(kind).get(gate)
        self.assertTrue(hint, self.failing(kind))
        with self.assertRaises(StopIteration):
            story.send(str(hint))
        if kind != 'delete' or NODE in {
            r.uuid for r in self.records.compute_nodes()
        }:
            self.assertNotIn(gate, self.failing(kind))


# A move of node 1 to ``host2``.


@case('move', 'record_exists')
def _record_exists(s: TestGates) -> Story:
    s.operator('DELETE FROM compute_nodes')
    hint = yield
    s.carry_out(hint)
    s.settle()


def _of_a_cell(code: str) -> Callable[[TestGates], Story]:
    # Next to a real cell its hint is in the tests of the Nova commands.
    def story(s: TestGates) -> Story:
        found = {NODE: f'{code}: why'}
        with mock.patch.object(SqlMoves, 'objections', return_value=found):
            yield

    return story


for _code in ('is_ironic', 'cell_service', 'cell_row'):
    case('move', _code)(_of_a_cell(_code))


@case('move', 'source_stopped')
def _source_stopped(s: TestGates) -> Story:
    s.node(1, instance_uuid=s.instance(1))
    s.settle()
    hint = yield
    s.kill('host1')
    s.carry_out(hint)


@case('move', 'not_same_service')
def _not_same_service(s: TestGates) -> Story:
    # A node that the destination owns is unchanged, and never refused.
    snapshot = ChangeSnapshot(
        {},
        model.View.of(()),
        {NODE: model.ComputeNode(NODE, 'host1')},
        {},
        s.ironic.nodes,
    )
    case = Case(OwnerChange('host1', snapshot, world.interpret), NODE)
    found = {g.gate: g for g in move_gates.evaluate(case)}
    s.failing = lambda kind: {  # type: ignore[method-assign]
        'not_same_service': found['not_same_service'].hint
    }
    yield
    del s.failing


@case('move', 'destination_exists')
def _destination_exists(s: TestGates) -> Story:
    s.kill('host2')
    s.operator("DELETE FROM services WHERE host = 'host2'")
    yield
    s.serve('host2', B)


@case('move', 'destination_alive')
def _destination_alive(s: TestGates) -> Story:
    s.kill('host2')
    yield
    s.serve('host2', B)


@case('move', 'destination_enabled')
def _destination_enabled(s: TestGates) -> Story:
    s.run_command('service set host2 --disable --down --yes')
    hint = yield
    s.carry_out(hint)


@case('move', 'destination_admits')
def _destination_admits(s: TestGates) -> Story:
    hint = yield
    s.carry_out(hint)
    s.node(1, shard='b')


@case('move', 'node_exists')
@case('release', 'node_exists')
def _node_exists(s: TestGates) -> Story:
    s.kill('host1')
    del s.ironic.nodes[NODE]
    hint = yield
    s.carry_out(hint)
    s.failing = lambda kind: {}  # type: ignore[method-assign]
    s.assertEqual({}, s.owners())


@case('move', 'at_most_one_instance')
def _at_most_one_instance(s: TestGates) -> Story:
    s.node(1, instance_uuid=s.instance(1))
    s.settle()
    s.operator(
        'INSERT INTO instances (uuid, node_uuid, host, created_at) '
        f"VALUES ('{s.instance(2)}', '{NODE}', 'host1', 0)"
    )
    yield
    s.operator(f"DELETE FROM instances WHERE uuid = '{s.instance(2)}'")


@case('move', 'instance_agrees')
def _instance_agrees(s: TestGates) -> Story:
    s.kill('host1')
    s.node(1, shard='b', instance_uuid=s.instance(1))
    hint = yield
    s.run_command('service set host1 --down --yes')
    _, _, option = hint.partition('Otherwise ')
    option = option.partition(':')[0].replace('TEXT', 'gone')
    s.carry_out(f'{site.PROGRAM} compute node move {NODE} --to host2 {option}')
    s.settle()


@case('move', 'no_operation_in_progress')
def _no_operation(s: TestGates) -> Story:
    s.node(1, reservation='conductor-1')
    yield
    s.node(1, reservation=None)


# The release of node 1, which ``host2`` admits as well.


@case('release', 'record_exists')
def _release_record_exists(s: TestGates) -> Story:
    s.operator('DELETE FROM compute_nodes')
    hint = yield
    s.carry_out(hint)
    s.settle()


@case('release', 'owner_registered')
def _owner_registered(s: TestGates) -> Story:
    s.node(1, shard='b')
    s.operator(
        "UPDATE services SET registered_at = NULL, settings = '' "
        "WHERE host = 'host1'"
    )
    del s.alive['host1']
    hint = yield
    s.carry_out(hint, HOST='host2')


@case('release', 'no_instance')
def _release_no_instance(s: TestGates) -> Story:
    s.node(1, instance_uuid=s.instance(1))
    s.settle()
    s.node(1, shard='b')
    hint = yield
    site.hand_over(s, hint, 'host1', HOST='host2')
    s.failing = lambda kind: {}  # type: ignore[method-assign]
    s.assertEqual({1: 'host2'}, s.owners())


@case('release', 'no_operation_in_progress')
def _release_no_operation(s: TestGates) -> Story:
    s.node(1, reservation='conductor-1')
    yield
    s.node(1, reservation=None)


@case('release', 'not_given_back')
def _not_given_back(s: TestGates) -> Story:
    hint = yield
    s.carry_out(
        f'{hint} --override destination_admits --reason CHG-42', HOST='host2'
    )
    s.assertEqual({1: 'host2'}, s.owners())
    s.failing = lambda kind: {}  # type: ignore[method-assign]


# The deletion of the record of node 1.


@case('delete', 'node_is_gone')
def _node_is_gone(s: TestGates) -> Story:
    s.kill('host1')
    yield
    del s.ironic.nodes[NODE]


@case('delete', 'no_instance')
def _no_instance(s: TestGates) -> Story:
    s.node(1, instance_uuid=s.instance(1))
    s.settle()
    del s.ironic.nodes[NODE]
    hint = yield
    s.carry_out(hint, TEXT='scrapped')


@case('delete', 'no_allocation')
def _no_allocation(s: TestGates) -> Story:
    s.kill('host1')
    del s.ironic.nodes[NODE]
    s.fill_placement(1)
    s.providers.providers[NODE].consumers.add('consumer')
    yield
    s.providers.providers[NODE].consumers.clear()


@case('delete', 'still_owner')
def _still_owner(s: TestGates) -> Story:
    record = model.ComputeNode(NODE)
    (gate,) = (g for g in deletion_gates.GATES if g.code == 'still_owner')
    result = gate.result(record, 'another')
    real = s.failing
    s.failing = lambda kind: {  # type: ignore[method-assign]
        'still_owner': result.hint
    }
    hint = yield
    s.carry_out(hint)
    s.failing = real  # type: ignore[method-assign]


@case('delete', 'no_mass_loss')
def _no_mass_loss(s: TestGates) -> Story:
    for number in range(2, 31):
        s.node(number, shard='a')
    s.settle()
    for number in range(1, 13):
        del s.ironic.nodes[world.uuid(number)]
    hint = yield
    s.assertIn('mass_loss_share = 1', hint)
    s.wired.limits = type(s.wired.limits)(0.0, 1.0, 3)


@case('delete', 'sees_all_nodes')
def _sees_all_nodes(s: TestGates) -> Story:
    del s.ironic.nodes[NODE]
    s.node(2, shard='a')
    hidden = s.ironic._within
    s.ironic._within = lambda scope: []  # type: ignore[method-assign]
    yield
    s.ironic._within = hidden  # type: ignore[method-assign]


# The deletion of ``host1``.


def _drain(s: TestGates, hint: str) -> None:
    s.kill('host1')
    s.node(1, shard='b')
    s.carry_out(hint, first=len(site.commands_of(hint)) - 1)


@case('service', 'no_compute_nodes')
def _no_compute_nodes(s: TestGates) -> Story:
    hint = yield
    s.kill('host1')
    s.node(1, shard='b')
    s.carry_out(hint)


@case('service', 'no_instances')
def _no_instances(s: TestGates) -> Story:
    s.node(1, instance_uuid=s.instance(1))
    s.settle()
    hint = yield
    s.run_command('service set host1 --down --yes')
    _drain(s, hint)


@case('service', 'not_alive')
def _not_alive(s: TestGates) -> Story:
    yield
    s.kill('host1')


# The failover of ``host1``.


@case('failover', 'not_forced_down')
def _not_forced_down(s: TestGates) -> Story:
    s.run_command('service set host1 --down --yes')
    hint = yield
    s.carry_out(hint)


@case('failover', 'standby_alive')
def _standby_alive(s: TestGates) -> Story:
    yield
    service.Service('host1', A, s.shared).beat()


def _test_of(kind: str, gate: str) -> Callable[[TestGates], None]:
    return lambda self: self.play(kind, gate)


for _kind, _gate in CASES:
    setattr(TestGates, f'test_{_kind}_{_gate}', _test_of(_kind, _gate))
