"""The hint of every finding of ``check``, carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, model, reservations
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.moves import Move, NodeMove, Trial
from ironic_ownership.contracts.records import UNLIMITED, Budget, Report
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.engine.checks import host_problems, runner
from ironic_ownership.engine.host import refresh_loop
from ironic_ownership.engine.placement import inventory_diff
from tests.unit.engine import service, world
from tests.unit.engine.service import LIMITS
from tests.unit.hints import site
from tests.unit.hints.site import (
    Step,
    carry_out,
    conductors,
    hand_over,
    kill,
    lose,
    node,
    operator,
    owned_by,
    patch,
    restart,
    run,
    says,
    serve,
    settle,
    stop,
    unpatch,
)

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
GROUP, RING = world.runs(conductor_group='g'), world.RING
PAIR = world.runs(peer_list=('host1', 'host2'))
NODE, INSTANCE = world.uuid(1), world.uuid(901)
BOTH = [serve('host1', A), serve('host2', B)]
ORDER = 'service set host1 --take-over-deployed-after 1 --reason x --yes'


def _on(machine: str, settings: model.MemberSettings) -> model.MemberSettings:
    process = model.ProcessInfo(machine, 1, '1')
    return dataclasses.replace(settings, process=process)


def _report(s: TestFindings, *found: Condition) -> None:
    """Store conditions of host1, as its process does."""
    one = s.alive['host1'].member
    s.records.report_conditions(
        'host1', one.incarnation, found, interval=60, at=s.shared.clock()
    )


def _store(s: TestFindings) -> None:
    """Store the conditions that host1 has."""
    _report(s, *s.alive['host1'].conditions.of_loops(list(Loop), ()))


def _nodes(last: int) -> Step:
    return lambda s: [s.node(number) for number in range(1, last + 1)]


# Nodes and owners.


def _start_late(s: TestFindings) -> None:
    """Start host2, which has not refreshed yet."""
    s.late = s.start('host2', PAIR)
    s.alive['host1'].beat()


def _let_it_refresh(s: TestFindings) -> None:
    s.alive['host2'], s.settings['host2'] = s.late, PAIR


def _ironic_is_empty(s: TestFindings) -> None:
    s.before = dict(s.ironic.nodes)
    s.ironic.nodes.clear()


def _unregister(s: TestFindings) -> None:
    # SQLAlchemy takes a colon in a text for a parameter.
    empty = model.MemberSettings(()).to_json().replace(':', '\\:')
    s.operator(
        f"UPDATE services SET registered_at = NULL, settings = '{empty}' "
        "WHERE host = 'host1'"
    )


OWNER_STATES: dict[str, Sequence[Step]] = {
    'dead': [kill('host1')],
    'away': [stop('host1', grace=3600)],
    'gone': [
        kill('host1'),
        operator("DELETE FROM services WHERE host = 'host1'"),
    ],
    'unregistered': [kill('host1'), _unregister],
    'forced_down': [run('service set host1 --down --yes')],
    'disabled': [run('service set host1 --disable --yes')],
}


def _give_to_host2(s: TestFindings) -> None:
    """Move the node, which always works; gates show the other ways."""
    commands = site.commands_of(s.hint)
    s.node(1, shard='b')
    if 'host1' in s.alive and s.records.service('host1').disabled:
        s.stop('host1')
    first = next(
        place
        for place, command in enumerate(commands)
        if '--down' in command or 'move' in command
    )
    s.carry_out(first=first, UUID=NODE, HOST='host2')


def _owner(state: str, instance: str | None) -> tuple[list[Step], list[Step]]:
    return [
        node(1, shard='a', instance_uuid=instance),
        *(*BOTH, *OWNER_STATES[state], settle()),
    ], [_give_to_host2]


def _conductor_is_back(s: TestFindings) -> None:
    s.says('c1')
    s.conductors(True, True)
    for _ in range(4):
        s.settle()


def _enforcement(state: Enforcement) -> Step:
    return lambda s: setattr(s.ironic, 'middleware', state)


def _require_enforcement(s: TestFindings) -> None:
    s.wired.shared_key = 'k' * 32
    for state in Enforcement:
        s.ironic.middleware = state
        found = 'not_enforced' in s.findings()
        s.assertEqual(state is not Enforcement.ENFORCED, found)
    s.ironic.middleware = Enforcement.ABSENT


# What services store of themselves.


def _delay(s: TestFindings) -> None:
    s.alive['host1'].reconciler.budget = Budget(rate=1)
    s.serve('host2', RING)
    _refresh_with_notes(s)


def _permit_more(s: TestFindings) -> None:
    s.says('handover_rate')
    shown = s.rows('service show host1')
    s.assertRegex(shown['last_refresh'], r'nodes? waits? for the budget')
    (waits,) = [row['waits'] for row in shown['loops'] if row['waits']]
    s.assertRegex(waits, r'^\d changes? of owner waiting .*at least \d minute')
    s.alive['host1'].reconciler.budget = UNLIMITED
    s.settle()
    _refresh_with_notes(s)


def _refresh_with_notes(s: TestFindings) -> None:
    one = s.alive['host1']
    summary = one.refresh()
    wait = refresh_loop.wait_for(summary, one.reconciler.budget, 60.0)
    one.reconciler.operator_log.delayed(summary.delayed, wait)
    one.conditions.succeeded(Loop.REFRESH, did=refresh_loop.sentence(summary))
    _store(s)


def _loop_of(code: str) -> Loop:
    """Return the loop whose failure has this code."""
    for loop, known in host_problems._CODES.items():
        if known[0] == code:
            return Loop(loop)
    return Loop.CREDENTIAL


def _stalled(code: str) -> tuple[list[Step], list[Step]]:
    loop = _loop_of(code)
    cause = code if code in host_problems._BY_CONDITION else 'x'
    advised = ['retries automatically']
    if loop is Loop.CREDENTIAL:
        # It is checked at the start and at a reload only.
        advised = ['system_scope = all', 'restart the service', 'SIGHUP']

    def fails(s: TestFindings) -> None:
        since = s.shared.clock() - 600
        _report(s, Condition(loop, None, cause, 'server is too small', since))

    def works(s: TestFindings) -> None:
        _report(s, Condition(loop, s.shared.clock()))

    return [serve('host1'), fails], [says(*advised), works]


def _lose_many(s: TestFindings) -> None:
    for number in range(1, 13):
        s.lose(number)
    s.settle()
    _store(s)


def _permit_the_loss(s: TestFindings) -> None:
    s.says('mass_loss_share = 1')
    missing = s.alive['host1'].missing_nodes
    missing.limits = dataclasses.replace(LIMITS, mass_loss_share=1.0)
    missing.ask_all_again()
    s.settle()
    s.assertEqual(18, len(s.owners()))
    _store(s)


def _reconfigure(s: TestFindings) -> None:
    s.says('SIGHUP')
    tuning = service.tuning_of(s.settings['host1'])
    s.alive['host1'].refresher.reconfigure(tuning)
    _store(s)


def _skew(s: TestFindings) -> None:
    skew = s.alive['host1'].refresher._clock_skew
    skew.observe(model.View(ahead={'host1': 9.0}))
    _store(s)


def _configuration_error(error: str | None) -> Step:
    return lambda s: s.alive['host1'].refresher.report_config_error(
        error, store=True
    )


def _run_refresh_loop(s: TestFindings) -> None:
    loop = s.alive['host1'].process.refresh_loop
    loop.wake()
    loop.run_step()
    _store(s)


def _standby(machine: str) -> Step:
    def start(s: TestFindings) -> None:
        s.alive['standby'] = s.start('host1', _on(machine, A))

    return start


def _host1_alone(s: TestFindings) -> None:
    """See that host2 is not found: it serves no node."""
    s.assertEqual(['host1'], s.findings()['single_machine']['subjects'])


def _lose_taken_nodes(s: TestFindings) -> None:
    at = s.shared.clock()
    s.operator('UPDATE services SET fence_epoch = 1, fence_seen_at = 1')
    _report(s, Condition(Loop.ORDERS, at, 'nodes_taken', 'lost', at - 600))


def _give_the_order_again(s: TestFindings) -> None:
    # What its service reports then: see ``test_standing_orders``.
    s.carry_out(first=1, HOST='host1')
    s.assertIsNone(s.records.services()[0].fence_seen_at)
    _report(s, Condition(Loop.ORDERS, s.shared.clock()))


def _enforced(s: TestFindings) -> None:
    s.wired.shared_key = 'k' * 32
    s.ironic.middleware = Enforcement.ENFORCED


def _report_inventory(s: TestFindings) -> None:
    s.wired.reports_inventory = True


def _report_to_placement(s: TestFindings) -> None:
    (record,) = s.records.compute_nodes()
    wanted = inventory_diff.wanted(s.ironic.nodes[NODE], record.unavailable)
    epoch = s.alive['host1'].fence.epoch()
    s.records.apply('host1', epoch, [Report(NODE, wanted.digest)])


def _begin_reservation(s: TestFindings) -> None:
    SqlReservations(s.database).begin(
        reservations.Reservation(
            *('res-1', INSTANCE, 'host1', Request(INSTANCE, 'host1'))
        )
    )


# What leads to a finding, and what its hint asks for.
CASES: dict[str, tuple[Sequence[Step], Sequence[Step]]] = {
    # Nodes without an owner, or with more than one that wants it.
    'unowned': (
        [node(1, shard='b'), serve('host1', A)],
        [carry_out(UUID=NODE), serve('host2', B)],
    ),
    'unclaimed': ([serve('host1'), node(1)], [settle()]),
    'contested': (
        [
            *(serve('host1', A), serve('host2', GROUP)),
            node(1, shard='a', conductor_group='g'),
        ],
        [restart('host2', B)],
    ),
    'conflict': ([serve('host1'), serve('host2'), node(1)], [stop('host2')]),
    'released_with_instance': (
        [
            *(node(1), serve('host1', RING), serve('host2', RING), settle()),
            stop('host2'),
            operator(
                'UPDATE compute_nodes SET host = NULL, reason = '
                "'released', released_by = 'host2'"
            ),
            node(1, instance_uuid=INSTANCE),
        ],
        [carry_out(UUID=NODE, HOST='host1', TEXT='gone')],
    ),
    'misplaced': (
        [_nodes(6), serve('host1', PAIR), _start_late],
        [_let_it_refresh],
    ),
    'record_keeps': (
        [node(1, shard='a'), *BOTH, node(1, shard='b'), settle()],
        [carry_out(UUID=NODE), owned_by('host2')],
    ),
    'filtered': (
        [
            node(1, shard='a', instance_uuid=INSTANCE),
            *(serve('host1', A), node(1, shard='b'), serve('host2', B)),
        ],
        [hand_over('host1', UUID=NODE, HOST='host2')],
    ),
    'shard_without_service': ([node(1, shard='a')], [serve('host1', A)]),
    'conductor_group_without_service': (
        [node(1, conductor_group='g')],
        [serve('host1', GROUP)],
    ),
    'shard_without_nodes': (
        [serve('host1', A), node(1)],
        [node(1, shard='a')],
    ),
    'shard_case': (
        [node(1, shard='A'), serve('host1', A)],
        [restart('host1', world.runs(shard_key='A'))],
    ),
    # Records whose node or owner is gone.
    'orphan': (
        [node(1), serve('host1'), kill('host1'), lose(1)],
        [carry_out(UUID=NODE)],
    ),
    'orphan_with_instance': (
        [
            *(node(1, instance_uuid=INSTANCE), serve('host1')),
            *(lose(1), settle()),
        ],
        [
            carry_out(UUID=NODE, TEXT='scrapped'),
            lambda s: s.shared.clock.elapse(service.RECHECK),
            owned_by(None),
        ],
    ),
    'orphan_not_verified': (
        [_nodes(30), serve('host1'), _ironic_is_empty],
        [lambda s: s.ironic.nodes.update(s.before)],
    ),
    'not_listed': (
        [
            node(1),
            lambda s: setattr(s.wired, 'scope', model.Scope(shard='a')),
        ],
        [lambda s: setattr(s.wired, 'scope', model.Scope())],
    ),
    **{f'owner_{state}': _owner(state, None) for state in OWNER_STATES},
    **{
        f'owner_{state}_with_instance': _owner(state, INSTANCE)
        for state in OWNER_STATES
    },
    # Conductors.
    'no_conductor': (
        [conductors()],
        [lambda s: setattr(s.ironic, 'workers', None)],
    ),
    'not_enforced': (
        [_require_enforcement],
        [_enforcement(Enforcement.ENFORCED)],
    ),
    'conductors_unknown': (
        [
            lambda s: s.ironic.failures.update(
                conductors=exceptions.IronicError('403')
            )
        ],
        [lambda s: s.ironic.failures.clear()],
    ),
    'out_of_service': (
        [node(1), serve('host1'), conductors(False, True)],
        [_conductor_is_back],
    ),
    'out_of_service_unowned': (
        [node(1), conductors(False, True)],
        [_conductor_is_back],
    ),
    # Settings.
    'settings_differ': (
        [
            serve('host1', PAIR),
            serve('host2', world.runs(peer_list=('host2',))),
        ],
        [
            says('send SIGHUP'),
            lambda s: s.alive['host2'].member.change_settings(PAIR),
        ],
    ),
    **{
        code: (
            [
                *(serve('host1', settings), serve('host2', settings)),
                *(node(1, shard='a'), node(2, shard='b')),
            ],
            [restart('host1', A), restart('host2', B)],
        )
        for code, settings in (
            ('filter_shared', world.ALL),
            ('shard_shared', A),
        )
    },
    'settings_case': (
        [
            *(node(1, shard='a'), serve('host1', A)),
            serve('host2', world.runs(shard_key='A')),
        ],
        [restart('host2', A)],
    ),
    'peer_unknown': ([serve('host1', PAIR)], [serve('host2', PAIR)]),
    'view_differs': (
        [
            serve('host1'),
            operator("UPDATE services SET view_checksum = 'other'"),
        ],
        [restart('host1')],
    ),
    'settings_unreadable': (
        [serve('host1', world.UNKNOWN)],
        [restart('host1', world.ALL)],
    ),
    'paused': (
        [serve('host1'), run('pause --for 2h --reason cables --yes')],
        [carry_out()],
    ),
    'changes_delayed': (
        [_nodes(12), serve('host1', RING), _delay],
        [_permit_more],
    ),
    'imbalance': (
        [
            *(
                node(n, shard='a', instance_uuid=world.uuid(900 + n))
                for n in range(1, 13)
            ),
            *(serve('host1', RING), serve('host2', RING)),
        ],
        [carry_out(), restart('host1', A), restart('host2', B)],
    ),
    # What services store of themselves.
    **{
        code: _stalled(code)
        for code in sorted(host_problems.CODES - {'nodes_taken'})
    },
    'options_differ': (
        [
            serve('host1', world.advertised(A, 20.0, 'x = 1', 'y = 2')),
            serve('host2', world.advertised(B, 30.0, 'x = 1')),
        ],
        [restart('host2', world.advertised(B, 20.0, 'x = 1', 'y = 2'))],
    ),
    'standby_on_same_machine': (
        [serve('host1', _on('one', A)), _standby('one')],
        [
            lambda s: s.alive.pop('standby').member.leave(0.0),
            _standby('two'),
        ],
    ),
    'single_machine': (
        [
            *(node(1, shard='a'), serve('host1', _on('one', A))),
            lambda s: s.assertNotIn('single_machine', s.findings()),
            serve('host2', _on('two', B)),
        ],
        [_host1_alone, _standby('two')],
    ),
    'standing_order': (
        [
            *(_enforced, serve('host1'), serve('host2'), run(ORDER)),
            lambda s: s.assertNotIn('standing_order', s.findings()),
            kill('host1'),
        ],
        [carry_out()],
    ),
    'nodes_taken': (
        [_enforced, serve('host1'), run(ORDER), _lose_taken_nodes],
        [_give_the_order_again],
    ),
    'mass_loss': (
        [_nodes(30), serve('host1'), _lose_many],
        [_permit_the_loss],
    ),
    'conditions_outdated': (
        [
            *(serve('host1'), _report),
            operator(
                'UPDATE condition_reports SET reported_at = reported_at - 999'
            ),
        ],
        [restart('host1'), _report],
    ),
    'config_error': (
        [
            *(serve('host1'), _configuration_error('unknown option')),
            settle(),
        ],
        [_configuration_error(None)],
    ),
    'plugin_fault': (
        [
            node(1),
            patch(world.PickyPolicy, 'admits', side_effect=LookupError('its')),
            serve('host1', world.runs(picky='fake')),
            _run_refresh_loop,
        ],
        [unpatch(), _run_refresh_loop],
    ),
    'records_rewound': (
        [
            serve('host1'),
            operator('UPDATE services SET revision = revision - 1'),
            *(settle(), _store),
        ],
        [_reconfigure],
    ),
    'clock_skew': ([serve('host1'), _skew], [settle(), _store]),
    'reservation_left': (
        [serve('host1', world.RESERVING), _begin_reservation, kill('host1')],
        [carry_out(ID='res-1')],
    ),
    # Placement.
    'placement_behind': (
        [_report_inventory, node(1, resource_class='gold'), serve('host1')],
        [_report_to_placement],
    ),
    'no_resource_class': (
        [_report_inventory, node(1), serve('host1')],
        [says('--resource-class'), node(1, resource_class='gold')],
    ),
}


class TestFindings(site.Site):
    """One test for each code, made from ``CASES``.

    The hints of a Nova cell are carried out in ``test_cli_nova``: they need a
    cell.
    """

    def test_every_finding_has_a_case(self) -> None:
        self.assertEqual(runner.CODES, CASES.keys())

    def test_note_alone_changes_no_result(self) -> None:
        for number, settings in ((1, A), (2, B)):
            self.node(number, shard='ab'[number - 1])
            self.serve(f'host{number}', _on(f'machine{number}', settings))
        self.settle()
        self.assertEqual({'single_machine'}, {*self.findings()})
        self.assertEqual(0, self.run_command('check')[0])
        self.assertEqual('ok', self.rows('overview')['state'])

    def test_node_that_an_interrupted_move_holds(self) -> None:
        hint = self.hold('unclaimed', [*BOTH, node(1, shard='b')])
        self.assertIn('refresh, or once it is back', hint)

    def test_node_that_it_holds_from_a_stopped_service(self) -> None:
        both = serve('host1', RING), serve('host2', RING), settle()
        self.hold('released_with_instance', [*both, stop('host1')])

    def hold(self, code: str, leads: Sequence[Step]) -> str:
        """Let a move hold a node, see the finding, and resume the move."""
        self.node(1, shard='a', instance_uuid=INSTANCE)
        self.take(leads)
        # Its trial failed, and the process died on the way back to host2.
        self.wired.moves.plan(
            Move('req-trial', 'host1', 'operator'),
            [
                NodeMove(
                    *(NODE, 'host2', 1, INSTANCE),
                    detail='trial failed',
                    trial=Trial.BACK,
                )
            ],
        )
        self.operator(
            "UPDATE compute_nodes SET host = NULL, released_by = 'host1', "
            "held_by = 'req-trial', held_until = 9e9"
        )
        self.settle()
        hint: str = self.findings()[code]['hint']
        (row,) = self.rows(site.commands_of(hint)[0])
        self.run_command(f'move resume {row["request_id"]} --yes')
        self.owned_by('host2')
        self.assertNotIn(code, self.findings())
        return hint

    def play(self, code: str) -> None:
        leads, remedy = CASES[code]
        self.take(leads)
        found = self.findings()
        self.assertIn(code, found)
        self.hint = found[code]['hint']
        self.assertTrue(self.hint)
        # One node or service, and a sentence for several.
        plural = r'^1 .* them$|^host\d (have|name|send) |\b1 [a-z]+s\b'
        self.assertNotRegex(found[code]['what'], plural)
        self.take(remedy)
        self.settle()
        self.assertNotIn(code, self.findings())


site.play_each(TestFindings, CASES, 'hint_of_{}')
