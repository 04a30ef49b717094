"""Each problem of the check, and its absence."""

from __future__ import annotations

import dataclasses
import unittest
from typing import Any, TypeVar
from unittest import mock

from ironic_ownership.contracts import exceptions, model, reservations
from ironic_ownership.contracts.conditions import (
    Condition,
    ConditionReport,
    Loop,
)
from ironic_ownership.contracts.moves import StandingOrder
from ironic_ownership.engine import availability
from ironic_ownership.engine.checks import overview, problem, runner
from ironic_ownership.engine.conditions import CLOCK_SKEW, LOST_COMMITS
from ironic_ownership.engine.queries.deployment import Deployment, Part
from tests.unit.engine import world

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')


T = TypeVar('T')


GROUP_G, GROUP_H = (
    world.runs(conductor_group=group, peer_list=()) for group in 'gh'
)
NAMED = world.runs(conductor_group='g', peer_list=('host1', 'host2'))
NODES = [world.uuid(number) for number in range(5)]


class _OneSided(world.OddPolicy):
    """host2 names host1 as a peer, which does not name it."""

    def peers(self, host, candidates, scope):
        return frozenset((host, 'host1'))


class CheckCase(unittest.TestCase):
    """A deployment without problems."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes = [world.node(1, shard='a'), world.node(2, shard='b')]
        self.records = [world.record(1, 'host1'), world.record(2, 'host2')]
        self.members = [world.member('host1', A), world.member('host2', B)]
        self.services = [
            model.Service('host1', settings=A),
            model.Service('host2', settings=B),
        ]
        self.gone: set[str] = set()
        self.unverified: set[str] = set()
        self.unlisted = 0
        self.unread: dict[Part, exceptions.OwnershipError] = {}
        self.reservations: list[reservations.Reservation] = []
        self.reporting = False
        self.conductors: list[model.Conductor] | None = None
        self.unshown: exceptions.IronicError | None = None
        self.reports: dict[str, ConditionReport] = {}

    def report(self, host: str, *found: Any) -> None:
        """Report a condition: the loop, its code and its error."""
        loop, code, error = found
        one = Condition(loop, code=code, error=error, since=-999.0)
        self.reports[host] = ConditionReport(host, host, 60.0, (one,))

    def row(self, host: str, **values) -> None:
        self.services = [
            dataclasses.replace(row, **values) if row.host == host else row
            for row in self.services
        ]

    def check(self) -> list[problem.Problem]:
        return runner.check(self.seen())

    def seen(self) -> Deployment:
        def answer(part: Part, found: T) -> T:
            return type(found)() if part in self.unread else found

        conductors = answer(Part.IRONIC, self.conductors)
        found = world.deployment(
            self.members,
            self.services,
            answer(Part.RECORDS, self.records),
            answer(Part.IRONIC, self.nodes),
            conductors=None
            if conductors is None
            else availability.Conductors.of(conductors),
            unshown=self.unshown,
            gone=frozenset(self.gone),
            unverified=frozenset(self.unverified),
            unlisted=self.unlisted,
            unread=self.unread,
            reservations=self.reservations,
            reports=self.reports,
            companion=self.companion(),
            reporting=self.reporting,
        )
        return dataclasses.replace(
            found,
            services=answer(Part.RECORDS, found.services),
            view=answer(Part.MEMBERSHIP, found.view),
        )

    def companion(self) -> Any:
        return None

    def run_with(self, *settings: model.MemberSettings) -> None:
        """Let services with these settings run, without nodes."""
        self.members = [
            world.member(f'host{number}', text, float(number))
            for number, text in enumerate(settings, start=1)
        ]
        self.services = [
            model.Service(m.host, settings=m.settings) for m in self.members
        ]
        self.nodes, self.records = [], []

    def codes(self) -> list[str]:
        return sorted({found.code for found in self.check()})

    def found(self, code: str) -> problem.Problem:
        (one,) = [p for p in self.check() if p.code == code]
        return one

    def assert_found(self, code: str, *subjects: str) -> problem.Problem:
        found = self.found(code)
        self.assertEqual(subjects, found.subjects)
        self.assertTrue(found.what)
        self.assertTrue(found.hint)
        return found


class TestNodes(CheckCase):
    def test_each_problem_names_its_subjects_and_services(self) -> None:
        one, two, three = NODES[1:4]
        pair = ('host1', 'host2')
        for code, change, subjects, services in (
            ('unowned', self.add_a_node, (three,), ()),
            ('unclaimed', lambda: self.records.pop(1), (two,), ('host2',)),
            ('conflict', self.add_a_service, (one,), ('host1', 'host3')),
            (
                'record_keeps',
                lambda: self.records.append(world.record(2, 'host1')),
                *((two,), pair),
            ),
            ('filtered', self.leave_its_shard, (two,), ('host2',)),
            ('misplaced', self.share, (one,), pair),
            ('shard_without_nodes', self.nodes_of_a, ('b',), ('host2',)),
            ('shard_case', self.shard_in_capitals, ('A', 'a'), ('host1',)),
            ('peer_unknown', self.misspell, ('hots2',), ('host1',)),
            ('view_differs', self.differ, ('host2',), ('host2',)),
        ):
            with self.subTest(code):
                self.setUp()
                change()
                found = self.assert_found(code, *subjects)
                self.assertEqual(services, found.services)

    def test_services_of_a_problem_exist(self) -> None:
        self.run_with(world.RESERVING)
        self.services.append(model.Service('old', registered_at=1.0))
        self.nodes, self.records = [world.node(1)], [world.record(1, 'old')]
        found = self.found('record_keeps')
        self.assertIn('give them to no service', found.what)
        self.assertEqual(('old',), found.services)

    def test_command_names_a_shard_as_a_shell_needs_it(self) -> None:
        self.run_with(world.runs(shard_key="it's $1"))
        hint = self.found('shard_without_nodes').hint
        self.assertIn("""--shard 'it'"'"'s $1', or""", hint)

    def add_a_node(self) -> None:
        self.nodes.append(world.node(3, shard='c'))

    def add_a_service(self) -> None:
        self.members.append(world.member('host3', A, 9.0))

    def leave_its_shard(self) -> None:
        self.nodes[1] = world.node(2, shard='a', instance_uuid='i')
        self.records[1] = world.record(2, 'host2', 'i')

    def share(self) -> None:
        self.members = world.members(world.RING, 'host1', 'host2')
        self.nodes = [world.node(1), world.node(6)]
        self.records = [world.record(1, 'host1'), world.record(6, 'host1')]

    def nodes_of_a(self) -> None:
        self.nodes.pop()

    def shard_in_capitals(self) -> None:
        self.nodes[0] = world.node(1, shard='A')

    def misspell(self) -> None:
        self.run_with(world.runs(peer_list=('host1', 'hots2')))

    def differ(self) -> None:
        # That of a dead service does not count, nor one that is unknown.
        self.services.append(model.Service('dead', view_checksum='0' * 16))
        current = model.View.of(self.members).checksum
        self.row('host1', view_checksum=current)
        self.assertEqual([], self.codes())
        self.row('host2', view_checksum='0123456789abcdef')

    def test_nodes_that_wait_for_no_service_are_no_problem(self) -> None:
        # Stock Nova keeps it.
        self.records[1] = world.record(2, 'stock')
        self.services.append(model.Service('stock', up_in_nova=True))
        self.assertEqual([], self.codes())
        self.records[0] = world.record(1, 'stock')
        self.nodes[0] = world.node(1, shard='c')
        self.assertEqual(0, overview.checked(self.seen(), ()).drifted)
        self.nodes[0] = world.node(1, shard='a')
        ring = world.runs(peer_list=('host1', 'host2', 'stock'))
        self.members = world.members(ring, 'host1', 'host2')
        self.assertNotIn('misplaced', self.codes())
        # The assigner withholds it.
        self.run_with(*[world.runs(odd=None)] * 2)
        self.nodes = [world.node(2)]
        self.assertEqual([], self.codes())

    def test_services_that_disagree_contest_a_node(self) -> None:
        self.members.append(world.member('host3', world.ALL))
        found = [p for p in self.check() if p.code == 'contested']
        self.assertEqual(
            [
                (('host1', 'host3'), (NODES[1],)),
                (('host2', 'host3'), (NODES[2],)),
            ],
            [(p.services, p.subjects) for p in found],
        )

    def test_orphans_are_those_that_ironic_denied(self) -> None:
        self.records += [world.record(3, 'host1'), world.record(4, 'host1')]
        self.gone, self.unverified = {NODES[3]}, {NODES[4]}
        self.assert_found('orphan', NODES[3])
        found = self.assert_found('orphan_not_verified', NODES[4])
        self.assertEqual('unknown', found.severity)

    def test_nodes_that_may_not_be_listed_are_reported(self) -> None:
        self.unlisted = 7
        self.assertIn('7 nodes without', self.found('not_listed').what)


class TestOwners(CheckCase):
    def setUp(self) -> None:
        super().setUp()
        self.nodes.append(world.node(3, shard='a', instance_uuid='i'))
        self.records.append(world.record(3, 'host1', 'i'))

    def assert_left(self, code: str, *severities: str) -> None:
        deployed = self.assert_found(f'{code}_with_instance', NODES[3])
        free = self.assert_found(code, NODES[1])
        self.assertEqual(severities, (deployed.severity, free.severity))
        self.assertEqual(('host1',), free.services)

    def test_each_state_of_an_owner_has_a_code(self) -> None:
        down = {'forced_down': True}
        for code, deployed, free, alive, row in (
            ('owner_dead', 'error', 'warning', False, {}),
            ('owner_gone', 'error', 'error', False, None),
            ('owner_away', 'warning', 'warning', False, {'away': True}),
            ('owner_forced_down', 'error', 'warning', True, down),
            ('owner_forced_down', 'error', 'warning', False, down),
            ('owner_disabled', 'warning', 'warning', True, {'disabled': True}),
        ):
            with self.subTest(code, alive=alive):
                self.setUp()
                self.members = self.members[not alive :]
                if row is None:
                    del self.services[0]
                else:
                    self.row('host1', **row)
                self.assert_left(code, deployed, free)

    def test_owner_that_stock_nova_serves_is_alive(self) -> None:
        del self.members[0]
        never = {'registered_at': None, 'settings': model.MemberSettings(())}
        self.row('host1', **never, up_in_nova=True)
        self.assertEqual([], self.codes())
        self.row('host1', disabled=True)
        self.assert_left('owner_disabled', 'warning', 'warning')
        self.row('host1', disabled=False, up_in_nova=False)
        self.assert_left('owner_unregistered', 'warning', 'warning')
        # With the driver its membership counts.
        self.row('host1', registered_at=1.0, up_in_nova=True)
        self.assert_left('owner_dead', 'error', 'warning')


class TestPlaces(CheckCase):
    def test_place_without_a_service_is_named_once(self) -> None:
        shard, group = (
            f'{place}_without_service'
            for place in ('shard', 'conductor_group')
        )
        self.row('host1', disabled=True)
        self.assert_found(shard, 'a')
        self.members = []
        self.assert_found(shard, 'a', 'b')
        self.assertNotIn(group, self.codes())
        self.nodes.append(world.node(3))
        self.assert_found(group, '')
        # A group is served if one of its nodes is.
        self.setUp()
        self.nodes.append(world.node(3))
        self.assertEqual(['unowned'], self.codes())

    def test_conductor_groups_are_places_of_their_own(self) -> None:
        other = world.member('host3', world.runs(conductor_group='g'))
        self.members.append(other)
        self.nodes += [
            world.node(3, shard='c'),
            world.node(4, conductor_group='h'),
        ]
        self.assert_found('shard_without_service', 'c')
        found = self.assert_found('conductor_group_without_service', 'h')
        self.assertEqual('conductor_group', found.kind)
        self.nodes.append(world.node(5, shard='c', conductor_group='g'))
        self.assertNotIn('shard_without_service', self.codes())


class TestServices(CheckCase):
    def test_services_that_are_no_peers_differ_in_settings(self) -> None:
        three = world.runs(
            conductor_group='g', peer_list=('host1', 'host2', 'host3')
        )
        for one, other, named, unnamed in (
            (NAMED, three, '[host1,host2,host3]', 'conductor_group'),
            # It is enough that one names the other.
            (NAMED, GROUP_H, 'conductor_group.conductor_group=h', 'policies='),
            (world.RING, world.ALL, 'policies=peer_list', 'group'),
            (GROUP_G, GROUP_H, None, ''),
        ):
            self.run_with(one, other)
            if named is None:
                self.assertNotIn('settings_differ', self.codes())
                continue
            found = self.assert_found('settings_differ', 'host1', 'host2')
            self.assertIn(named, found.what)
            self.assertNotIn(unnamed, found.what)

    def test_peer_that_has_a_row_was_seen(self) -> None:
        self.run_with(world.runs(peer_list=('host1', 'hots2')))
        self.services.append(model.Service('hots2'))
        self.assertEqual([], self.codes())

    def test_peers_that_do_not_name_each_other(self) -> None:
        self.enterContext(
            mock.patch.dict(world.CLASSES, {'one_sided': _OneSided})
        )
        self.run_with(*[world.runs(one_sided=None)] * 2)
        self.nodes = [world.node(1)]
        self.assertEqual(['contested', 'filter_shared'], self.codes())
        found = self.assert_found('filter_shared', 'host1', 'host2')
        self.assertIn('do not name each other as peers', found.what)
        found = self.assert_found('contested', NODES[1])
        self.assertNotIn('settings', found.what)

    def test_shard_is_shared_unless_conductor_groups_divide_it(self) -> None:
        in_g, in_h = (
            world.runs(conductor_group=group, shard_key='a') for group in 'gh'
        )
        of_two = world.runs(shard_key='a', peer_list=('host1', 'host2'))
        no_effect = 'peer_list has no effect'
        for one, other, hint in (
            (A, in_g, ''),
            (in_g, in_h, None),
            # With a shard key every service is alone in its ring.
            (*[world.runs(shard_key='a', peer_list=())] * 2, no_effect),
            (of_two, A, 'give each its own shard_key'),
        ):
            self.run_with(one, other)
            self.assertNotIn('settings_differ', self.codes())
            if hint is None:
                self.assertNotIn('shard_shared', self.codes())
            else:
                found = self.assert_found('shard_shared', 'host1', 'host2')
                self.assertIn(hint, found.hint)

    def test_unreadable_settings_are_reported_and_are_no_peers(self) -> None:
        self.members += [
            world.member('host3', world.UNKNOWN),
            world.member('host4', world.NEWER),
        ]
        one, other = (
            p for p in self.check() if p.code == 'settings_unreadable'
        )
        self.assertIn("'of_another_site'", one.what)
        self.assertIn('contract version 99', other.what)
        self.assertEqual(['settings_unreadable'], self.codes())

    def test_uneven_ring(self) -> None:
        self.run_with(world.RING, world.RING)
        self.records = [world.record(n, 'host1', 'i') for n in range(8)]
        self.records += [world.record(8, 'host2'), world.record(9, 'host2')]
        found = self.assert_found('imbalance', 'host1')
        self.assertIn('1.60 times', found.what)
        self.records = self.records[3:]
        self.assertNotIn('imbalance', self.codes())


class TestReports(CheckCase):
    def test_condition_that_services_report_is_one_problem(self) -> None:
        for loop, code, found, hosts in (
            (Loop.CLOCKS, CLOCK_SKEW, 'clock_skew', ('host1',)),
            (
                *(Loop.COMMITS, LOST_COMMITS, 'records_rewound'),
                ('host1', 'host2'),
            ),
        ):
            self.setUp()
            for host in hosts:
                self.report(host, loop, code, 'that of host2')
            self.assertIn(
                'that of host2', self.assert_found(found, *hosts).what
            )
            self.assertEqual([found], self.codes())
        self.row('host2', forced_down=True)
        self.assert_found('records_rewound', 'host1')

    def test_standing_order_is_shown_where_it_counts(self) -> None:
        order = StandingOrder(600, 'alice', 'on call')
        down, away = {'forced_down': True}, {'away': True}
        signs = {'settings': world.advertised(world.ALL, 15.0)}
        never = {'registered_at': None, 'settings': model.MemberSettings(())}
        for alive, row, state in (
            (True, signs, None),
            (False, signs, 'not alive'),
            (False, {}, None),
            (True, down, 'forced down'),
            (False, down, 'forced down'),
            (False, signs | away, None),
            (False, never, None),
            (False, never | down, 'forced down'),
        ):
            with self.subTest(alive=alive, **row):
                self.setUp()
                self.members = self.members[not alive :]
                self.row('host1', order=order, **row)
                if state is None:
                    self.assertNotIn('standing_order', self.codes())
                else:
                    found = self.assert_found('standing_order', 'host1')
                    self.assertIn(f'host1 is {state}: its', found.what)
                    self.assertEqual(row != signs, '--up"; or' in found.hint)

    def test_fault_and_configuration_of_a_live_service(self) -> None:
        self.row('host1', config_error='peer_list: half')
        self.report('host1', Loop.REFRESH, 'plugin_fault', 'P.assign failed')
        fault = self.assert_found('plugin_fault', 'host1')
        self.assertIn('P.assign failed', fault.what)
        self.assertNotIn('half', fault.what)
        self.assertIs(problem.Severity.ERROR, fault.severity)
        error = self.assert_found('config_error', 'host1')
        self.assertIn('half', error.what)
        self.assertNotIn('assign', error.what)
        self.assertEqual(['config_error', 'plugin_fault'], self.codes())
        del self.members[0]
        self.assertNotIn('config_error', self.codes())


class TestPolicies(CheckCase):
    def test_node_of_a_service_that_cannot_be_read_is_not_unserved(
        self,
    ) -> None:
        self.nodes.append(world.node(7, shard='c', conductor_group='d'))
        alarms = {'unowned', 'shard_without_service'}
        self.assertLessEqual(alarms, {*self.codes()})
        for runs, is_its in (
            (world.runs(shard_key='c', of_another_site=None), True),
            (world.runs(shard_key='other', of_another_site=None), False),
            (world.UNKNOWN, True),
        ):
            self.members.append(world.member('host3', runs))
            found = {*self.codes()}
            self.assertIs(is_its, not found & alarms, (runs, found))
            self.assertIn('settings_unreadable', found)
            self.members.pop()

    def test_policy_that_fails_here_leaves_the_other_checks(self) -> None:
        self.members.append(
            world.member('host3', world.runs(picky='x', shard_key='b'))
        )
        self.row('host1', config_error='half')
        with mock.patch.object(
            world.PickyPolicy,
            'admits',
            side_effect=LookupError('its own mistake'),
        ) as asked:
            found = {one.code: one for one in self.check()}
        fault = found['plugin_fault']
        self.assertIn('PickyPolicy.admits', fault.what)
        self.assertIn('its own mistake', fault.what)
        self.assertIn('contested nodes', fault.hint)
        self.assertIs(problem.Severity.UNKNOWN, fault.severity)
        self.assertIn('config_error', found)
        asked.assert_called_once()


class TestUnread(CheckCase):
    def test_what_does_not_need_a_part_is_checked_without_it(self) -> None:
        for part, code, skipped, kept, change, found in (
            (
                *(Part.IRONIC, 'ironic_unavailable'),
                *('unowned nodes', 'balance'),
                *(lambda: self.members.pop(0), 'owner_dead'),
            ),
            (
                *(Part.MEMBERSHIP, 'ironic_unavailable'),
                *('owners', 'orphan'),
                *(lambda: self.gone.add(NODES[1]), 'orphan'),
            ),
            (
                *(Part.RECORDS, 'ironic_unavailable'),
                *('owners', 'settings of peers'),
                *(self.add_a_service, 'shard_shared'),
            ),
        ):
            with self.subTest(part):
                self.setUp()
                self.unread = {
                    part: exceptions.IronicUnavailableError('no answer')
                }
                (one,) = self.check()
                self.assertEqual(
                    (code, 'unknown', (str(part),)),
                    (one.code, one.severity, one.subjects),
                )
                self.assertIn(skipped, one.hint)
                self.assertNotIn(kept, one.hint)
                change()
                self.assertIn(found, self.codes())

    def add_a_service(self) -> None:
        self.members.append(world.member('host3', A))

    def test_without_anything_nothing_is_guessed(self) -> None:
        self.unread = dict.fromkeys(
            Part, exceptions.RecordsUnavailableError('no answer')
        )
        self.assertEqual(['records_unavailable'], self.codes())
        self.assertEqual(len(Part), len(self.check()))

    def test_errors_come_first(self) -> None:
        self.unlisted = 1
        self.nodes.append(world.node(3, shard='c'))
        self.records.pop()
        severities = [p.severity for p in self.check()]
        self.assertEqual(['error', 'error', 'warning', 'unknown'], severities)
