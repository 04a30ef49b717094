"""The commands about reservations, with a real Ironic."""

from __future__ import annotations

import json

from tests.functional.support import reservation_case


class ReservationTest(reservation_case.ReservingTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.serve('rack1')

    def one(self, *words: str) -> dict[str, object]:
        return reservation_case.result(
            self.lab.run('reservation', *words, '-f', 'json')
        )

    def close(self, made: dict[str, object]) -> None:
        deleted = reservation_case.result(
            self.delete(str(made['id']), '-f', 'json')
        )
        self.assertEqual('closed', deleted['state'])
        self.assertEqual({}, self.held_by_ironic())

    def test_whole_life_of_a_reservation(self) -> None:
        instance = reservation_case.instance()
        made = reservation_case.result(self.create(instance, '--vcpus', '2'))
        expected = {
            'state': 'active',
            'service': 'rack1',
            'instance_uuid': instance,
            'confirmed': False,
            'method': 'allocation',
            'request': {
                'instance_uuid': instance,
                'service': 'rack1',
                'resource_class': reservation_case.CLASS,
                'vcpus': 2,
            },
        }
        self.assertEqual(expected, {key: made[key] for key in expected})
        self.assertIsNotNone(made['expires_at'])
        self.assert_sound()
        again = reservation_case.result(self.create(instance, '--vcpus', '2'))
        self.assertEqual(made, again)
        for key in (made['id'], instance):
            self.assertEqual(made, self.one('show', str(key)))
        (listed,) = self.lab.json('reservation', 'list')
        self.assertEqual({k: made[k] for k in listed}, listed)
        confirmed = self.one('confirm', instance, '--yes')
        self.assertEqual(
            (True, None), (confirmed['confirmed'], confirmed['expires_at'])
        )
        self.close(made)
        self.assert_sound()
        self.assertEqual([], self.lab.json('reservation', 'list'))
        (listed,) = self.lab.json('reservation', 'list', '--all')
        self.assertEqual(made['id'], listed['id'])

    def test_what_a_dead_service_leaves_is_named_and_can_be_given_back(
        self,
    ) -> None:
        made = reservation_case.result(
            self.create(reservation_case.instance())
        )

        def left() -> list[list[str]]:
            done = self.lab.run('check', '-f', 'json')
            return [
                found['subjects']
                for found in json.loads(done.stdout)
                if found['code'] == 'reservation_left'
            ]

        self.assertEqual([], left())
        self.lab.bury('rack1')
        self.assertEqual([[made['id']]], left())
        self.close(made)
        self.assertEqual([], left())
