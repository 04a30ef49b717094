"""Moves with a real Ironic and Placement, interrupted at each step as well."""

from __future__ import annotations

import itertools
import json
import signal

from ironic_ownership.contracts.moves import NodeState
from ironic_ownership.db.moves import SqlMoves
from tests.functional.support import (
    command_line,
    databases,
    laws,
    move_case,
    placements,
)

MOVED, PLANNED = NodeState.MOVED, NodeState.PLANNED
MISSING = '00000000-0000-4000-8000-00000000dead'


class MoveTest(placements.PlacementTestCase, move_case.MoveTestCase):
    """Beside a real Placement, whose providers stay as they are."""

    def setUp(self) -> None:
        super().setUp()
        server = self.placement_server
        server.provide(*self.nodes)
        server.set_traits(self.nodes[0], ['CUSTOM_RACK1'])
        server.allocate(self.nodes[0])
        lines = [f'{k} = {v}' for k, v in server.options().items()]
        self.config = self.lab.configure(
            'placement', more='\n'.join(['[placement]', *lines])
        )

    def picture(self) -> list[object]:
        """Return all that Placement has about the nodes."""
        parts = '', '/inventories', '/traits', '/aggregates', '/allocations'
        return [
            self.placement_server.request(
                'GET', f'/resource_providers/{uuid}{part}'
            )
            for uuid in self.nodes
            for part in parts
        ]

    def test_every_failed_gate_of_every_node_is_listed(self) -> None:
        self.lab.records.set_service('old', actor='test', disabled=False)
        self.lab.records.set_service('new', actor='test', disabled=True)
        busy, changed, gone, fine = self.nodes
        self.enrolment.delete(gone)
        with self.server.sql() as database:
            for column, value, uuid in (
                ('reservation', 'conductor-1', busy),
                ('instance_uuid', MISSING, changed),
            ):
                database.execute(
                    f'UPDATE nodes SET {column} = ? WHERE uuid = ?',
                    (value, uuid),
                )
        rows = self.move(*self.nodes, MISSING, code=3)
        both = {'source_stopped', 'destination_enabled'}
        agrees, idle = 'instance_agrees', 'no_operation_in_progress'
        unseen = {'destination_admits', 'node_exists', agrees, idle}
        self.assertEqual(
            {
                gone: both | unseen,
                busy: both | {idle},
                changed: both | {agrees},
                fine: both,
                MISSING: both | unseen | {'record_exists'},
            },
            {
                row['uuid']: {
                    g['gate'] for g in row['gates'] if g['result'] == 'failed'
                }
                for row in rows
            },
        )
        self.assertIn('source_stopped: 5 of 5 nodes', self.stderr)
        self.assertIn('nothing was moved', self.stderr)
        self.assertEqual(sorted(self.nodes), self.owned_by('old'))
        self.assertEqual([], list(self.moves.moves()))

    def test_nodes_move_with_their_instances_and_nothing_else(self) -> None:
        before, picture = self.records(), self.picture()
        name = before[self.nodes[2]].name
        assert name
        rows = self.move(
            *(self.nodes[0].upper(), name, self.nodes[3]),
            to=' NEW',
            config=self.config,
        )
        moved = [self.nodes[0], *self.nodes[2:]]
        self.assertEqual(
            [('moved', 'new', before[u].instance_uuid) for u in moved],
            [(r['state'], r['destination'], r['instance_uuid']) for r in rows],
        )
        after = self.records()
        self.assertEqual(sorted(moved), self.owned_by('new'))
        self.assertEqual(
            {u: node.instance_uuid for u, node in before.items()},
            {u: node.instance_uuid for u, node in after.items()},
        )
        self.assert_whole()
        self.assertEqual(picture, self.picture())
        # The move's id is in the requests to both servers.
        request_id = self.the_move().request_id
        asked = [
            headers.get('x-openstack-request-id')
            for path, _, headers in self.proxy.requests
            if path.startswith('/v1/nodes')
        ]
        self.assertEqual({request_id}, set(asked))
        log = self.placement_server.directory / 'placement.log'
        self.assertIn(request_id, log.read_text())


class KilledTest(move_case.MoveTestCase):
    """The same three nodes in a fresh database for each kill."""

    def setUp(self) -> None:
        super().setUp()
        self.seen = [self.bare_metal.get(uuid) for uuid in self.nodes[:3]]

    def fresh(self, url: str | None = None) -> command_line.Deployment:
        lab = command_line.Deployment(self.endpoint, url)
        self.addCleanup(lab.close)
        epoch = lab.serve('old', command_line.ALL, alive=False)
        lab.serve('new', command_line.ALL)
        lab.claim('old', epoch, *filter(None, self.seen))
        lab.records.set_service('old', actor='test', disabled=True)
        return lab

    def assert_invariants(
        self, lab: command_line.Deployment, results: dict[str, NodeState]
    ) -> None:
        """Prove that every node is wholly here or there, as the move says."""
        stored = SqlMoves(lab._database)
        self.assertEqual([], list(stored.separated()))
        self.assertEqual([], laws.violations(lab.records))
        by_uuid = {n.uuid: n for n in lab.records.compute_nodes()}
        for node in filter(None, self.seen):
            record = by_uuid.pop(node.uuid)
            moved = results.get(node.uuid) is MOVED
            self.assertEqual('new' if moved else 'old', record.host)
            self.assertEqual(node.instance_uuid, record.instance_uuid)
        self.assertEqual({}, by_uuid)

    def results(self, lab: command_line.Deployment) -> dict[str, NodeState]:
        stored = SqlMoves(lab._database)
        return {
            node.uuid: node.state
            for move in stored.moves()
            for node in stored.nodes(move.request_id)
        }

    def resume(self, lab: command_line.Deployment) -> None:
        """Resume what is unfinished, and prove that all is moved."""
        for move in SqlMoves(lab._database).moves(unfinished=True):
            done = lab.run('move', 'resume', move.request_id, '--yes')
            self.assertEqual(0, done.returncode, done.stderr)
        results = self.results(lab)
        self.assertLessEqual(set(results.values()), {MOVED})
        self.assert_invariants(lab, results)

    def test_killed_at_any_commit_it_is_whole_and_can_be_resumed(
        self,
    ) -> None:
        stages = set()
        for number in itertools.count(1):
            lab = self.fresh()
            # Within a transaction no other process sees a difference.
            child = self.drive_to_its_end(number, 'SIGKILL', 'COMMIT', lab)
            results = self.results(lab)
            self.assert_invariants(lab, results)
            stages.add(tuple(sorted(s.value for s in results.values())))
            if child.returncode == 0:
                break
            self.assertEqual(-signal.SIGKILL, child.returncode, child.stderr)
            self.resume(lab)
        # It was killed before, within and after the batches.
        self.assertEqual(
            {
                (),
                ('planned',) * 3,
                ('moved', 'moved', 'planned'),
                ('moved',) * 3,
            },
            stages,
        )

    def test_restart_of_the_database_within_a_batch_is_resumed(self) -> None:
        lab = self.fresh(databases.POSTGRESQL.fresh())
        child = self.drive(2, 'SIGSTOP', 'UPDATE reservations', lab=lab)
        self.wait_until_stopped(child)
        databases.POSTGRESQL.server.restart()
        child.send_signal(signal.SIGCONT)
        _, stderr = child.communicate()
        (move,) = SqlMoves(lab._database).moves()
        self.assertEqual(1, child.returncode, stderr)
        self.assertIn(f'move resume {move.request_id}', stderr)
        self.assertNotIn('Traceback', stderr)
        self.assertEqual({MOVED: 2, PLANNED: 1}, move.counts)
        self.resume(lab)

    def test_interrupt_ends_after_the_batch_and_says_how_to_resume(
        self,
    ) -> None:
        child = self.drive(1, 'SIGINT', 'UPDATE compute_nodes')
        stdout, stderr = child.communicate()
        self.assertEqual(130, child.returncode, stderr)
        move = self.the_move()
        self.assertEqual({MOVED: 2, PLANNED: 2}, move.counts)
        self.assertIn(f'move resume {move.request_id}', stderr)
        self.assertEqual(
            ['moved', 'moved', 'planned', 'planned'],
            sorted(row['state'] for row in json.loads(stdout)),
        )
