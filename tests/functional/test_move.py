"""``compute node move`` and ``move`` with a real Ironic."""

from __future__ import annotations

import signal

from tests.functional.support import command_line, move_case, placements

GATES = [
    *('record_exists', 'is_ironic', 'source_stopped', 'not_same_service'),
    *('destination_exists', 'destination_alive', 'destination_enabled'),
    *('destination_admits', 'node_exists', 'at_most_one_instance'),
    *('instance_agrees', 'no_operation_in_progress'),
]
MISSING = '00000000-0000-4000-8000-00000000dead'


class MoveTest(move_case.MoveTestCase):
    def failed(self, row) -> list[str]:
        return [g['gate'] for g in row['gates'] if g['result'] == 'failed']

    def test_nodes_move_with_their_instances(self) -> None:
        name = self.records()[self.nodes[2]].name
        assert name
        before = self.records()
        rows = self.move(self.nodes[0].upper(), name, to=' NEW')
        self.assertEqual(
            [
                ('moved', 'old', 'new', before[uuid].instance_uuid)
                for uuid in (self.nodes[0], self.nodes[2])
            ],
            [
                (r['state'], r['source'], r['destination'], r['instance_uuid'])
                for r in rows
            ],
        )
        after = self.records()
        self.assertEqual(sorted(before), sorted(after))
        for uuid in (self.nodes[0], self.nodes[2]):
            self.assertEqual('new', after[uuid].host)
            self.assertEqual(
                before[uuid].instance_uuid, after[uuid].instance_uuid
            )
        self.assertEqual('old', after[self.nodes[1]].host)
        self.assert_whole()

    def test_dry_run_shows_every_gate_and_changes_nothing(self) -> None:
        rows = self.move(*self.nodes, '--dry-run')
        self.assertEqual(4, len(rows))
        for row in rows:
            self.assertEqual(GATES, [g['gate'] for g in row['gates']])
            self.assertEqual({'passed'}, {g['result'] for g in row['gates']})
            self.assertEqual('planned', row['state'])
        self.assertEqual(sorted(self.nodes), self.owned_by('old'))
        self.assertEqual([], list(self.moves.moves()))

    def test_every_failed_gate_of_every_node_is_listed(self) -> None:
        self.lab.records.set_service('old', actor='test', disabled=False)
        self.lab.records.set_service('new', actor='test', disabled=True)
        busy, changed, gone, fine = self.nodes
        self.enrolment.delete(gone)
        with self.server.sql() as database:
            database.execute(
                "UPDATE nodes SET reservation = 'conductor-1' WHERE uuid = ?",
                (busy,),
            )
            database.execute(
                'UPDATE nodes SET instance_uuid = ? WHERE uuid = ?',
                (MISSING, changed),
            )
        rows = self.move(*self.nodes, MISSING, code=3)
        both = ['source_stopped', 'destination_enabled']
        unseen = ['destination_admits', 'node_exists']
        self.assertEqual(
            {
                gone: {
                    *both,
                    *unseen,
                    'instance_agrees',
                    'no_operation_in_progress',
                },
                busy: {*both, 'no_operation_in_progress'},
                changed: {*both, 'instance_agrees'},
                fine: set(both),
                MISSING: {
                    'record_exists',
                    *both,
                    *unseen,
                    'instance_agrees',
                    'no_operation_in_progress',
                },
            },
            {row['uuid']: set(self.failed(row)) for row in rows},
        )
        self.assertIn('source_stopped: 5 of 5 nodes', self.stderr)
        self.assertIn('nothing was moved', self.stderr)
        self.assertEqual(sorted(self.nodes), self.owned_by('old'))
        self.assertEqual([], list(self.moves.moves()))

    def test_live_source_keeps_its_nodes_until_it_is_forced_down(
        self,
    ) -> None:
        (uuid,) = self.enrol(1, owner='new', instance_share=1.0)
        (free,) = self.enrol(1, owner='new')
        self.lab.serve('other', command_line.ALL)
        self.stop('new')
        (row,) = self.move(uuid, to='other', code=3)
        self.assertEqual(['source_stopped'], self.failed(row))
        before = self.lab.records.service('new')
        # A free node is handed over, and nothing stops for it. That takes a
        # third of the time to live.
        short = '[membership]\nheartbeat_interval = 1\nmember_ttl = 3\n'
        self.lab.config = self.lab.configure('short', more=short)
        self.move(free, to='other')
        self.assertEqual([free], self.owned_by('other'))
        after = self.lab.records.service('new')
        assert before is not None
        assert after is not None
        self.assertEqual(
            (before.epoch, False), (after.epoch, after.fenced), self.stderr
        )
        self.lab.records.set_service('new', actor='test', forced_down=True)
        self.move(uuid, to='other')
        self.assertEqual(sorted((free, uuid)), self.owned_by('other'))

    def test_request_id_is_in_ironic_and_in_the_log(self) -> None:
        done = self.lab.run(
            *('-v', 'compute', 'node', 'move', *self.nodes),
            *('--service', 'new', '--yes'),
        )
        request_id = self.the_move().request_id
        asked = [
            headers.get('x-openstack-request-id')
            for path, _, headers in self.proxy.requests
            if path.startswith('/v1/nodes')
        ]
        self.assertEqual({request_id}, set(asked))
        for uuid in self.nodes:
            line = next(x for x in done.stderr.splitlines() if uuid in x)
            self.assertIn(request_id, line)


class PlaceTest(move_case.MoveTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lab.records.set_service('old', actor='test', disabled=False)
        self.rack1 = self.enrol(2, shard='Rack1')
        self.rack2 = self.enrol(1, shard='rack2', conductor_group='g1')
        self.stop('old')

    def test_with_a_shard_key_every_list_names_a_shard(self) -> None:
        self.lab.records.set_service('old', actor='test', disabled=False)
        self.enrol(25, shard='Rack1')
        self.stop('old')
        config = self.lab.configure(
            'sharded', policies='shard_key', ironic='shard_key = Rack1'
        )
        for words in (
            ('--all', '--from', 'old'),
            ('--conductor-group', ''),
            ('--shard', 'rack2'),
        ):
            self.move(*words, '--dry-run', config=config)
        lists = self.proxy.lists
        self.assertGreaterEqual(len(lists), 3)
        for query in lists:
            self.assertIn('shard', dict(query))


class OutageTest(move_case.MoveTestCase):
    def test_ironic_that_fails_after_the_plan_stops_no_move(self) -> None:
        child = self.drive(2, 'SIGSTOP', 'BEGIN IMMEDIATE')
        self.wait_until_stopped(child)
        self.proxy._target = '127.0.0.1:1'
        child.send_signal(signal.SIGCONT)
        _, stderr = child.communicate()
        self.assertEqual(4, child.returncode, stderr)
        self.assertIn('Ironic could not be compared', stderr)
        self.assertEqual(sorted(self.nodes), self.owned_by('new'))
        self.assert_whole()


class PlacementTest(placements.PlacementTestCase, move_case.MoveTestCase):
    """Beside a real Placement as well."""

    def setUp(self) -> None:
        super().setUp()
        server = self.placement_server
        server.provide(*self.nodes)
        server.set_traits(self.nodes[0], ['CUSTOM_RACK1'])
        self.consumer = server.allocate(self.nodes[0])
        lines = [f'{k} = {v}' for k, v in server.options().items()]
        self.config = self.lab.configure(
            'placement', more='\n'.join(['[placement]', *lines])
        )

    def picture(self) -> list[object]:
        """Return all that Placement has about the nodes."""
        return [
            self.placement_server.request(
                'GET', f'/resource_providers/{uuid}{path}'
            )
            for uuid in self.nodes
            for path in (
                *('', '/inventories', '/traits', '/aggregates'),
                '/allocations',
            )
        ]

    def test_providers_stay_as_they_are(self) -> None:
        before = self.picture()
        self.move(*self.nodes, config=self.config)
        self.assertEqual(before, self.picture())
        self.assertEqual(sorted(self.nodes), self.owned_by('new'))
        log = self.placement_server.directory / 'placement.log'
        self.assertIn(self.the_move().request_id, log.read_text())
