from __future__ import annotations

from ironic_ownership.api.resources import node_changes as shown
from ironic_ownership.engine.changes.gates import RELEASE
from ironic_ownership.engine.deletion.gates import GATES
from ironic_ownership.engine.gates import codes
from tests.contract.suites import placement
from tests.unit.engine import world
from tests.unit.web import app_case

GONE, THERE = world.uuid(1), world.uuid(2)
ONE = f'/v1/compute-nodes/{GONE}'


class DeletionTest(app_case.SiteCase):
    """Ironic does not have node 1 of ``old`` any more."""

    def setUp(self) -> None:
        super().setUp()
        del self.ironic.nodes[GONE]
        self.wired.placement = placement.FakePlacement(
            map(world.uuid, range(1, 7))
        )

    def test_every_gate_is_shown(self) -> None:
        gates = self.get(f'{ONE}/check-delete')['gates']
        self.assertEqual(1, len(self.wired.request_ids))
        body = self.ask('DELETE', f'{ONE}?dry_run=true')
        for found in (gates, body['gates']):
            self.assertEqual(codes(GATES), [gate['gate'] for gate in found])
        for gate in gates:
            self.assertEqual(
                (GONE, 'node1', 'old', 'passed'),
                tuple(
                    gate[key]
                    for key in ('uuid', 'name', 'service', shown.OUTCOME)
                ),
            )
        error = self.refused('DELETE', f'/v1/compute-nodes/{THERE}', 409)
        failed = [
            gate['gate']
            for gate in error['details']['gates']
            if gate[shown.OUTCOME] != 'passed'
        ]
        self.assertEqual(['node_is_gone'], failed)
        self.assertEqual(6, len([*self.records.compute_nodes()]))

    def test_record_and_provider_are_deleted_for_the_client(self) -> None:
        body = self.ask('DELETE', ONE)
        (row,) = body['nodes']
        self.assertEqual(
            ('deleted', True), (row['result'], row['provider_deleted'])
        )
        request_id = self.headers['x-openstack-request-id']
        self.assertEqual(request_id, body['request_id'])
        self.assertEqual([request_id], self.wired.request_ids)
        self.assertEqual(5, len([*self.records.compute_nodes()]))
        self.assertNotIn(GONE, self.wired.placement.providers)


class ReleaseTest(app_case.SiteCase):
    def test_proposal_shows_every_gate(self) -> None:
        body = {'uuids': [GONE, THERE], 'dry_run': True}
        gates = self.ask('POST', '/v1/compute-nodes/release', json=body)
        keys = ('uuid', 'name', 'service', 'gate')
        self.assertEqual(
            [
                (uuid, name, 'old', code)
                for uuid, name in ((GONE, 'node1'), (THERE, 'node2'))
                for code in codes(RELEASE)
            ],
            [tuple(gate[key] for key in keys) for gate in gates['gates']],
        )
