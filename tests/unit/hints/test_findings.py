"""The hint of every finding of ``check``, carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

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

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
PAIR = world.runs(peer_list=('host1', 'host2'))
Row = dict[str, Any]
Story = Generator[None, Row, None]
CASES: dict[str, Callable[[TestFindings], Story]] = {}


def case(
    *codes: str,
) -> Callable[[Callable[..., Story]], Callable[..., Story]]:
    """Register what leads to a finding, and what its hint asks for.

    A story yields when the problem is there, gets the finding, and ends when
    its hint is carried out.
    """

    def register(story: Callable[..., Story]) -> Callable[..., Story]:
        for code in codes:
            CASES[code] = (
                story
                if len(codes) == 1
                else lambda s, code=code: story(s, code)
            )
        return story

    return register


class TestFindings(site.Site):
    """One test for each code, made from ``CASES``.

    The hints of a Nova cell are carried out in ``test_cli_nova``: they need a
    cell.
    """

    def test_every_finding_has_a_case(self) -> None:
        self.assertEqual(runner.CODES, CASES.keys())

    def test_note_alone_changes_no_result(self) -> None:
        for number, shard in ((1, 'a'), (2, 'b')):
            self.node(number, shard=shard)
            settings = world.runs(shard_key=shard)
            self.serve(f'host{number}', _on(f'machine{number}', settings))
        self.settle()
        self.assertEqual({'single_machine'}, {*self.findings()})
        self.assertEqual(0, self.run_command('check')[0])
        self.assertEqual('ok', self.rows('overview')['state'])

    def test_node_that_an_interrupted_move_holds(self) -> None:
        uuid = self.node(1, shard='a', instance_uuid=self.instance(1))
        self.serve('host1', A)
        self.serve('host2', B)
        self.node(1, shard='b')
        # Its trial failed, and the process died on the way back to host2.
        move = Move('req-trial', 'host1', 'operator')
        self.wired.moves.plan(
            move,
            [
                NodeMove(
                    *(uuid, 'host2', 1, self.instance(1)),
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
        hint = self.findings()['unclaimed']['hint']
        (command,) = site.commands_of(hint)
        (row,) = self.rows(command)
        self.run_command(f'move resume {row["request_id"]} --yes')
        self.settle()
        self.assertNotIn('unclaimed', self.findings())
        self.assertEqual({1: 'host2'}, self.owners())

    def play(self, code: str) -> None:
        story = CASES[code](self)
        next(story)
        found = self.findings()
        self.assertIn(code, found)
        self.assertTrue(found[code]['hint'])
        with self.assertRaises(StopIteration):
            story.send(found[code])
        self.settle()
        self.assertNotIn(code, self.findings())


def _test_of(code: str) -> Callable[[TestFindings], None]:
    return lambda self: self.play(code)


# Nodes without an owner, or with more than one that wants it.


@case('unowned')
def _unowned(s: TestFindings) -> Story:
    uuid = s.node(1, shard='b')
    s.serve('host1', A)
    found = yield
    s.carry_out(found['hint'], UUID=uuid)
    s.serve('host2', B)


@case('unclaimed')
def _unclaimed(s: TestFindings) -> Story:
    s.serve('host1')
    s.node(1)
    yield
    s.settle()


@case('contested')
def _contested(s: TestFindings) -> Story:
    s.serve('host1', A)
    s.serve('host2', world.runs(conductor_group='g'))
    s.node(1, shard='a', conductor_group='g')
    yield
    s.restart('host2', B)


@case('conflict')
def _conflict(s: TestFindings) -> Story:
    s.serve('host1')
    s.serve('host2')
    s.node(1)
    yield
    s.stop('host2')


@case('released_with_instance')
def _released(s: TestFindings) -> Story:
    s.node(1)
    s.serve('host1', world.RING)
    s.serve('host2', world.RING)
    s.settle()
    owner = s.owners()[1]
    other = 'host1' if owner == 'host2' else 'host2'
    s.stop(str(owner))
    s.operator(
        'UPDATE compute_nodes SET host = NULL, released_by = '
        f"'{owner}', reason = 'released'"
    )
    s.node(1, instance_uuid=s.instance(1))
    found = yield
    s.carry_out(found['hint'], UUID=world.uuid(1), HOST=other, TEXT='gone')


@case('misplaced')
def _misplaced(s: TestFindings) -> Story:
    for number in range(1, 7):
        s.node(number)
    s.serve('host1', PAIR)
    late = s.start('host2', PAIR)
    s.alive['host1'].beat()
    yield
    s.alive['host2'] = late
    s.settings['host2'] = PAIR


@case('record_keeps')
def _record_keeps(s: TestFindings) -> Story:
    uuid = s.node(1, shard='a')
    s.serve('host1', A)
    s.serve('host2', B)
    s.node(1, shard='b')
    s.settle()
    found = yield
    s.carry_out(found['hint'], UUID=uuid)
    s.settle()
    s.assertEqual({1: 'host2'}, s.owners())


@case('filtered')
def _filtered(s: TestFindings) -> Story:
    uuid = s.node(1, shard='a', instance_uuid=s.instance(1))
    s.serve('host1', A)
    s.node(1, shard='b')
    s.serve('host2', B)
    found = yield
    site.hand_over(s, found['hint'], 'host1', UUID=uuid, HOST='host2')


@case('shard_without_service')
def _shard_without_service(s: TestFindings) -> Story:
    s.node(1, shard='a')
    yield
    s.serve('host1', A)


@case('conductor_group_without_service')
def _group_without_service(s: TestFindings) -> Story:
    s.node(1, conductor_group='g')
    yield
    s.serve('host1', world.runs(conductor_group='g'))


@case('shard_without_nodes')
def _shard_without_nodes(s: TestFindings) -> Story:
    s.serve('host1', A)
    s.node(1)
    yield
    s.node(1, shard='a')


@case('shard_case')
def _shard_case(s: TestFindings) -> Story:
    s.node(1, shard='A')
    s.serve('host1', A)
    yield
    s.restart('host1', world.runs(shard_key='A'))


# Records whose node or owner is gone.


@case('orphan')
def _orphan(s: TestFindings) -> Story:
    uuid = s.node(1)
    s.serve('host1')
    s.kill('host1')
    del s.ironic.nodes[uuid]
    found = yield
    s.carry_out(found['hint'], UUID=uuid)


@case('orphan_with_instance')
def _orphan_with_instance(s: TestFindings) -> Story:
    uuid = s.node(1, instance_uuid=s.instance(1))
    s.serve('host1')
    del s.ironic.nodes[uuid]
    s.settle()
    found = yield
    s.carry_out(found['hint'], UUID=uuid, TEXT='scrapped')
    s.shared.clock.elapse(service.RECHECK)
    s.settle()
    s.assertEqual({}, s.owners())


@case('orphan_not_verified')
def _orphan_not_verified(s: TestFindings) -> Story:
    for number in range(1, 31):
        s.node(number)
    s.serve('host1')
    nodes = dict(s.ironic.nodes)
    s.ironic.nodes.clear()
    yield
    s.ironic.nodes.update(nodes)


@case('not_listed')
def _not_listed(s: TestFindings) -> Story:
    s.node(1)
    s.wired.scope = model.Scope(shard='a')
    yield
    s.wired.scope = model.Scope()


@case(
    *(f'owner_{state}' for state in ('dead', 'away', 'gone', 'unregistered')),
    *('owner_dead_with_instance', 'owner_away_with_instance'),
    *('owner_gone_with_instance', 'owner_unregistered_with_instance'),
    *('owner_forced_down', 'owner_forced_down_with_instance'),
    *('owner_disabled', 'owner_disabled_with_instance'),
)
def _owner(s: TestFindings, code: str) -> Story:
    state = code.removesuffix('_with_instance').removeprefix('owner_')
    instance = s.instance(1) if code.endswith('_with_instance') else None
    uuid = s.node(1, shard='a', instance_uuid=instance)
    s.serve('host1', A)
    s.serve('host2', B)
    _OWNER_STATES[state](s)
    s.settle()
    found = yield
    # Moving the nodes always works; the other ways are tried below.
    commands = site.commands_of(found['hint'])
    s.node(1, shard='b')
    if state == 'disabled':
        s.stop('host1')
    first = next(
        place
        for place, command in enumerate(commands)
        if '--down' in command or 'move' in command
    )
    s.carry_out(found['hint'], first, UUID=uuid, HOST='host2')


def _delete_row(s: TestFindings) -> None:
    s.kill('host1')
    s.operator("DELETE FROM services WHERE host = 'host1'")


def _unregister(s: TestFindings) -> None:
    s.kill('host1')
    # SQLAlchemy takes a colon in a text for a parameter.
    empty = model.MemberSettings(()).to_json().replace(':', '\\:')
    s.operator(
        f"UPDATE services SET registered_at = NULL, settings = '{empty}' "
        "WHERE host = 'host1'"
    )


_OWNER_STATES: dict[str, Callable[[TestFindings], object]] = {
    'dead': lambda s: s.kill('host1'),
    'away': lambda s: s.stop('host1', grace=3600),
    'gone': _delete_row,
    'unregistered': _unregister,
    'forced_down': lambda s: s.run_command('service set host1 --down --yes'),
    'disabled': lambda s: s.run_command('service set host1 --disable --yes'),
}


# Conductors.


@case('no_conductor')
def _no_conductor(s: TestFindings) -> Story:
    s.ironic.workers = []
    yield
    s.ironic.workers = None


@case('not_enforced')
def _not_enforced(s: TestFindings) -> Story:
    s.wired.shared_key = 'k' * 32
    for state in Enforcement:
        s.ironic.middleware = state
        found = 'not_enforced' in s.findings()
        s.assertEqual(state is not Enforcement.ENFORCED, found)
    s.ironic.middleware = Enforcement.ABSENT
    yield
    s.ironic.middleware = Enforcement.ENFORCED


@case('conductors_unknown')
def _conductors_unknown(s: TestFindings) -> Story:
    s.ironic.failures['conductors'] = exceptions.IronicError('403')
    yield
    s.ironic.failures.clear()


@case('out_of_service', 'out_of_service_unowned')
def _out_of_service(s: TestFindings, code: str) -> Story:
    s.node(1)
    if code == 'out_of_service':
        s.serve('host1')
    s.ironic.workers = [
        model.Conductor('c1', '', frozenset({'fake'}), alive=False),
        model.Conductor('c2', '', frozenset({'other'})),
    ]
    found = yield
    s.assertIn('c1', found['hint'])
    s.ironic.workers[0] = model.Conductor('c1', '', frozenset({'fake'}))
    for _ in range(4):
        s.settle()


# Settings.


@case('settings_differ')
def _settings_differ(s: TestFindings) -> Story:
    s.serve('host1', PAIR)
    s.serve('host2', world.runs(peer_list=('host2',)))
    found = yield
    s.assertIn('send SIGHUP', found['hint'])
    s.alive['host2'].member.change_settings(PAIR)


@case('filter_shared', 'shard_shared')
def _shared(s: TestFindings, code: str) -> Story:
    settings = world.ALL if code == 'filter_shared' else A
    s.serve('host1', settings)
    s.serve('host2', settings)
    s.node(1, shard='a')
    s.node(2, shard='b')
    yield
    s.restart('host1', A)
    s.restart('host2', B)


@case('settings_case')
def _settings_case(s: TestFindings) -> Story:
    s.node(1, shard='a')
    s.serve('host1', A)
    s.serve('host2', world.runs(shard_key='A'))
    yield
    s.restart('host2', A)


@case('peer_unknown')
def _peer_unknown(s: TestFindings) -> Story:
    s.serve('host1', PAIR)
    yield
    s.serve('host2', PAIR)


@case('view_differs')
def _view_differs(s: TestFindings) -> Story:
    s.serve('host1')
    s.operator("UPDATE services SET view_checksum = 'other'")
    yield
    s.restart('host1')


@case('settings_unreadable')
def _settings_unreadable(s: TestFindings) -> Story:
    s.serve('host1', world.UNKNOWN)
    yield
    s.restart('host1', world.ALL)


@case('paused')
def _paused(s: TestFindings) -> Story:
    s.serve('host1')
    s.run_command('pause --for 2h --reason cables --yes')
    found = yield
    s.carry_out(found['hint'])


@case('changes_delayed')
def _delayed(s: TestFindings) -> Story:
    for number in range(1, 13):
        s.node(number)
    one = s.serve('host1', world.RING)
    one.reconciler.budget = Budget(rate=1)
    s.serve('host2', world.RING)
    _refresh_with_notes(s, one)
    found = yield
    s.assertIn('handover_rate', found['hint'])
    shown = s.rows('service show host1')
    s.assertRegex(shown['last_refresh'], r'nodes? waits? for the budget')
    (waits,) = [row['waits'] for row in shown['loops'] if row['waits']]
    s.assertRegex(waits, r'^\d changes? of owner waiting .*at least \d minute')
    one.reconciler.budget = UNLIMITED
    s.settle()
    _refresh_with_notes(s, one)


def _refresh_with_notes(s: TestFindings, one: service.Service) -> None:
    summary = one.refresh()
    wait = refresh_loop.wait_for(summary, one.reconciler.budget, 60.0)
    one.reconciler.operator_log.delayed(summary.delayed, wait)
    one.conditions.succeeded(Loop.REFRESH, did=refresh_loop.sentence(summary))
    _store(s, one)


@case('imbalance')
def _imbalance(s: TestFindings) -> Story:
    for number in range(1, 13):
        s.node(number, shard='a', instance_uuid=s.instance(number))
    s.serve('host1', world.RING)
    s.serve('host2', world.RING)
    found = yield
    s.carry_out(found['hint'])
    s.restart('host1', A)
    s.restart('host2', B)


# What services store of themselves.


def _report(s: TestFindings, host: str, *found: Condition) -> None:
    one = s.alive[host].member
    now = s.shared.clock()
    s.records.report_conditions(
        host, one.incarnation, found, interval=60, at=now
    )


@case(*sorted(host_problems.CODES - {'nodes_taken'}))
def _stalled(s: TestFindings, code: str) -> Story:
    by_condition = host_problems._BY_CONDITION
    loop = next(
        (
            loop
            for loop, known in host_problems._CODES.items()
            if known[0] == code
        ),
        Loop.CREDENTIAL,
    )
    s.serve('host1')
    since = s.shared.clock() - 600
    cause = code if code in by_condition else 'x'
    broken = Condition(str(loop), None, cause, 'server is not enough', since)
    _report(s, 'host1', broken)
    found = yield
    advised = ['retries automatically']
    if loop is Loop.CREDENTIAL:
        # It is checked at the start and at a reload only.
        advised = ['system_scope = all', 'restart the service', 'SIGHUP']
    for words in advised:
        s.assertIn(words, found['hint'])
    _report(s, 'host1', Condition(str(loop), s.shared.clock()))


def _on(machine: str, settings: model.MemberSettings) -> model.MemberSettings:
    process = model.ProcessInfo(machine, 1, '1')
    return dataclasses.replace(settings, process=process)


@case('standby_on_same_machine')
def _same_machine(s: TestFindings) -> Story:
    s.serve('host1', _on('one', A))
    standby = s.start('host1', _on('one', A))
    yield
    standby.member.leave(0.0)
    s.alive['standby'] = s.start('host1', _on('two', A))


@case('single_machine')
def _single_machine(s: TestFindings) -> Story:
    s.node(1, shard='a')
    s.serve('host1', _on('one', A))
    s.assertNotIn('single_machine', s.findings())
    s.serve('host2', _on('two', B))
    found = yield
    # The other one serves no node.
    s.assertEqual(['host1'], found['subjects'])
    s.alive['standby'] = s.start('host1', _on('two', A))


_GIVE = 'service set host1 --take-over-deployed-after 1 --reason x --yes'


@case('standing_order')
def _standing_order(s: TestFindings) -> Story:
    s.wired.shared_key = 'k' * 32
    s.ironic.middleware = Enforcement.ENFORCED
    s.serve('host1')
    s.serve('host2')
    s.run_command(_GIVE)
    s.assertNotIn('standing_order', s.findings())
    s.kill('host1')
    found = yield
    s.carry_out(found['hint'])


@case('nodes_taken')
def _nodes_taken(s: TestFindings) -> Story:
    s.wired.shared_key = 'k' * 32
    s.ironic.middleware = Enforcement.ENFORCED
    s.serve('host1')
    s.run_command(_GIVE)
    s.operator('UPDATE services SET fence_epoch = 1, fence_seen_at = 1')
    at = s.shared.clock()
    lost = Condition(Loop.ORDERS, at, 'nodes_taken', 'lost', at - 600)
    _report(s, 'host1', lost)
    found = yield
    # What its service reports then: see ``test_standing_orders``.
    s.carry_out(found['hint'], first=1, HOST='host1')
    s.assertIsNone(s.records.services()[0].fence_seen_at)
    _report(s, 'host1', Condition(Loop.ORDERS, at))


@case('mass_loss')
def _mass_loss(s: TestFindings) -> Story:
    for number in range(1, 31):
        s.node(number)
    one = s.serve('host1')
    for number in range(1, 13):
        del s.ironic.nodes[world.uuid(number)]
    s.settle()
    _store(s, one)
    found = yield
    s.assertIn('mass_loss_share = 1', found['hint'])
    limits = dataclasses.replace(LIMITS, mass_loss_share=1.0)
    one.missing_nodes.limits = limits
    one.missing_nodes.ask_all_again()
    s.settle()
    s.assertEqual(18, len(s.owners()))
    _store(s, one)


def _store(s: TestFindings, one: service.Service) -> None:
    _report(s, one.host, *one.conditions.of_loops(list(Loop), ()))


@case('conditions_outdated')
def _conditions_outdated(s: TestFindings) -> Story:
    s.serve('host1')
    _report(s, 'host1')
    s.operator('UPDATE condition_reports SET reported_at = reported_at - 999')
    yield
    s.restart('host1')
    _report(s, 'host1')


@case('config_error')
def _config_error(s: TestFindings) -> Story:
    s.serve('host1')
    s.alive['host1'].refresher.report_config_error(
        'unknown option', store=True
    )
    s.settle()
    yield
    s.alive['host1'].refresher.report_config_error(None, store=True)


@case('plugin_fault')
def _plugin_fault(s: TestFindings) -> Story:
    s.node(1)
    broken = mock.patch.object(
        world.PickyPolicy, 'admits', side_effect=LookupError('its own')
    )
    with broken:
        one = s.serve('host1', world.runs(picky='fake'))
        one.process.refresh_loop.run_step()
        _store(s, one)
        yield
    one.process.refresh_loop.wake()
    one.process.refresh_loop.run_step()
    _store(s, one)


@case('records_rewound')
def _records_rewound(s: TestFindings) -> Story:
    one = s.serve('host1')
    s.operator('UPDATE services SET revision = revision - 1')
    s.settle()
    _store(s, one)
    found = yield
    s.assertIn('SIGHUP', found['hint'])
    one.refresher.reconfigure(service.tuning_of(s.settings['host1']))
    _store(s, one)


@case('clock_skew')
def _clock_skew(s: TestFindings) -> Story:
    one = s.serve('host1')
    one.refresher._clock_skew.observe(model.View(ahead={'host1': 9.0}))
    _store(s, one)
    yield
    s.settle()
    _store(s, one)


@case('reservation_left')
def _reservation_left(s: TestFindings) -> Story:
    s.serve('host1', world.RESERVING)
    stored = SqlReservations(s.database).begin(
        reservations.Reservation(
            'res-1', s.instance(1), 'host1', Request(s.instance(1), 'host1')
        )
    )
    s.kill('host1')
    found = yield
    s.carry_out(found['hint'], ID=stored.id)


# Placement.


@case('placement_behind')
def _placement_behind(s: TestFindings) -> Story:
    s.wired.reports_inventory = True
    uuid = s.node(1, resource_class='gold')
    one = s.serve('host1')
    yield
    (record,) = s.records.compute_nodes()
    wanted = inventory_diff.wanted(s.ironic.nodes[uuid], record.unavailable)
    s.records.apply('host1', one.fence.epoch(), [Report(uuid, wanted.digest)])


@case('no_resource_class')
def _no_resource_class(s: TestFindings) -> Story:
    s.wired.reports_inventory = True
    s.node(1)
    s.serve('host1')
    found = yield
    s.assertIn('--resource-class', found['hint'])
    s.node(1, resource_class='gold')


for _code in CASES:
    setattr(TestFindings, f'test_hint_of_{_code}', _test_of(_code))
