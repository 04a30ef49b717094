"""Reservations over HTTP: idempotent, refused with reasons, released."""

from __future__ import annotations

from ironic_ownership.api.resources import reservations as shown
from ironic_ownership.contracts import exceptions
from ironic_ownership.observe import columns
from tests.unit.engine import world
from tests.unit.web import app_case

RESERVING = world.runs(all=None, reservation=None)
PATH = '/v1/reservations'


class ReservingCase(app_case.SiteCase):
    """``rack`` runs the policy; nodes 11 to 14 are free and gold."""

    def setUp(self) -> None:
        super().setUp()
        self.backend.leave()
        self.backend.join('rack', 'three', RESERVING)
        self.records.register('rack', RESERVING, incarnation='three')
        self.ironic.put(
            *(
                world.node(
                    number,
                    driver='fake-hardware',
                    resource_class='gold',
                    provision_state='available',
                    power_state='power off',
                )
                for number in range(11, 15)
            )
        )

    def body(self, number: int = 1, **more):
        """Return the request for an instance of that number."""
        return {
            'instance_uuid': world.uuid(900 + number),
            'service': 'rack',
            'resource_class': 'gold',
            **more,
        }


class ReservationsTest(ReservingCase):
    def reserve(self, status: int = 201, number: int = 1, **more):
        body = self.body(number, **more)
        if status >= 400:
            return self.refused('POST', PATH, status, json=body)
        return self.ask('POST', PATH, status, json=body)

    def test_node_is_reserved_and_owned(self) -> None:
        made = self.reserve()
        self.assertEqual(list(columns.keys(shown.DETAILED)), list(made))
        self.assertEqual(('active', 'rack'), (made['state'], made['service']))
        (record,) = self.records.compute_nodes_by_uuid([made['node_uuid']])
        self.assertEqual(
            ('rack', made['instance_uuid']),
            (record.host, record.instance_uuid),
        )
        for key in (made['id'], made['instance_uuid']):
            self.assertEqual(made, self.get(f'{PATH}/{key}'))

    def test_same_request_gives_the_same_answer(self) -> None:
        made = self.reserve()
        self.assertEqual(made, self.reserve(200))
        error = self.reserve(409, service='rack', memory_mb=1)
        self.assertEqual('reservation_conflict', error['code'])

    def test_dry_run_reserves_nothing(self) -> None:
        said = self.reserve(200, dry_run=True)
        self.assertEqual(list(columns.keys(shown.CHOICE)), list(said))
        self.assertEqual(4, said['fitting'])
        self.assertEqual([], self.get(PATH)['reservations'])

    def test_deleted_twice_it_is_closed_once(self) -> None:
        made = self.reserve()
        for _ in range(2):
            ended = self.ask('DELETE', f'{PATH}/{made["id"]}')
            self.assertEqual('closed', ended['state'])
        self.assertEqual([], self.get(PATH)['reservations'])
        (row,) = self.get(f'{PATH}?all=true')['reservations']
        self.assertEqual(made['id'], row['id'])
        self.assertIsNone(self.ironic.nodes[made['node_uuid']].instance_uuid)

    def test_confirmed_it_does_not_expire(self) -> None:
        made = self.reserve()
        self.assertFalse(made['confirmed'])
        path = f'{PATH}/{made["id"]}/confirm'
        self.assertTrue(self.ask('POST', path)['confirmed'])
        self.ask('DELETE', f'{PATH}/{made["id"]}')
        self.refused('POST', path, 409)

    def test_pages_are_walked_oldest_first(self) -> None:
        made = [self.reserve(number=n)['id'] for n in (3, 1, 2)]
        for limit in (1, 2, 3, 4):
            found: list[str] = []
            following: str | None = f'{PATH}?limit={limit}&service=RACK'
            while following is not None:
                page = self.get(following)
                found += [row['id'] for row in page['reservations']]
                self.assertLess(len(found), 100, 'the walk does not end')
                following = page['next']
            self.assertEqual(made, found)

    def test_unfinished_reservation_is_reported_with_its_id(self) -> None:
        self.wired.allocations.failures['create'] = (
            exceptions.IronicUnavailableError('down')
        )
        error = self.reserve(503)
        self.assertEqual('reservation_unfinished', error['code'])
        (pending,) = self.get(PATH)['reservations']
        self.assertEqual(
            (error['details']['reservation_id'], 'pending'),
            (pending['id'], pending['state']),
        )
        self.wired.allocations.failures.clear()
        self.assertEqual(pending['id'], self.reserve(201)['id'])

    def test_half_a_character_is_no_text(self) -> None:
        self.refused(
            'POST',
            PATH,
            400,
            data=b'{"service": "\\ud800"}',
            content_type='application/json',
        )

    def test_metrics_count_them(self) -> None:
        self.reserve()
        text = self.client.get('/metrics').text
        self.assertIn(
            'ironic_ownership_reservations{confirmed="false",'
            'service="rack",state="active"} 1.0',
            text,
        )
