"""A move that is killed at any of its commits, interrupted or raced."""

from __future__ import annotations

import itertools
import json
import signal

from ironic_ownership.contracts.moves import NodeState
from ironic_ownership.db.moves import SqlMoves
from tests.functional.support import command_line, databases, laws, move_case

MOVED, PLANNED = NodeState.MOVED, NodeState.PLANNED


class KilledMoveTest(move_case.MoveTestCase):
    """The same three nodes in a fresh database for each kill."""

    def setUp(self) -> None:
        super().setUp()
        self.seen = [self.bare_metal.get(uuid) for uuid in self.nodes[:3]]

    def fresh(self) -> command_line.Deployment:
        lab = command_line.Deployment(self.server.endpoint)
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
            for move in SqlMoves(lab._database).moves(unfinished=True):
                done = lab.run('move', 'resume', move.request_id, '--yes')
                self.assertEqual(0, done.returncode, done.stderr)
            results = self.results(lab)
            self.assertLessEqual(set(results.values()), {MOVED})
            self.assert_invariants(lab, results)
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


class InterruptedMoveTest(move_case.MoveTestCase):
    def test_interrupt_ends_after_the_batch_and_says_how_to_resume(
        self,
    ) -> None:
        child = self.drive(1, 'SIGINT', 'UPDATE compute_nodes')
        stdout, stderr = child.communicate()
        self.assertEqual(130, child.returncode, stderr)
        move = self.the_move()
        self.assertEqual({MOVED: 2, PLANNED: 2}, move.counts)
        self.assertEqual(2, len(self.owned_by('new')))
        self.assertIn(f'move resume {move.request_id}', stderr)
        self.assertEqual(
            ['moved', 'moved', 'planned', 'planned'],
            sorted(row['state'] for row in json.loads(stdout)),
        )
        done = self.lab.run('move', 'resume', move.request_id, '--yes')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual({MOVED: 4}, self.the_move().counts)
        self.assertEqual(sorted(self.nodes), self.owned_by('new'))


class DatabaseRestartTest(move_case.MoveTestCase):
    def test_restart_within_a_batch_is_resumed(self) -> None:
        lab = command_line.Deployment(
            self.server.endpoint, databases.POSTGRESQL.fresh()
        )
        self.addCleanup(lab.close)
        epoch = lab.serve('old', command_line.ALL, alive=False)
        lab.serve('new', command_line.ALL)
        seen = [self.bare_metal.get(uuid) for uuid in self.nodes]
        lab.claim('old', epoch, *filter(None, seen))
        lab.records.set_service('old', actor='test', disabled=True)
        child = self.drive(2, 'SIGSTOP', 'UPDATE reservations', lab=lab)
        self.wait_until_stopped(child)
        databases.POSTGRESQL.server.restart()
        child.send_signal(signal.SIGCONT)
        _, stderr = child.communicate()
        stored = SqlMoves(lab._database)
        (move,) = stored.moves()
        self.assertEqual(1, child.returncode, stderr)
        self.assertIn(f'move resume {move.request_id}', stderr)
        self.assertNotIn('Traceback', stderr)
        self.assertEqual({MOVED: 2, PLANNED: 2}, move.counts)
        self.assertEqual([], list(stored.separated()))
        done = lab.run('move', 'resume', move.request_id, '--yes')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            {'new'}, {n.host for n in lab.records.compute_nodes()}
        )
        self.assertEqual([], list(stored.separated()))
