"""Reservations over HTTP, from several processes, of a real Ironic."""

from __future__ import annotations

import uuid as uuid_

from tests.functional.support import api_process, reservation_case

FREE = 3


class ReservationsTest(api_process.ApiCase):
    """``rack1`` reserves; three nodes are free."""

    nodes_of_each = 0

    def setUp(self) -> None:
        super().setUp()
        self.lab.serve('rack1', reservation_case.RESERVING)
        self.free = set(self.enrolment.enrol(FREE))
        self.apis = [self.serve(), self.serve()]

    def reserve(self, *instances: str) -> list[api_process.Answer]:
        """Ask for nodes, each time another one of the processes."""
        return [
            self.apis[number % 2].ask(
                'POST',
                '/v1/reservations',
                {
                    'instance_uuid': instance,
                    'service': 'rack1',
                    'resource_class': reservation_case.CLASS,
                },
            )
            for number, instance in enumerate(instances)
        ]

    def held(self) -> dict[str, str]:
        """Return the instance of each node that Ironic holds."""
        found = ((uuid, self.inventory.get(uuid)) for uuid in self.free)
        return {
            uuid: node.instance_uuid
            for uuid, node in found
            if node is not None and node.instance_uuid
        }

    def test_no_node_is_given_twice_and_a_refusal_is_reported(self) -> None:
        asked = [str(uuid_.uuid4()) for _ in range(FREE + 2)]
        answers = self.reserve(*asked)
        made = [a.body for a in answers if a.status == 201]
        left = [a for a in answers if a.status != 201]
        self.assertEqual(FREE, len(made), [a.text for a in answers])
        self.assertEqual(self.free, {one['node_uuid'] for one in made})
        self.assertEqual(
            {one['node_uuid']: one['instance_uuid'] for one in made},
            self.held(),
        )
        for answer in left:
            self.assertEqual(409, answer.status, answer.text)
        self.assertEqual(dict.fromkeys(self.free, 'rack1'), self.owners())
        for one in made:
            path = f'/v1/reservations/{one["id"]}'
            ended = self.apis[0].ask('DELETE', path)
            self.assertEqual('closed', ended.body['state'], ended.text)
        self.assertEqual({}, self.held())
        self.assertEqual(dict.fromkeys(self.free), self.owners())

    def test_same_request_of_both_is_one_reservation(self) -> None:
        instance = str(uuid_.uuid4())
        answers = self.reserve(*[instance] * 4)
        for answer in answers:
            self.assertIn(answer.status, (200, 201), answer.text)
        self.assertEqual(1, len({a.body['id'] for a in answers}))
        self.assertEqual([instance], list(self.held().values()))
