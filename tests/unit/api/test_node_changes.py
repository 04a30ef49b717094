from __future__ import annotations

from typing import Any

from ironic_ownership.api.resources import node_changes as shown
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.deletion.gates import GATES
from ironic_ownership.engine.gates import codes
from ironic_ownership.observe import columns
from tests.contract.suites import placement
from tests.unit.engine import world
from tests.unit.web import app_case

GONE, THERE = world.uuid(1), world.uuid(2)
ONE = f'/v1/compute-nodes/{GONE}'
MANY = '/v1/compute-nodes/delete'
CHECK = '/v1/compute-nodes/check-delete'


class DeletionCase(app_case.SiteCase):
    """Ironic does not have node 1 of ``old`` any more."""

    def setUp(self) -> None:
        super().setUp()
        del self.ironic.nodes[GONE]
        self.wired.placement = placement.FakePlacement(
            map(world.uuid, range(1, 7))
        )

    def recorded(self) -> set[str]:
        return {record.uuid for record in self.records.compute_nodes()}

    def assert_all_kept(self) -> None:
        everything = {world.uuid(number) for number in range(1, 7)}
        self.assertEqual(everything, self.recorded())
        self.assertEqual(everything, self.wired.placement.providers.keys())

    def results(self, body: dict[str, Any]) -> dict[str, str]:
        return {row['uuid']: row['result'] for row in body['nodes']}


class CheckDeleteTest(DeletionCase):
    def test_every_gate_is_shown(self) -> None:
        gates = self.get(f'{ONE}/check-delete')['gates']
        self.assertEqual(codes(GATES), [gate['gate'] for gate in gates])
        for gate in gates:
            self.assertEqual(list(columns.keys(shown.GATES)), list(gate))
            self.assertEqual(
                (GONE, 'node1', 'old', 'passed'),
                tuple(
                    gate[key]
                    for key in ('uuid', 'name', 'service', shown.OUTCOME)
                ),
            )
        self.assert_all_kept()
        self.assertEqual(1, len(self.wired.request_ids))

    def test_many_nodes_are_listed_once(self) -> None:
        self.ironic.calls.clear()
        body = {'uuids': [GONE, THERE]}
        gates = self.ask('POST', CHECK, json=body)['gates']
        failed = [
            (gate['uuid'], gate['gate'])
            for gate in gates
            if gate[shown.OUTCOME] != 'passed'
        ]
        self.assertEqual([(THERE, 'node_is_gone')], failed)
        lists = [name for name, _ in self.ironic.calls if name == 'scan']
        self.assertEqual(1, len(lists))

    def test_outage_of_ironic_is_an_unknown_gate(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        gates = self.get(f'{ONE}/check-delete')['gates']
        self.assertEqual(
            ['node_is_gone', 'no_mass_loss', 'sees_all_nodes'],
            [g['gate'] for g in gates if g[shown.OUTCOME] == 'unknown'],
        )


class DeleteTest(DeletionCase):
    def test_record_and_provider_are_deleted_for_the_client(self) -> None:
        answer = self.client.delete(ONE)
        self.assertEqual(200, answer.status_code, answer.text)
        body = answer.get_json()
        (row,) = body['nodes']
        self.assertEqual(list(columns.keys(shown.RESULTS)), list(row))
        self.assertEqual(
            ('deleted', True), (row['result'], row['provider_deleted'])
        )
        request_id = answer.headers['x-openstack-request-id']
        self.assertEqual(request_id, body['request_id'])
        self.assertEqual([request_id], self.wired.request_ids)
        self.assertNotIn(GONE, self.recorded())
        self.assertNotIn(GONE, self.wired.placement.providers)
        self.assertEqual('api@local', self.records.events(limit=1)[0].actor)

    def test_dry_run_changes_nothing(self) -> None:
        one = self.ask('DELETE', f'{ONE}?dry_run=true')
        many = self.ask('POST', MANY, json={'uuids': [GONE], 'dry_run': True})
        for body in (one, many):
            self.assertEqual({GONE: 'would_delete'}, self.results(body))
            self.assertEqual(len(GATES), len(body['gates']))
            self.assertTrue(body['dry_run'])
        self.assert_all_kept()

    def test_refusal_lists_the_gates_and_changes_nothing(self) -> None:
        for error in (
            self.refused('DELETE', f'/v1/compute-nodes/{THERE}', 409),
            self.refused('POST', MANY, 409, json={'uuids': [THERE]}),
        ):
            self.assertEqual('gates_failed', error['code'])
            (row,) = error['details']['nodes']
            self.assertEqual(['node_is_gone'], row['failed_gates'])
            self.assertEqual(
                ['node_is_gone'],
                [
                    gate['gate']
                    for gate in error['details']['gates']
                    if gate[shown.OUTCOME] != 'passed'
                ],
            )
        self.assert_all_kept()

    def test_refused_nodes_of_many_are_skipped(self) -> None:
        body = {'uuids': [THERE, GONE, GONE]}
        done = self.ask('POST', MANY, json=body)
        self.assertEqual(
            {THERE: 'refused', GONE: 'deleted'}, self.results(done)
        )
        self.assertNotIn(GONE, self.recorded())
        self.assertIn(THERE, self.recorded())

    def test_mass_loss_refuses_all(self) -> None:
        uuids = [world.uuid(number) for number in range(1, 5)]
        self.ironic.nodes = {}
        self.refused('POST', MANY, 409, json={'uuids': uuids})
        self.assert_all_kept()

    def test_unknown_nodes_are_all_named(self) -> None:
        body = {'uuids': [GONE, world.uuid(99), world.uuid(98)]}
        error = self.refused('POST', MANY, 404, json=body)
        for word in (world.uuid(99), world.uuid(98)):
            self.assertIn(word, error['message'])
        self.refused('DELETE', f'/v1/compute-nodes/{world.uuid(99)}', 404)
        self.assert_all_kept()

    def test_invalid_requests_are_refused(self) -> None:
        for body in (
            {},
            {'uuids': []},
            {'uuids': ['node1']},
            {'uuids': [GONE], 'force': True},
        ):
            self.refused('POST', MANY, 400, json=body)
        self.refused('DELETE', '/v1/compute-nodes/node1', 400)
        self.assert_all_kept()
