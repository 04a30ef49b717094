from __future__ import annotations

from typing import Any, ClassVar
from unittest import mock

from ironic_ownership.api.resources import service_changes as shown
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.observe import columns
from tests.contract.suites import placement
from tests.unit.engine import world
from tests.unit.web import app_case

TAIL = ['dry_run', 'request_id', 'warnings']


class ChangesCase(app_case.SiteCase):
    """``idle`` is stopped and owns nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.records.register('idle', world.ALL)

    def state(self) -> tuple[object, ...]:
        return self.records.services(), self.records.events()

    def hosts(self) -> list[str]:
        return [row.host for row in self.records.services()]

    def gates(self, gates: list[dict[str, object]]) -> dict[str, object]:
        return {str(gate['gate']): gate['passed'] for gate in gates}


class SetServiceTest(ChangesCase):
    def test_service_is_set_for_the_client(self) -> None:
        answer = self.client.patch(
            '/v1/services/NEW',
            json={'disabled': True, 'disabled_reason': 'new fans'},
        )
        self.assertEqual(200, answer.status_code, answer.text)
        row = answer.get_json()
        self.assertEqual(
            [*columns.keys(shown.CHANGE), 'services', *TAIL], list(row)
        )
        self.assertEqual(
            ('new', 'disabled', 'new fans', ['disabled', 'disabled_reason']),
            tuple(
                row[key]
                for key in ('host', 'status', 'disabled_reason', 'changed')
            ),
        )
        self.assertEqual(
            answer.headers['x-openstack-request-id'], row['request_id']
        )
        event = self.records.events(limit=1)[0]
        self.assertEqual('api@local', event.actor)

    def test_invalid_settings_are_refused(self) -> None:
        before = self.state()
        for body in (
            {},
            {'dry_run': True},
            {'disabled_reason': 'x'},
            {'disabled': False, 'disabled_reason': 'x'},
            {'disabled': True, 'disabled_reason': ' '},
            {'disabled': True, 'disabled_reason': 'x' * 256},
            {'disabled': 'yes'},
            {'forced_down': True, 'epoch': 1},
            {'take_over_deployed_after': 60},
            {'take_over_deployed_after': 0, 'reason': 'x'},
            {'take_over_deployed_after': None, 'disabled': True},
            {'take_over_deployed_to': 'old', 'reason': 'x'},
        ):
            self.refused('PATCH', '/v1/services/new', 400, json=body)
        self.assertEqual(before, self.state())


class StandingOrderTest(ChangesCase):
    ORDER: ClassVar = {
        'take_over_deployed_after': 600,
        'take_over_deployed_to': 'NEW',
        'reason': 'on call',
    }

    def setUp(self) -> None:
        super().setUp()
        self.wired.shared_key = 'k' * 32
        self.ironic.middleware = Enforcement.ENFORCED

    def give(self, host: str = 'old', **body: Any) -> Any:
        return self.ask('PATCH', f'/v1/services/{host}', json=body)

    def test_order_is_shown_until_it_is_revoked(self) -> None:
        order = {
            'after': 600,
            'actor': 'api@local',
            'reason': 'on call',
            'to': 'new',
            'due_at': None,
        }
        given = self.give(**self.ORDER)
        self.assertEqual(
            (order, ['standing_order'], ['old']),
            (given['standing_order'], given['changed'], given['services']),
        )
        self.assertEqual([], self.give(**self.ORDER)['changed'])
        shown_by = [
            self.ask('GET', '/v1/services/old'),
            *self.ask('GET', '/v1/services?long=true')['services'],
        ]
        self.assertEqual(
            [order, order],
            [r['standing_order'] for r in shown_by if r['host'] == 'old'],
        )
        self.operator_notes_a_fence()
        self.assertRegex(
            self.ask('GET', '/v1/services/old')['standing_order']['due_at'],
            r'^20\d\d-\d\d-\d\dT',
        )
        self.assertIsNone(
            self.give(take_over_deployed_after=None)['standing_order']
        )

    def operator_notes_a_fence(self) -> None:
        rows = {row.host: row for row in self.records.services()}
        self.records.note_fence('new', rows['new'].epoch, rows['old'])

    def test_order_is_for_all_services_of_the_scope(self) -> None:
        self.records.register('other', world.runs(shard_key='a'))
        given = self.give('idle', **self.ORDER, whole_scope=True)
        alike = {'idle', 'old'}
        self.assertEqual('idle', given['host'])
        self.assertEqual(alike, {*given['services']})
        with_order = {r.host for r in self.records.services() if r.order}
        self.assertEqual(alike, with_order)
        self.assertEqual(
            ['old', 'idle'],
            self.give(
                'old',
                **{**self.ORDER, 'take_over_deployed_to': 'new'},
                whole_scope=True,
            )['services'],
        )
        self.give('new', take_over_deployed_after=None, whole_scope=True)
        self.assertEqual(
            [], [r.host for r in self.records.services() if r.order]
        )

    def test_order_is_refused_where_ironic_does_not_enforce(self) -> None:
        before = self.state()
        for key, state in (
            ('', Enforcement.ENFORCED),
            ('k', Enforcement.ABSENT),
            ('k', Enforcement.OTHER_KEY),
        ):
            self.wired.shared_key, self.ironic.middleware = key, state
            for more in ({}, {'dry_run': True}):
                error = self.refused(
                    *('PATCH', '/v1/services/old', 409),
                    json={**self.ORDER, **more},
                )
                self.assertEqual('not_enforced', error['code'])
                self.assertIn('ironic-ownership-middleware', error['hint'])
        self.assertEqual(before, self.state())
        # It can be revoked at any time.
        self.give(take_over_deployed_after=None)

    def test_unknown_destination_is_refused(self) -> None:
        before = self.state()
        self.refused(
            *('PATCH', '/v1/services/old', 404),
            json={**self.ORDER, 'take_over_deployed_to': 'nwe'},
        )
        self.refused(
            *('PATCH', '/v1/services/old', 400),
            json={**self.ORDER, 'take_over_deployed_to': 'OLD'},
        )
        self.give(**self.ORDER, dry_run=True)
        self.assertEqual(before, self.state())


class DeleteServiceTest(ChangesCase):
    def test_refusal_lists_the_gates_and_changes_nothing(self) -> None:
        before = self.state()
        error = self.refused('DELETE', '/v1/services/old', 409)
        self.assertEqual('gates_failed', error['code'])
        self.assertIn('refused by: no_compute_nodes', error['message'])
        left, *_ = error['details']['gates']
        self.assertEqual((False, 6), (left['passed'], left['left']))
        self.assertEqual(5, len(left['examples']))
        self.assertEqual(before, self.state())

    def test_unknown_members_refuse_with_a_warning(self) -> None:
        self.backend.view = _fail
        found = self.ask('DELETE', '/v1/services/idle?dry_run=true')
        self.assertFalse(self.gates(found['gates'])['not_alive'])
        self.assertIn('liveness is unknown', found['warnings'][0])
        self.refused('DELETE', '/v1/services/idle', 409)

    def test_provider_of_the_service_goes_first(self) -> None:
        provider = inventory_diff.service_uuid('idle')
        self.wired.placement = placement.FakePlacement([provider])
        self.wired.reports_inventory = True
        consumers = self.wired.placement.providers[provider].consumers
        consumers.add('consumer')
        error = self.refused('DELETE', '/v1/services/idle', 409)
        self.assertEqual('provider_in_use', error['code'])
        self.assertIn('idle', self.hosts())
        consumers.clear()
        self.ask('DELETE', '/v1/services/idle')
        self.assertEqual({}, self.wired.placement.providers)


class FailoverTest(ChangesCase):
    def fail_over(self, registers: str) -> dict[str, Any]:
        """Fail over to ``two`` while this process registers."""
        self.backend.join('new', 'two', world.ALL)
        fail_over = SqlRecords.fail_over

        def registering(records: SqlRecords, host: str, **more: str) -> None:
            fail_over(records, host, **more)
            if registers != 'two':
                self.backend.leave()
            records.register(host, world.ALL, incarnation=registers)

        with mock.patch.object(SqlRecords, 'fail_over', registering):
            return self.ask(
                'POST', '/v1/services/NEW/failover', json={'to': 'tw'}
            )

    def test_failover_to_another_process_is_a_warning(self) -> None:
        warning = 'two did not take over: new is served by three'
        for registers, *expected in (
            ('three', False, [warning]),
            ('two', True, []),
        ):
            row = self.fail_over(registers)
            self.assertEqual(expected, [row['done'], row['warnings']])


def _fail() -> None:
    raise exceptions.BackendUnavailableError('the store is down')
