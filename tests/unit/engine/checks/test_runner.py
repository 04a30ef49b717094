"""Each problem of the check, and its absence."""

from __future__ import annotations

import dataclasses
import functools
import unittest
from collections.abc import Iterable
from typing import Any, TypeVar
from unittest import mock

from ironic_ownership.contracts import exceptions, model, policy, reservations
from ironic_ownership.contracts.conditions import (
    Condition,
    ConditionReport,
    Loop,
)
from ironic_ownership.engine import availability
from ironic_ownership.engine.checks import problem, runner
from ironic_ownership.engine.conditions import CLOCK_SKEW, LOST_COMMITS
from ironic_ownership.engine.queries.deployment import Deployment, Part
from tests.unit.engine import world

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')


T = TypeVar('T')


class _OneSided(world.OddPolicy):
    """host2 names host1 as a peer, which does not name it."""

    def peers(self, host, candidates, scope):
        return frozenset((host, 'host1'))


def by_uuid(found: Iterable[Any]) -> dict[str, Any]:
    return {one.uuid: one for one in found}


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
        def answer(part: Part, found: T) -> T:
            return type(found)() if part in self.unread else found

        rows = world.registered(self.members, self.services)
        members = answer(Part.MEMBERSHIP, self.members)
        conductors = answer(Part.IRONIC, self.conductors)
        return runner.check(
            Deployment(
                world.interpret,
                {one.host: one for one in answer(Part.RECORDS, rows)},
                model.View.of(members),
                by_uuid(answer(Part.RECORDS, self.records)),
                by_uuid(answer(Part.IRONIC, self.nodes)),
                None
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
        )

    def companion(self) -> Any:
        return None

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
    def test_each_problem_names_its_nodes_and_services(self) -> None:
        for code, change, number, services in (
            (
                'unowned',
                lambda: self.nodes.append(world.node(3, shard='c')),
                *(3, ()),
            ),
            ('unclaimed', lambda: self.records.pop(1), 2, ('host2',)),
            (
                'conflict',
                lambda: self.members.append(world.member('host3', A, 9.0)),
                *(1, ('host1', 'host3')),
            ),
            (
                'record_keeps',
                lambda: self.records.append(world.record(2, 'host1')),
                *(2, ('host1', 'host2')),
            ),
            ('filtered', self.leave_its_shard, 2, ('host2',)),
            ('misplaced', self.share, 1, ('host1', 'host2')),
        ):
            with self.subTest(code):
                self.setUp()
                change()
                found = self.assert_found(code, world.uuid(number))
                self.assertEqual(services, found.services)

    def leave_its_shard(self) -> None:
        self.nodes[1] = world.node(2, shard='a', instance_uuid='i')
        self.records[1] = world.record(2, 'host2', 'i')

    def share(self) -> None:
        self.members = world.members(world.RING, 'host1', 'host2')
        self.nodes = [world.node(1), world.node(6)]
        self.records = [world.record(1, 'host1'), world.record(6, 'host1')]

    def test_node_that_the_assigner_withholds_is_no_problem(self) -> None:
        odd = world.runs(odd=None)
        self.members = world.members(odd, 'host1', 'host2')
        self.nodes = [world.node(2)]
        self.records = []
        self.assertEqual([], self.codes())

    def test_services_that_disagree_contest_a_node(self) -> None:
        self.members.append(world.member('host3', world.ALL))
        found = [p for p in self.check() if p.code == 'contested']
        self.assertEqual(
            [('host1', 'host3'), ('host2', 'host3')],
            [p.services for p in found],
        )
        self.assertEqual(
            [(world.uuid(1),), (world.uuid(2),)], [p.subjects for p in found]
        )

    def test_node_that_stock_nova_keeps_is_no_problem(self) -> None:
        self.records[1] = world.record(2, 'stock')
        self.services.append(model.Service('stock', up_in_nova=True))
        self.assertEqual([], self.codes())

    def test_orphans_are_those_that_ironic_denied(self) -> None:
        self.records += [world.record(3, 'host1'), world.record(4, 'host1')]
        self.gone = {world.uuid(3)}
        self.unverified = {world.uuid(4)}
        self.assert_found('orphan', world.uuid(3))
        found = self.assert_found('orphan_not_verified', world.uuid(4))
        self.assertEqual('unknown', found.severity)

    def test_nodes_that_may_not_be_listed_are_reported(self) -> None:
        self.unlisted = 7
        self.assertIn('7 nodes without', self.found('not_listed').what)


class TestOwners(CheckCase):
    def setUp(self) -> None:
        super().setUp()
        self.nodes.append(world.node(3, shard='a', instance_uuid='i'))
        self.records.append(world.record(3, 'host1', 'i'))

    def assert_left(self, code: str, severities: tuple[str, str]) -> None:
        deployed = self.assert_found(f'{code}_with_instance', world.uuid(3))
        free = self.assert_found(code, world.uuid(1))
        self.assertEqual(severities, (deployed.severity, free.severity))
        self.assertEqual(('host1',), free.services)

    def test_each_state_of_an_owner_has_a_code(self) -> None:
        for code, severities, alive, row in (
            ('owner_dead', ('error', 'warning'), False, {}),
            ('owner_gone', ('error', 'error'), False, None),
            ('owner_away', ('warning', 'warning'), False, {'away': True}),
            *(
                ('owner_forced_down', ('error', 'warning'), alive, row)
                for alive in (True, False)
                for row in ({'forced_down': True},)
            ),
            ('owner_disabled', ('warning',) * 2, True, {'disabled': True}),
        ):
            with self.subTest(code, alive=alive):
                self.setUp()
                self.members = self.members[not alive :]
                if row is None:
                    del self.services[0]
                else:
                    self.row('host1', **row)
                self.assert_left(code, severities)

    def test_owner_that_stock_nova_serves_is_alive(self) -> None:
        del self.members[0]
        never = {'registered_at': None, 'settings': model.MemberSettings(())}
        self.row('host1', **never, up_in_nova=True)
        self.assertEqual([], self.codes())
        self.row('host1', disabled=True)
        self.assert_left('owner_disabled', ('warning', 'warning'))
        self.row('host1', disabled=False, up_in_nova=False)
        self.assert_left('owner_unregistered', ('warning', 'warning'))
        # With the driver its membership counts.
        self.row('host1', registered_at=1.0, up_in_nova=True)
        self.assert_left('owner_dead', ('error', 'warning'))


class TestPlaces(CheckCase):
    def test_shard_of_a_dead_or_disabled_service_has_none(self) -> None:
        self.row('host1', disabled=True)
        self.assert_found('shard_without_service', 'a')
        self.row('host1', disabled=False)
        del self.members[0]
        self.assert_found('shard_without_service', 'a')

    def test_conductor_group_without_a_service(self) -> None:
        self.members = [world.member('host1', world.runs(conductor_group='g'))]
        self.nodes = [
            world.node(1, conductor_group='g'),
            world.node(2, conductor_group='h'),
        ]
        found = self.assert_found('conductor_group_without_service', 'h')
        self.assertEqual('conductor_group', found.kind)

    def test_service_of_another_conductor_group_serves_no_shard(self) -> None:
        self.nodes.append(world.node(3, shard='c'))
        self.members.append(
            world.member('host3', world.runs(conductor_group='g'))
        )
        self.assert_found('shard_without_service', 'c')
        self.nodes.append(world.node(4, shard='c', conductor_group='g'))
        self.assertNotIn('shard_without_service', self.codes())

    def test_group_of_shards_without_a_service_is_reported_once(self) -> None:
        self.members = []
        self.assert_found('shard_without_service', 'a', 'b')
        self.assertNotIn('conductor_group_without_service', self.codes())
        self.nodes.append(world.node(3))
        self.assert_found('conductor_group_without_service', '')

    def test_group_is_served_if_one_of_its_nodes_is(self) -> None:
        self.nodes.append(world.node(3))
        self.assertEqual(['unowned'], self.codes())

    def test_shard_key_without_nodes(self) -> None:
        self.nodes.pop()
        found = self.assert_found('shard_without_nodes', 'b')
        self.assertEqual(('host2',), found.services)

    def test_shard_and_shard_key_that_differ_in_case(self) -> None:
        self.nodes[0] = world.node(1, shard='A')
        found = self.assert_found('shard_case', 'A', 'a')
        self.assertEqual(('host1',), found.services)

    def test_two_shards_that_differ_in_case(self) -> None:
        self.nodes.append(world.node(3, shard='A'))
        self.assert_found('shard_case', 'A', 'a')


class TestServices(CheckCase):
    def run_with(self, *settings: model.MemberSettings) -> None:
        self.members = [
            world.member(f'host{number}', text, float(number))
            for number, text in enumerate(settings, start=1)
        ]
        self.services = [
            model.Service(m.host, settings=m.settings) for m in self.members
        ]
        self.nodes, self.records = [], []

    def test_lists_of_peers_that_disagree(self) -> None:
        self.run_with(
            world.runs(conductor_group='g', peer_list=('host1', 'host2')),
            world.runs(
                conductor_group='g', peer_list=('host1', 'host2', 'host3')
            ),
        )
        found = self.assert_found('settings_differ', 'host1', 'host2')
        self.assertIn('[host1,host2,host3]', found.what)
        self.assertNotIn('conductor_group', found.what)

    def test_one_sided_naming_is_enough(self) -> None:
        self.run_with(
            world.runs(conductor_group='g', peer_list=('host1', 'host2')),
            world.runs(conductor_group='h', peer_list=()),
        )
        self.assert_found('settings_differ', 'host1', 'host2')

    def test_different_policies_on_one_scope(self) -> None:
        self.run_with(world.RING, world.ALL)
        found = self.assert_found('settings_differ', 'host1', 'host2')
        self.assertIn('policies=peer_list', found.what)

    def test_different_scopes_are_no_peers(self) -> None:
        self.run_with(
            world.runs(conductor_group='g', peer_list=()),
            world.runs(conductor_group='h', peer_list=()),
        )
        self.assertNotIn('settings_differ', self.codes())

    def test_peer_that_was_never_seen(self) -> None:
        self.run_with(world.runs(peer_list=('host1', 'hots2')))
        found = self.assert_found('peer_unknown', 'hots2')
        self.assertEqual(('host1',), found.services)
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
        found = self.assert_found('contested', world.uuid(1))
        self.assertNotIn('settings', found.what)

    def test_shard_is_shared_unless_conductor_groups_divide_it(self) -> None:
        self.run_with(A, world.runs(conductor_group='g', shard_key='a'))
        self.assert_found('shard_shared', 'host1', 'host2')
        self.run_with(
            world.runs(conductor_group='g', shard_key='a'),
            world.runs(conductor_group='h', shard_key='a'),
        )
        self.assertNotIn('shard_shared', self.codes())

    def test_ring_on_one_shard_is_shared(self) -> None:
        # With a shard key every service is alone in its ring.
        self.run_with(*[world.runs(shard_key='a', peer_list=())] * 2)
        found = self.assert_found('shard_shared', 'host1', 'host2')
        self.assertIn('peer_list has no effect', found.hint)

    def test_services_on_one_shard_get_one_advice(self) -> None:
        self.run_with(
            world.runs(shard_key='a', peer_list=('host1', 'host2')),
            world.runs(shard_key='a'),
        )
        found = self.assert_found('shard_shared', 'host1', 'host2')
        self.assertIn('give each its own shard_key', found.hint)
        self.assertNotIn('settings_differ', self.codes())

    def test_view_that_differs_is_named_once_it_was_reported(self) -> None:
        current = model.View.of(self.members).checksum
        self.row('host1', view_checksum=current)
        self.assertEqual([], self.codes())
        self.row('host2', view_checksum='0123456789abcdef')
        self.assert_found('view_differs', 'host2')

    def test_view_of_a_dead_service_does_not_count(self) -> None:
        self.services.append(model.Service('dead', view_checksum='0' * 16))
        self.assertEqual([], self.codes())

    def test_unreadable_settings_are_reported_and_are_no_peers(self) -> None:
        self.members += [
            world.member('host3', world.UNKNOWN),
            world.member('host4', world.NEWER),
        ]
        one, other = [
            p for p in self.check() if p.code == 'settings_unreadable'
        ]
        self.assertIn("'of_another_site'", one.what)
        self.assertIn('contract version 99', other.what)
        self.assertEqual(['settings_unreadable'], self.codes())

    def test_refused_configuration(self) -> None:
        self.row('host1', config_error='[ironic] peer_list: half')
        self.assertIn('half', self.assert_found('config_error', 'host1').what)
        del self.members[0]
        self.assertNotIn('config_error', self.codes())

    def test_uneven_ring(self) -> None:
        self.run_with(world.RING, world.RING)
        self.records = [world.record(n, 'host1', 'i') for n in range(8)]
        self.records += [world.record(8, 'host2'), world.record(9, 'host2')]
        found = self.assert_found('imbalance', 'host1')
        self.assertIn('1.60 times', found.what)
        self.records = self.records[3:]
        self.assertNotIn('imbalance', self.codes())


class Failing(policy.FilterPolicy):
    """Fails for every node, and counts how often it is asked."""

    contract_version = 1
    asked: list[str] = []

    def admits(self, node: model.Node) -> bool:
        self.asked.append(node.uuid)
        raise LookupError('its own mistake')


class TestReports(CheckCase):
    def test_skew_that_services_noticed_is_one_problem(self) -> None:
        text = 'that of host2 is 5.0 s ahead'
        self.report('host1', Loop.CLOCKS, CLOCK_SKEW, text)
        found = self.assert_found('clock_skew', 'host1')
        self.assertIn(text, found.what)
        self.assertEqual(['clock_skew'], self.codes())

    def test_loss_that_services_noticed_is_one_problem(self) -> None:
        for host in ('host1', 'host2'):
            self.report(host, Loop.COMMITS, LOST_COMMITS, '2 changes of host2')
        found = self.assert_found('records_rewound', 'host1', 'host2')
        self.assertIn('2 changes of host2', found.what)
        self.assertEqual(['records_rewound'], self.codes())
        self.row('host2', forced_down=True)
        self.assert_found('records_rewound', 'host1')


class TestPolicies(CheckCase):
    def test_fault_that_a_service_reported_is_found(self) -> None:
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
        Failing.asked.clear()
        world_classes = {**world.CLASSES, 'failing': Failing}
        self.members.append(
            world.member('host3', world.runs(failing=None, shard_key='b'))
        )
        self.row('host1', config_error='half')
        with mock.patch.object(
            world,
            'interpret',
            functools.partial(world.interpret, classes=world_classes),
        ):
            found = {one.code: one for one in self.check()}
        self.assertIn('Failing.admits', found['plugin_fault'].what)
        self.assertIn('its own mistake', found['plugin_fault'].what)
        self.assertIn('contested nodes', found['plugin_fault'].hint)
        self.assertIs(problem.Severity.UNKNOWN, found['plugin_fault'].severity)
        self.assertIn('config_error', found)
        self.assertEqual(1, len(Failing.asked))


class TestUnread(CheckCase):
    def without(self, part: Part) -> problem.Problem:
        self.unread = {
            part: exceptions.IronicUnavailableError('no answer', hint='Wait')
        }
        (found,) = self.check()
        self.assertEqual('unknown', found.severity)
        self.assertEqual((str(part),), found.subjects)
        return found

    def test_without_ironic_the_rest_is_checked(self) -> None:
        found = self.without(Part.IRONIC)
        self.assertEqual('ironic_unavailable', found.code)
        self.assertIn('unowned nodes', found.hint)
        self.assertNotIn('balance', found.hint)
        del self.members[0]
        self.assertIn('owner_dead', self.codes())

    def test_without_membership_no_owner_is_dead(self) -> None:
        self.assertIn('owners', self.without(Part.MEMBERSHIP).hint)
        self.gone = {world.uuid(1)}
        self.assertIn('orphan', self.codes())

    def test_without_records_settings_are_checked(self) -> None:
        self.assertNotIn('settings of peers', self.without(Part.RECORDS).hint)
        self.members.append(world.member('host3', A))
        self.assertIn('shard_shared', self.codes())

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
