from __future__ import annotations

from typing import Any
from unittest import mock

from ironic_ownership.api.resources import service_changes as shown
from ironic_ownership.contracts import exceptions
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
        self.assertEqual([*columns.keys(shown.CHANGE), *TAIL], list(row))
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
        ):
            self.refused('PATCH', '/v1/services/new', 400, json=body)
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
