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

    def test_whole_life_of_a_reservation(self) -> None:
        instance = reservation_case.instance()
        made = reservation_case.result(self.create(instance, '--vcpus', '2'))
        self.assertEqual(
            ('active', 'rack1', instance, False, 'allocation'),
            tuple(
                made[key]
                for key in (
                    'state',
                    'service',
                    'instance_uuid',
                    'confirmed',
                    'method',
                )
            ),
        )
        self.assertEqual(
            {
                'instance_uuid': instance,
                'service': 'rack1',
                'resource_class': reservation_case.CLASS,
                'vcpus': 2,
            },
            made['request'],
        )
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
        deleted = reservation_case.result(
            self.delete(str(made['id']), '-f', 'json')
        )
        self.assertEqual('closed', deleted['state'])
        self.assert_sound()
        self.assertEqual({}, self.held_by_ironic())
        self.assertEqual([], self.lab.json('reservation', 'list'))
        (listed,) = self.lab.json('reservation', 'list', '--all')
        self.assertEqual(made['id'], listed['id'])

    def test_what_a_dead_service_leaves_is_named_and_can_be_given_back(
        self,
    ) -> None:
        made = reservation_case.result(
            self.create(reservation_case.instance())
        )

        def left() -> list[str]:
            done = self.lab.run('check', '-f', 'json')
            return [
                uuid
                for found in json.loads(done.stdout)
                if found['code'] == 'reservation_left'
                for uuid in found['subjects']
            ]

        self.assertEqual([], left())
        self.lab.bury('rack1')
        self.assertEqual([made['id']], left())
        deleted = reservation_case.result(
            self.delete(str(made['id']), '-f', 'json')
        )
        self.assertEqual('closed', deleted['state'])
        self.assertEqual([], left())
        self.assertEqual({}, self.held_by_ironic())

    def test_dry_runs_change_nothing(self) -> None:
        done = self.create(reservation_case.instance(), '--dry-run')
        choice = reservation_case.result(done)
        self.assertEqual(4, choice['fitting'])
        self.assertLessEqual(set(choice['candidates']), set(self.nodes))
        done = self.create(
            reservation_case.instance(), '--trait', 'CUSTOM_X', '--dry-run'
        )
        self.assertEqual(3, done.returncode, done.stderr)
        self.assertEqual(
            {'trait:CUSTOM_X': 4}, json.loads(done.stdout)['removed']
        )
        made = reservation_case.result(
            self.create(reservation_case.instance())
        )
        for verb in ('confirm', 'delete'):
            self.assertEqual(made, self.one(verb, made['id'], '--dry-run'))
        self.assert_sound()

    def test_no_match_is_refused_with_counts_by_condition(self) -> None:
        self.enrolment.set_maintenance(self.nodes[0], True)
        done = self.create(
            reservation_case.instance(), '--memory-mb', '999999'
        )
        self.assertEqual(3, done.returncode)
        self.assertIn('memory_mb 4', done.stderr)
        for node in self.nodes:
            self.enrolment.set_maintenance(node, True)
        done = self.create(reservation_case.instance())
        self.assertEqual(3, done.returncode)
        self.assertIn('maintenance 4', done.stderr)
        self.assert_sound()

    def test_request_can_be_a_file_with_all_faults_reported(
        self,
    ) -> None:
        path = self.lab.directory / 'request.yaml'
        instance = reservation_case.instance()
        path.write_text(
            json.dumps(
                {
                    'instance_uuid': instance,
                    'service': 'RACK1',
                    'extra_specs': {'resources:CUSTOM_BAREMETAL': '1'},
                    'image': {'properties': {'hw_architecture': 'x86_64'}},
                }
            )
        )
        words = ('reservation', 'create', '--request', str(path), '--yes')
        made = self.lab.json(*words, '--trait', 'CUSTOM_LAB')
        self.assertEqual(['CUSTOM_LAB'], made['request']['traits'])
        self.assert_sound()
        path.write_text('{"instance_uuid": 1, "vcpus": -1, "colour": "red"}')
        done = self.lab.run(*words)
        self.assertEqual(2, done.returncode)
        for word in ('instance_uuid', 'vcpus', 'colour', 'service'):
            self.assertIn(word, done.stderr)

    def test_what_is_not_possible_is_refused(self) -> None:
        self.lab.serve('rack2', reservation_case.RESERVING, alive=False)
        self.lab.serve('rack3', reservation_case.command_line.ALL)
        instance = reservation_case.instance()
        for host, code, word in (
            ('rack2', 3, 'not alive'),
            ('rack3', 3, 'policy'),
            ('rack9', 1, 'no service rack9'),
        ):
            done = self.create(instance, host=host)
            self.assertEqual(code, done.returncode, done.stderr)
            self.assertIn(word, done.stderr)
        reservation_case.result(self.create(instance))
        done = self.create(instance, '--vcpus', '1')
        self.assertEqual(3, done.returncode)
        self.assertIn('for another request', done.stderr)
        self.assert_sound()

    def test_node_that_is_deployed_is_not_given_back(self) -> None:
        instance = reservation_case.instance()
        made = reservation_case.result(self.create(instance))
        with self.server.sql() as database:
            database.execute(
                "UPDATE nodes SET provision_state = 'active' WHERE uuid = ?",
                (made['node_uuid'],),
            )
        done = self.lab.run('reservation', 'delete', instance, '--yes')
        self.assertEqual(3, done.returncode, done.stderr)
        self.assertTrue(self.one('show', instance)['confirmed'])
        self.assert_sound()

    def test_ironic_that_answers_503_leaves_what_can_be_repeated(self) -> None:
        instance = reservation_case.instance()
        for methods in (('POST',), ('DELETE',)):
            self.gate.stop_at = lambda method, path, asked=methods: (
                reservation_case.UNAVAILABLE if method in asked else None
            )
            if methods == ('POST',):
                done = self.create_once(instance)
            else:
                done = self.lab.run('reservation', 'delete', instance, '--yes')
            self.assertEqual(4, done.returncode, done.stderr)
            self.assertIn('is not finished', done.stderr)
            self.gate.stop_at = lambda method, path: None
            if methods == ('POST',):
                reservation_case.result(self.create(instance))
                self.assert_sound()
        self.age()
        done = self.delete(instance)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_sound()
        self.assertEqual({}, self.held_by_ironic())

    def test_node_that_goes_into_maintenance_meanwhile_is_not_reserved(
        self,
    ) -> None:
        left = self.nodes[-1]

        def into_maintenance(method: str, path: str) -> None:
            if method == 'POST' and path == '/v1/allocations':
                for node in self.nodes:
                    if node != left:
                        self.enrolment.set_maintenance(node, True)

        self.gate.stop_at = into_maintenance
        made = reservation_case.result(
            self.create(reservation_case.instance())
        )
        self.assertEqual(left, made['node_uuid'])
        done = self.create(reservation_case.instance())
        self.assertEqual(3, done.returncode)
        self.assertIn('maintenance 3', done.stderr)
        self.assert_sound()

    def test_all_nodes_that_go_into_maintenance_meanwhile_are_no_match(
        self,
    ) -> None:
        def into_maintenance(method: str, path: str) -> None:
            if method == 'POST' and path == '/v1/allocations':
                for node in self.nodes:
                    self.enrolment.set_maintenance(node, True)

        self.gate.stop_at = into_maintenance
        done = self.create(reservation_case.instance())
        self.assertEqual(3, done.returncode, done.stderr)
        self.assertIn('maintenance 4', done.stderr)
        self.assert_sound()
        self.assertEqual({}, self.held_by_ironic())
