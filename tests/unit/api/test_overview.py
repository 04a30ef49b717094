"""``/v1/overview``: each count, its sources, and their age."""

from __future__ import annotations

import types
from typing import Any
from unittest import mock

import sqlalchemy as sa

from ironic_ownership.api.resources import check as resource
from ironic_ownership.contracts import exceptions, reasons
from ironic_ownership.contracts.records import Claim, Release
from ironic_ownership.db import tables
from tests.unit.engine import world
from tests.unit.web import app_case

INSTANCE = world.uuid(99)


class OverviewTest(app_case.SiteCase):
    def read(self, check: bool = False) -> dict[str, Any]:
        query = '?check=true' if check else ''
        found: dict[str, Any] = self.get(f'/v1/overview{query}')
        return found

    def start_old(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        self.backend.join('old', 'two', world.ALL)

    def claim_again(self, node: Any, reason: reasons.Reason) -> None:
        for change in (
            Release(node.uuid, reasons.Reason.RELEASED),
            Claim(node, reason),
        ):
            self.records.apply('old', self.epoch, [change])

    def execute(self, *statements: Any) -> None:
        with self.wired.database._writer.begin() as conn:
            for statement in statements:
                conn.execute(statement)

    def instance_on(self, number: int) -> Any:
        uuid = world.uuid(number)
        return sa.insert(tables.instances).values(
            uuid=INSTANCE, node_uuid=uuid, open_node_uuid=uuid, created_at=0
        )

    def update(self, *numbers: int, **values: Any) -> Any:
        uuids = [world.uuid(number) for number in numbers]
        where = tables.compute_nodes.c.uuid.in_(uuids)
        return sa.update(tables.compute_nodes).where(where).values(**values)

    def test_ironic_is_not_read_for_the_answer(self) -> None:
        self.wired.overview = None  # what the background calls
        self.client = self.build('metrics_interval = 1000')
        found = self.read()
        self.assertEqual([], self.ironic.calls)
        self.assertEqual(
            (None, None), (found['check_age'], found['owned_twice'])
        )

    def test_nodes_of_a_dead_owner_are_those_of_the_check(self) -> None:
        def owner_dead(found: list[dict[str, Any]]) -> dict[str, Any]:
            (one,) = [one for one in found if one['code'] == 'owner_dead']
            return one

        expected = owner_dead(self.get('/v1/check')['problems'])
        self.assertEqual(
            (6, ['old']), (expected['count'], expected['services'])
        )
        self.assertIn('Start old again', expected['hint'])
        # Findings that need Ironic are those of the last check.
        for check, more in ((False, []), (True, ['record_keeps'])):
            found = self.read(check)
            self.assertEqual(6, found['without_live_owner'])
            self.assertEqual('warning', found['state'])
            one = owner_dead(found['findings'])
            for key in ('severity', 'what', 'count', 'services', 'hint'):
                self.assertEqual(expected[key], one[key], key)
            self.assertEqual(
                ['owner_dead', *more],
                sorted(one['code'] for one in found['findings']),
            )

    def test_nodes_of_a_disabled_owner_are_a_finding_of_both(self) -> None:
        self.backend.leave()
        self.start_old()
        self.records.set_service('old', actor='test', disabled=True)
        (expected,) = [
            one['what']
            for one in self.get('/v1/check')['problems']
            if one['code'] == 'owner_disabled'
        ]
        for check in (False, True):
            found = self.read(check)
            self.assertEqual(0, found['without_live_owner'])
            whats = [one['what'] for one in found['findings']]
            self.assertIn(expected, whats)

    def test_service_that_has_not_registered_shares_no_filter(self) -> None:
        self.backend.join('late', 'three', world.ALL)
        for found in (
            self.get('/v1/check')['problems'],
            self.read()['findings'],
        ):
            self.assertNotIn('filter_shared', [one['code'] for one in found])

    def test_membership_in_an_outage_is_no_dead_owner(self) -> None:
        down = exceptions.MembershipError('down')
        self.backend.view = mock.Mock(side_effect=down)
        found = self.read()
        self.assertIsNone(found['without_live_owner'])
        self.assertEqual('unknown', found['state'])
        self.assertIn('membership is unknown: down', found['warnings'])

    def three(self, check: bool) -> tuple[int, int, int]:
        found = self.read(check)
        return found['unowned'], found['waiting'], found['nodes']

    def test_node_without_a_record_is_unowned_or_waits(self) -> None:
        self.ironic.put(world.node(7))
        # A live service is about to claim it.
        self.assertEqual((0, 1, 7), self.three(True))
        self.records.set_service('new', actor='test', disabled=True)
        self.assertEqual((1, 0, 7), self.three(True))

    def test_released_node_waits_for_its_next_owner(self) -> None:
        release = Release(world.uuid(1), reasons.Reason.RELEASED)
        self.records.apply('old', self.epoch, [release])
        self.assertEqual((0, 1), self.three(False)[:2])
        # Not one that its policy leaves free, nor after a reservation.
        self.records.register('old', world.RESERVING, incarnation='two')
        self.assertEqual((0, 0), self.three(False)[:2])
        self.records.register('old', world.ALL, incarnation='three')
        self.execute(self.update(1, released_by=None))
        self.assertEqual((0, 0), self.three(False)[:2])

    def test_instance_of_two_nodes_is_served_twice(self) -> None:
        """Ironic has it on a node of another service than the records."""
        self.start_old()
        node = self.change_node(1, instance_uuid=INSTANCE)
        self.claim_again(node, reasons.Reason.EXCLUSIVE)
        self.assertEqual(0, self.read(check=True)['owned_twice'])
        self.change_node(1, instance_uuid=None)
        self.ironic.put(world.node(8, instance_uuid=INSTANCE))
        found = self.read(check=True)
        self.assertEqual((1, 'error'), (found['owned_twice'], found['state']))

    def test_instance_that_two_services_have_on_record_is_served_twice(
        self,
    ) -> None:
        self.start_old()
        self.execute(
            *(self.instance_on(1), self.instance_on(2)),
            self.update(2, host='new'),
        )
        for number, other in ((1, 2), (2, 1)):
            self.ironic.put(
                world.node(number, instance_uuid=INSTANCE), world.node(other)
            )
            self.assertEqual(1, self.read(check=True)['owned_twice'])

    def test_row_of_a_cell_that_names_another_service_counts(self) -> None:
        self.start_old()
        rows = types.SimpleNamespace(
            checks=(),
            twice=frozenset((world.uuid(1), world.uuid(2))),
            drifted=frozenset(world.uuid(n) for n in (1, 2, 3)),
        )
        self.wired.companion = types.SimpleNamespace(
            read=lambda attempt, placement: rows, transactions=None
        )
        found = self.read()
        self.assertEqual((2, 3), (found['owned_twice'], found['drifted']))
        self.assertEqual('error', found['state'])

    def test_owner_outside_of_its_filter_has_drifted(self) -> None:
        node = self.ironic.nodes[world.uuid(1)]
        self.claim_again(node, reasons.Reason.FILTERED_KEEPS)
        self.assertEqual(1, self.read()['drifted'])

    def test_shares_are_those_of_the_long_list(self) -> None:
        self.start_old()
        listed = self.get('/v1/services?long=true')['services']
        expected, found = (
            [(one['host'], one['nodes'], one['of_mean']) for one in services]
            for services in (listed, self.read()['services'])
        )
        self.assertCountEqual(expected, found)

    def test_node_in_use_is_not_unavailable(self) -> None:
        self.execute(
            self.update(1, 2, unavailable='maintenance'), self.instance_on(1)
        )
        found = {one['host']: one for one in self.read()['services']}['old']
        self.assertEqual((1, 1), (found['instances'], found['unavailable']))

    def test_check_without_ironic_proves_nothing(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        found = self.read(check=True)
        self.assertIsNone(found['owned_twice'])
        self.assertIn('Ironic: down', [f['what'] for f in found['findings']])

    def test_all_is_well(self) -> None:
        self.backend.leave()
        self.records.set_service('new', actor='test', forced_down=True)
        self.start_old()
        found = self.read(check=True)
        counts = [found[column.key] for column in resource.COUNTS]
        self.assertEqual([0] * 5, counts)
        severities = {f['severity'] for f in found['findings']}
        self.assertEqual(
            'warning' if severities else 'ok', found['state'], severities
        )
        release = Release(world.uuid(1), reasons.Reason.RELEASED)
        self.records.apply('old', self.epoch, [release])
        self.assertEqual('warning', self.read()['state'])

    def test_check_that_a_policy_ends_proves_nothing(self) -> None:
        self.records.set_service('new', actor='test', forced_down=True)
        self.start_old()
        picky = world.runs(picky='x', shard_key='c')
        self.start('odd', picky, 'three')
        self.ironic.put(world.node(7, shard='c'))
        failing = mock.Mock(side_effect=LookupError('its own mistake'))
        with mock.patch.object(world.PickyPolicy, 'admits', failing):
            found = self.read(check=True)
        self.assertEqual(
            ('unknown', ['plugin_fault']),
            (found['state'], [one['code'] for one in found['findings']]),
        )

    def test_last_check_is_shown_with_its_age(self) -> None:
        self.client = self.build('metrics_interval = 1000')
        self.ironic.put(world.node(7))
        self.client.get('/metrics')  # reads Ironic, and waits for it
        self.assertEqual((0, 1, 7), self.three(False))
        self.assertGreaterEqual(self.read()['check_age'], 0)
