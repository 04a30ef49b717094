from __future__ import annotations

from typing import Any, ClassVar
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.placement import inventory_diff
from tests.contract.suites import placement
from tests.unit.engine import world
from tests.unit.web import app_case


class ChangesCase(app_case.SiteCase):
    """``idle`` is stopped and owns nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.records.register('idle', world.advertised(world.ALL, 15.0))

    def state(self) -> tuple[object, ...]:
        return self.records.services(), self.records.events()

    def patch(self, host: str, status: int = 200, **body: Any) -> Any:
        path = f'/v1/services/{host}'
        return self.ask('PATCH', path, status, json=body)


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

    def with_orders(self) -> set[str]:
        return {row.host for row in self.records.services() if row.order}

    def test_order_is_shown_until_it_is_revoked(self) -> None:
        order = {
            'after': 600,
            'actor': 'api@local',
            'reason': 'on call',
            'to': 'new',
            'due_at': None,
        }
        given = self.patch('old', **self.ORDER)
        self.assertEqual(
            (order, ['standing_order'], ['old']),
            (given['standing_order'], given['changed'], given['services']),
        )
        self.assertEqual([], self.patch('old', **self.ORDER)['changed'])
        long = self.get('/v1/services?long=true')['services']
        for row in (self.get('/v1/services/old'), long[-1]):
            self.assertEqual(
                ('old', order), (row['host'], row['standing_order'])
            )
        # It is due at a time, once the service has been fenced.
        rows = {row.host: row for row in self.records.services()}
        self.records.note_fence('new', rows['new'].epoch, rows['old'])
        self.assertRegex(
            self.get('/v1/services/old')['standing_order']['due_at'],
            r'^20\d\d-\d\d-\d\dT',
        )
        revoked = self.patch('old', take_over_deployed_after=None)
        self.assertIsNone(revoked['standing_order'])

    def test_order_is_for_all_services_of_the_scope(self) -> None:
        self.records.register('other', world.runs(shard_key='a'))
        given = self.patch('idle', **self.ORDER, whole_scope=True)
        self.assertEqual(('idle', 2), (given['host'], len(given['services'])))
        self.assertEqual({'idle', 'old'}, {*given['services']})
        self.assertEqual({'idle', 'old'}, self.with_orders())
        # Policies of another service that fail are no part of it.
        self.records.register('bad', world.runs(fails='scope'))
        self.wired.interpret = world.interpret
        again = self.patch('old', **self.ORDER, whole_scope=True)
        self.assertEqual(['old', 'idle'], again['services'])
        self.patch('new', take_over_deployed_after=None, whole_scope=True)
        self.assertEqual(set(), self.with_orders())

    def test_order_that_cannot_be_carried_out_is_refused(self) -> None:
        self.records.register('earlier', world.ALL)
        before = self.state()
        self.patch('old', 404, **{**self.ORDER, 'take_over_deployed_to': 'x'})
        itself = self.patch(
            'old', 400, **{**self.ORDER, 'take_over_deployed_to': 'OLD'}
        )
        self.assertEqual(
            'old cannot take over from itself', itself['error']['message']
        )
        self.patch('old', **self.ORDER, dry_run=True)
        earlier = self.patch('earlier', 409, **self.ORDER)['error']
        self.assertEqual(
            ('not_enforced', 'Upgrade it first'),
            (earlier['code'], earlier['hint']),
        )
        self.patch('earlier', take_over_deployed_after=None)
        for key, state, hint in (
            ('', Enforcement.ENFORCED, 'set [enforcement] shared_key'),
            ('k', Enforcement.ABSENT, 'ironic-ownership-middleware'),
            ('k', Enforcement.OTHER_KEY, 'the clocks of both machines'),
        ):
            self.wired.shared_key, self.ironic.middleware = key, state
            for more in ({}, {'dry_run': True}):
                error = self.patch('old', 409, **self.ORDER, **more)['error']
                self.assertEqual('not_enforced', error['code'])
                self.assertIn(hint, error['hint'])
        self.assertEqual(before, self.state())
        # It can be revoked at any time.
        self.patch('old', take_over_deployed_after=None)


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
        down = exceptions.BackendUnavailableError('the store is down')
        self.backend.view = mock.Mock(side_effect=down)
        found = self.ask('DELETE', '/v1/services/idle?dry_run=true')
        passed = {gate['gate']: gate['passed'] for gate in found['gates']}
        self.assertFalse(passed['not_alive'])
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
        self.get('/v1/services/idle')
        consumers.clear()
        self.ask('DELETE', '/v1/services/idle')
        self.assertEqual({}, self.wired.placement.providers)


class FailoverTest(ChangesCase):
    def test_failover_to_another_process_is_a_warning(self) -> None:
        fail_over = SqlRecords.fail_over
        warning = 'two did not take over: new is served by three'
        for registers, *expected in (
            ('three', False, [warning]),
            ('two', True, []),
        ):
            self.backend.join('new', 'two', world.ALL)

            def registering(
                records: SqlRecords,
                host: str,
                now: str = registers,
                **more: str,
            ) -> None:
                fail_over(records, host, **more)
                if now != 'two':
                    self.backend.leave()
                records.register(host, world.ALL, incarnation=now)

            with mock.patch.object(SqlRecords, 'fail_over', registering):
                path = '/v1/services/NEW/failover'
                row = self.ask('POST', path, json={'to': 'tw'})
            self.assertEqual(expected, [row['done'], row['warnings']])
