"""The hint of every gate, carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

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
from tests.unit.hints.site import (
    Step,
    carry_out,
    hand_over,
    kill,
    lose,
    node,
    operator,
    owned_by,
    patch,
    run,
    serve,
    settle,
    unpatch,
)

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
NODE = world.uuid(1)
INSTANCE, OTHER = world.uuid(901), world.uuid(902)
DOWN = 'service set host1 --down --yes'
KINDS: dict[str, Sequence[Gate[Any]]] = {
    'move': move_gates.MOVE,
    'release': move_gates.RELEASE,
    'delete': deletion_gates.GATES,
    'service': change_services.DELETE,
    'failover': change_services.FAIL_OVER,
}


def _override(s: TestGates) -> None:
    """Move the node with the option that the hint names."""
    s.run_command(DOWN)
    _, _, option = s.hint.partition('Otherwise ')
    option = option.partition(':')[0].replace('TEXT', 'gone')
    s.carry_out(f'{site.PROGRAM} compute node move {NODE} --to host2 {option}')
    s.settle()


def _move_against_the_policies(s: TestGates) -> None:
    s.carry_out(
        f'{s.hint} --override destination_admits --reason CHG-42', HOST='host2'
    )


def _unregister(s: TestGates) -> None:
    s.operator(
        "UPDATE services SET registered_at = NULL, settings = '' "
        "WHERE host = 'host1'"
    )
    del s.alive['host1']


def _lose_many(s: TestGates) -> None:
    for number in range(2, 31):
        s.node(number, shard='a')
    s.settle()
    for number in range(1, 13):
        s.lose(number)


def _permit_the_loss(s: TestGates) -> None:
    s.assertIn('mass_loss_share = 1', s.hint)
    s.wired.limits = type(s.wired.limits)(0.0, 1.0, 3)


def _allocate(s: TestGates) -> None:
    s.fill_placement(1)
    s.providers.providers[NODE].consumers.add('consumer')


DEPLOYED = [node(1, instance_uuid=INSTANCE), settle()]
GONE = [kill('host1'), lose(1)]
RECORD_EXISTS = (
    [operator('DELETE FROM compute_nodes')],
    [carry_out(), settle()],
)
IN_PROGRESS = [node(1, reservation='conductor-1')], [node(1, reservation=None)]

# What makes a gate fail, and what its hint asks for.
CASES: dict[tuple[str, str], tuple[Sequence[Step], Sequence[Step]]] = {
    # A move of node 1 to ``host2``.
    ('move', 'record_exists'): RECORD_EXISTS,
    # Next to a real cell their hints are in the tests of the Nova commands.
    **{
        ('move', code): (
            [patch(SqlMoves, 'objections', return_value={NODE: f'{code}: x'})],
            [unpatch()],
        )
        for code in ('is_ironic', 'cell_service', 'cell_row')
    },
    ('move', 'source_stopped'): (DEPLOYED, [kill('host1'), carry_out()]),
    ('move', 'destination_exists'): (
        [kill('host2'), operator("DELETE FROM services WHERE host = 'host2'")],
        [serve('host2', B)],
    ),
    ('move', 'destination_alive'): ([kill('host2')], [serve('host2', B)]),
    ('move', 'destination_enabled'): (
        [run('service set host2 --disable --down --yes')],
        [carry_out()],
    ),
    ('move', 'destination_admits'): ([], [carry_out(), node(1, shard='b')]),
    ('move', 'node_exists'): (GONE, [carry_out(), owned_by(None)]),
    ('move', 'at_most_one_instance'): (
        [
            *DEPLOYED,
            operator(
                'INSERT INTO instances (uuid, node_uuid, host, created_at) '
                f"VALUES ('{OTHER}', '{NODE}', 'host1', 0)"
            ),
        ],
        [operator(f"DELETE FROM instances WHERE uuid = '{OTHER}'")],
    ),
    ('move', 'instance_agrees'): (
        [kill('host1'), node(1, shard='b', instance_uuid=INSTANCE)],
        [_override],
    ),
    ('move', 'no_operation_in_progress'): IN_PROGRESS,
    # The release of node 1, which ``host2`` admits as well.
    ('release', 'record_exists'): RECORD_EXISTS,
    ('release', 'owner_registered'): (
        [node(1, shard='b'), _unregister],
        [carry_out(HOST='host2')],
    ),
    ('release', 'no_instance'): (
        [*DEPLOYED, node(1, shard='b')],
        [hand_over('host1', HOST='host2'), owned_by('host2')],
    ),
    ('release', 'no_operation_in_progress'): IN_PROGRESS,
    ('release', 'node_exists'): (GONE, [carry_out(), owned_by(None)]),
    ('release', 'not_given_back'): (
        [],
        [_move_against_the_policies, owned_by('host2')],
    ),
    # The deletion of the record of node 1.
    ('delete', 'node_is_gone'): ([kill('host1')], [lose(1)]),
    ('delete', 'no_instance'): (
        [*DEPLOYED, lose(1)],
        [carry_out(TEXT='scrapped')],
    ),
    ('delete', 'no_allocation'): (
        [*GONE, _allocate],
        [lambda s: s.providers.providers[NODE].consumers.clear()],
    ),
    ('delete', 'no_mass_loss'): ([_lose_many], [_permit_the_loss]),
    ('delete', 'sees_all_nodes'): (
        [
            *(lose(1), node(2, shard='a')),
            lambda s: s.patch(s.ironic, '_within', return_value=[]),
        ],
        [unpatch()],
    ),
    # The deletion of ``host1``, and its failover.
    ('service', 'no_compute_nodes'): (
        [],
        [kill('host1'), node(1, shard='b'), carry_out()],
    ),
    ('service', 'no_instances'): (
        DEPLOYED,
        [run(DOWN), kill('host1'), node(1, shard='b'), carry_out(first=-1)],
    ),
    ('service', 'not_alive'): ([], [kill('host1')]),
    ('failover', 'not_forced_down'): ([run(DOWN)], [carry_out()]),
    ('failover', 'standby_alive'): (
        [],
        [lambda s: service.Service('host1', A, s.shared).beat()],
    ),
}
ENDS = {
    ('move', 'node_exists'),
    *(('release', code) for code in ('node_exists', 'no_instance')),
    ('release', 'not_given_back'),
}
"""Cases in which the change is done then: no gate is evaluated again."""

NEVER_SHOWN = {('move', 'not_same_service'), ('delete', 'still_owner')}
"""Gates that a command does not get as far as to show."""


class TestGates(site.Site):
    """``host1`` and ``host2`` share nothing; node 1 is of ``host1``."""

    def test_every_gate_has_a_case(self) -> None:
        every = {(k, g.code) for k, gates in KINDS.items() for g in gates}
        self.assertEqual(every, CASES.keys() | NEVER_SHOWN)

    def setUp(self) -> None:
        super().setUp()
        self.node(1, shard='a')
        self.serve('host1', A)
        self.serve('host2', B)

    def failing(self, kind: str) -> dict[str, str]:
        """Return the hints of the gates that do not pass."""
        return getattr(self, f'failing_{kind}')()

    def failing_move(self) -> dict[str, str]:
        (row,) = self.rows(f'compute node move {NODE} --to host2 --dry-run')
        return {
            g['gate']: g['hint']
            for g in row['gates']
            if g['result'] == 'failed'
        }

    def failing_release(self) -> dict[str, str]:
        (row,) = self.rows(f'compute node release {NODE} --dry-run')
        gates = row['failed_gates']
        hints = (row['hint'] or '').split('; ')
        if len(gates) != len(hints):  # one that has a semicolon itself
            hints = [row['hint']] * len(gates)
        return dict(zip(gates, hints, strict=True)) if gates else {}

    def failing_delete(self) -> dict[str, str]:
        found = self.rows(f'compute node check-delete {NODE}')
        return {row['gate']: row['hint'] for row in found if row['hint']}

    def failing_service(self) -> dict[str, str]:
        found = self.rows('service delete host1 --dry-run')
        return {row['gate']: row['hint'] for row in found if not row['passed']}

    def failing_failover(self) -> dict[str, str]:
        operation = change_services.FailOverService(
            self.records, self.wired.backend
        )
        found = operation.propose('host1').gates
        return {g.gate: g.hint for g in found if not g.passed}

    def test_gate_that_is_unknown_has_a_hint(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        for kind in ('move', 'delete'):
            hints = self.failing(kind)
            self.assertTrue(hints)
            self.assertTrue(all(hints.values()), hints)
        self.ironic.fail_with = None
        self.assertNotIn('node_exists', self.failing('move'))

    def test_nodes_that_ironic_cannot_count(self) -> None:
        self.lose(1)
        self.ironic.failures['shard_counts'] = exceptions.IronicError('403')
        self.shared.clock.elapse(service.RECHECK)
        self.owned_by('host1')
        hint = self.failing('delete')['sees_all_nodes']
        self.assertIn('trust_credential = true', hint)
        self.wired.limits = dataclasses.replace(
            self.wired.limits, trusts_credential=True
        )
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
        self.owned_by(None)

    def test_move_to_the_owner(self) -> None:
        # A node that the destination owns is unchanged, and never refused.
        snapshot = ChangeSnapshot(
            {},
            model.View.of(()),
            {NODE: model.ComputeNode(NODE, 'host1')},
            {},
            self.ironic.nodes,
        )
        case = Case(OwnerChange('host1', snapshot, world.interpret), NODE)
        found = {g.gate: g.hint for g in move_gates.evaluate(case)}
        self.assertTrue(found['not_same_service'])

    def test_deletion_by_another_than_the_owner(self) -> None:
        (gate,) = (g for g in deletion_gates.GATES if g.code == 'still_owner')
        result = gate.result(model.ComputeNode(NODE), 'another')
        self.carry_out(result.hint)
        self.assertNotIn('still_owner', self.failing('delete'))

    def play(self, kind: str, gate: str) -> None:
        fails, remedy = CASES[kind, gate]
        self.take(fails)
        self.hint = self.failing(kind).get(gate) or ''
        self.assertTrue(self.hint, self.failing(kind))
        self.take(remedy)
        known = NODE in {one.uuid for one in self.records.compute_nodes()}
        if (kind, gate) not in ENDS and (kind != 'delete' or known):
            self.assertNotIn(gate, self.failing(kind))


site.play_each(TestGates, CASES, '{}_{}')
