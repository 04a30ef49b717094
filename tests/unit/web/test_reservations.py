"""Reservations over HTTP: idempotent, refused with reasons, released."""

from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import exceptions
from tests.unit.engine import world
from tests.unit.web import app_case

RESERVING = world.runs(all=None, reservation=None)
PATH = '/v1/reservations'


class ReservingCase(app_case.SiteCase):
    """``rack`` runs the policy; nodes 11 to 14 are free and gold."""

    def setUp(self) -> None:
        super().setUp()
        self.backend.leave()
        self.start('rack', RESERVING)
        for number in range(11, 15):
            node = world.node(
                number,
                driver='fake-hardware',
                resource_class='gold',
                provision_state='available',
                power_state='power off',
            )
            self.ironic.put(node)

    def body(self, number: int = 1, **more: Any) -> dict[str, Any]:
        """Return the request for an instance of that number."""
        return {
            'instance_uuid': world.uuid(900 + number),
            'service': 'rack',
            'resource_class': 'gold',
            **more,
        }


class ReservationsTest(ReservingCase):
    def reserve(self, status: int = 201, number: int = 1, **more: Any) -> Any:
        return self.ask('POST', PATH, status, json=self.body(number, **more))

    def test_node_is_reserved_and_owned(self) -> None:
        said = self.reserve(200, dry_run=True)
        self.assertEqual(4, said['fitting'])
        self.assertEqual([], self.get(PATH)['reservations'])
        made = self.reserve()
        self.assertEqual(('active', 'rack'), (made['state'], made['service']))
        (record,) = self.records.compute_nodes_by_uuid([made['node_uuid']])
        self.assertEqual(
            ('rack', made['instance_uuid']),
            (record.host, record.instance_uuid),
        )
        for key in (made['id'], made['instance_uuid']):
            self.assertEqual(made, self.get(f'{PATH}/{key}'))
        self.assertEqual(made, self.reserve(200))
        error = self.reserve(409, memory_mb=1)['error']
        self.assertEqual('reservation_conflict', error['code'])
        self.assertIn(
            'ironic_ownership_reservations{confirmed="false",'
            'service="rack",state="active"} 1.0',
            self.client.get('/metrics').text,
        )

    def test_confirmed_or_deleted_twice_it_changes_once(self) -> None:
        made = self.reserve()
        self.assertFalse(made['confirmed'])
        path = f'{PATH}/{made["id"]}'
        for _ in range(2):
            found = self.ask('POST', f'{path}/confirm')
            self.assertTrue(found['confirmed'])
        for _ in range(2):
            self.assertEqual('closed', self.ask('DELETE', path)['state'])
        self.refused('POST', f'{path}/confirm', 409)
        self.assertEqual([], self.get(PATH)['reservations'])
        (row,) = self.get(f'{PATH}?all=true')['reservations']
        self.assertEqual(made['id'], row['id'])
        self.assertIsNone(self.ironic.nodes[made['node_uuid']].instance_uuid)

    def test_pages_are_walked_oldest_first(self) -> None:
        made = [self.reserve(number=n)['id'] for n in (3, 1, 2)]
        for limit in (1, 2, 3, 4):
            path = f'{PATH}?limit={limit}&service=RACK'
            self.assertEqual(made, self.walk(path, 'id'))

    def test_unfinished_reservation_is_reported_with_its_id(self) -> None:
        self.wired.allocations.failures['create'] = (
            exceptions.IronicUnavailableError('down')
        )
        error = self.reserve(503)['error']
        self.assertEqual('reservation_unfinished', error['code'])
        (pending,) = self.get(PATH)['reservations']
        self.assertEqual(
            (error['details']['reservation_id'], 'pending'),
            (pending['id'], pending['state']),
        )
        self.wired.allocations.failures.clear()
        self.assertEqual(pending['id'], self.reserve()['id'])

    def test_half_a_character_is_no_text(self) -> None:
        self.refused(
            *('POST', PATH, 400),
            data=b'{"service": "\\ud800"}',
            content_type='application/json',
        )
