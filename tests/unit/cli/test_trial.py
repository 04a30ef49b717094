"""Trials of moves and drains, in this process and over HTTP."""

from __future__ import annotations

import dataclasses
import io
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.cli import errors, move, move_progress
from ironic_ownership.contracts import exceptions
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.verification import Verification
from tests.unit.cli import test_move


class TrialTest(test_move.CommandCase):
    """``new`` has refreshed; a service that has not is not waited for."""

    def setUp(self) -> None:
        super().setUp()
        self.hurry_trials()

    def refresh(self) -> None:
        self.report_refresh('new', 'one')

    def drain(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        return self.run_command(move.DrainService, 'old', *words)

    def parts(self, rows: list[dict[str, Any]]) -> list[str | None]:
        return sorted((row['trial'] for row in rows), key=str)

    def test_proposal_shows_the_trial(self) -> None:
        for number, rest in ((2, '4 follow'), (6, 'all of them')):
            words = ('--trial', str(number), '--dry-run')
            code, rows = self.drain(*words)
            self.assertEqual(0, code)
            self.assertEqual(number, self.parts(rows).count('first'))
            said = self.stderr.getvalue()
            self.assertIn(f'trial: {number} nodes first: node1, ', said)
            self.assertIn(rest, said)
        self.assertEqual({'old'}, {*self.owners().values()})

    def test_number_below_one_is_refused(self) -> None:
        for number in ('0', '-1', 'x'):
            with (
                mock.patch('sys.stderr', io.StringIO()) as stderr,
                self.assertRaises(SystemExit) as ended,
            ):
                self.drain('--trial', number, '--yes')
            self.assertEqual(2, ended.exception.code)
            self.assertIn('is not a number from 1', stderr.getvalue())
        path = '/v1/services/old/drain'
        for bad in (0, -1, 'x', True):
            self.refused('POST', path, 400, json={'trial': bad})

    def test_others_follow(self) -> None:
        self.refresh()
        code, rows = self.drain('--trial', '2', '--yes')
        self.assertEqual(0, code, self.stderr.getvalue())
        self.assertEqual(['moved'] * 6, [row['state'] for row in rows])
        self.assertEqual(2, self.parts(rows).count('passed'))
        self.assertIn('trial of 2 nodes has passed', self.stderr.getvalue())
        self.assertEqual({'new'}, {*self.owners().values()})

    def test_more_nodes_than_there_are(self) -> None:
        self.refresh()
        code, rows = self.move('node1', 'node2', '--trial', '3', '--yes')
        self.assertEqual(0, code, self.stderr.getvalue())
        self.assertEqual(['passed', 'passed'], self.parts(rows))
        self.assertIn('2 nodes, all of them', self.stderr.getvalue())

    def test_failed_trial_ends_with_3(self) -> None:
        for kind, words in (
            (self.drain, ()),
            (self.move, ('node1', 'node2', 'node3')),
        ):
            code, rows = kind(*words, '--trial', '2', '--yes')
            said = self.stderr.getvalue()
            self.assertEqual(3, code, said)
            self.assertEqual(2, self.parts(rows).count('back'))
            self.assertEqual({'refused'}, {row['state'] for row in rows})
            self.assertIn('the trial failed, 2 nodes went back', said)
            self.assertIn('owner_acts: new does not report', said)
            self.assertEqual({'old'}, {*self.owners().values()})

    def test_trial_that_another_process_decided_ends_with_3(self) -> None:
        self.refresh()
        decide = SqlMoves.pass_trial

        def decided(moves: SqlMoves, request_id: str) -> bool:
            decide(moves, request_id)
            return False

        with (
            mock.patch.object(SqlMoves, 'pass_trial', decided),
            self.assertRaises(exceptions.OwnershipError) as caught,
        ):
            self.move('node1', 'node2', '--trial', '2', '--yes')
        self.assertEqual(
            ('trial_decided', 3),
            (caught.exception.code, caught.exception.exit_code),
        )
        self.assertIn(
            'another process evaluated its trial first: it passed',
            errors.line(caught.exception),
        )

    def test_difference_that_is_found_at_the_end_ends_with_4(self) -> None:
        self.refresh()

        def compare(_: Verification, results: list[Proposal]) -> list[Any]:
            found = ('the cell differs',)
            return [dataclasses.replace(r, findings=found) for r in results]

        with (
            mock.patch.object(Verification, 'compare', compare),
            self.assertLogs('test', 'WARNING') as logs,
        ):
            code, _ = self.move('node1', 'node2', '--trial', '1', '--yes')
        self.assertEqual(4, code)
        self.assertIn('the cell differs', logs.output[0])

    def test_failure_ends_the_command_and_names_what_resumes(self) -> None:
        self.refresh()
        broken = exceptions.RecordsUnavailableError('no answer')
        words = 'node1', 'node2', '--trial', '1', '--yes'
        with (
            mock.patch.object(SqlMoves, 'pass_trial', side_effect=broken),
            self.assertRaises(exceptions.OwnershipError) as caught,
        ):
            self.move(*words)
        self.assertEqual(
            (broken.code, broken.exit_code),
            (caught.exception.code, caught.exception.exit_code),
        )
        (stored,) = self.wired.moves.moves(unfinished=True)
        said = errors.line(caught.exception)
        self.assertIn(f'move resume {stored.request_id}', said)
        code, _ = self.run_command(move.ResumeMove, stored.request_id, '--yes')
        self.assertEqual(0, code, self.stderr.getvalue())

    def test_interrupted_trial_of_a_drain_is_resumed(self) -> None:
        self.refresh()
        with (
            mock.patch.object(
                SqlMoves, 'pass_trial', side_effect=KeyboardInterrupt
            ),
            mock.patch.object(self, 'remote', False),
        ):
            self.assertRaises(
                KeyboardInterrupt, self.drain, '--trial', '2', '--yes'
            )
        (stored,) = self.wired.moves.moves(unfinished=True)
        code, rows = self.run_command(
            move.ResumeMove, stored.request_id, '--yes'
        )
        self.assertEqual((0, 6), (code, len(rows)), self.stderr.getvalue())
        self.assertEqual(2, self.parts(rows).count('passed'))
        self.assertEqual({'new'}, {*self.owners().values()})


class RemoteTrialTest(TrialTest):
    remote = True


class TaskTest(unittest.TestCase):
    def test_work_before_the_request_does_not_count(self) -> None:
        error = {'code': 'error', 'message': 'x', 'hint': ''}
        task = {'age': 3.0, 'warnings': [], 'error': error}
        for none in (None, task):
            self.assertIsNone(move_progress.current(none, 2.0))
        with self.assertRaises(exceptions.OwnershipError):
            move_progress.current(task, 4.0)
        running = {**task, 'age': None, 'error': None}
        self.assertEqual(running, move_progress.current(running, 0.0))
