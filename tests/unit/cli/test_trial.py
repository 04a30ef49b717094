"""Trials of moves and drains: one table, and trials that end otherwise."""

from __future__ import annotations

import dataclasses
import itertools
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.cli import errors, move, move_progress
from ironic_ownership.contracts import exceptions
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.verification import Verification
from tests.unit.cli import command_case
from tests.unit.cli.command_case import Change, RowCase, nothing

TWO = 'compute node move node1 node2 --to new'
DRAIN = 'service drain old'
BOTH_WAYS = '2 node_handed_over, 4 node_moved, 1 service_fenced'
FAILED = (
    'the trial failed, 2 nodes went back',
    'owner_acts: new does not report',
)


def new_has_refreshed(case: RowCase) -> None:
    case.hurry_trials()
    case.report_refresh('new', 'one')


class TrialsTest(command_case.ChangeCase):
    """``new`` has refreshed, or is not waited for."""

    rows = {
        nothing: (
            *(
                Change(
                    f'{DRAIN} --trial {number} --dry-run',
                    shown={
                        'trial': ['first'] * number + [None] * (6 - number)
                    },
                    said=(f'trial: {number} nodes first: node1, ', rest),
                )
                for number, rest in ((2, '4 follow'), (6, 'all of them'))
            ),
        ),
        new_has_refreshed: (
            Change(
                f'{DRAIN} --trial 2 --yes',
                leaves='6 node_moved, 1 service_fenced',
                shown={'state': ['moved'] * 6},
                said=('trial of 2 nodes has passed',),
            ),
            Change(
                f'{TWO} --trial 3 --yes',
                leaves='2 node_moved, 1 service_fenced',
                shown={'trial': ['passed'] * 2},
                said=('2 nodes, all of them',),
            ),
        ),
        RowCase.hurry_trials: (
            *(
                Change(
                    f'{words} --trial 2 --yes',
                    3,
                    leaves=BOTH_WAYS,
                    shown={'state': ['refused'] * nodes},
                    said=FAILED,
                )
                for words, nodes in ((DRAIN, 6), (TWO, 2))
            ),
        ),
    }

    def test_trial_that_another_process_decided_ends_with_3(self) -> None:
        new_has_refreshed(self)
        decide = SqlMoves.pass_trial

        def decided(moves: SqlMoves, request_id: str) -> bool:
            decide(moves, request_id)
            return False

        for self.remote, nodes in (
            (False, ('node1', 'node2')),
            (True, ('node3', 'node4')),
        ):
            with (
                mock.patch.object(SqlMoves, 'pass_trial', decided),
                self.assertRaises(exceptions.OwnershipError) as caught,
            ):
                self.move(*nodes, '--trial', '2', '--yes')
            self.assertEqual(
                ('trial_decided', 3),
                (caught.exception.code, caught.exception.exit_code),
            )
            self.assertIn(
                'another process evaluated its trial first: it passed',
                errors.line(caught.exception),
            )

    def test_difference_that_is_found_at_the_end_ends_with_4(self) -> None:
        new_has_refreshed(self)

        def compare(_: Verification, results: list[Proposal]) -> list[Any]:
            found = ('the cell differs',)
            return [dataclasses.replace(r, findings=found) for r in results]

        for self.remote, nodes in ((False, '1 node2'), (True, '3 node4')):
            words = f'compute node move node{nodes} --to new --trial 1 -y'
            with mock.patch.object(Verification, 'compare', compare):
                found = self.outcome(*self.find(words))
            self.assertEqual(4, found.code)
            self.assertIn('the cell differs', found.said)

    def test_nodes_that_go_back_leave_the_destination(self) -> None:
        self.hurry_trials()
        interrupt = mock.patch.object(
            SqlMoves, 'refuse', side_effect=KeyboardInterrupt
        )
        with interrupt, self.assertRaises(KeyboardInterrupt):
            self.move('node1', 'node2', '--trial', '2', '--yes')
        (stored,) = self.wired.moves.moves(unfinished=True)
        self.outcome(*self.find(f'move resume {stored.request_id}'))
        self.assertEqual('Move 2 compute nodes from new to old', self.asked)

    def test_interrupted_trial_of_a_drain_is_resumed(self) -> None:
        for remote in (False, True):
            self.renew()
            new_has_refreshed(self)
            interrupt = mock.patch.object(
                SqlMoves, 'pass_trial', side_effect=KeyboardInterrupt
            )
            with interrupt, self.assertRaises(KeyboardInterrupt):
                self.run_command(
                    move.DrainService, 'old', '--trial', '2', '-y'
                )
            (stored,) = self.wired.moves.moves(unfinished=True)
            self.remote = remote
            code, rows = self.run_command(
                move.ResumeMove, stored.request_id, '--yes'
            )
            self.remote = False
            self.assertEqual((0, 6), (code, len(rows)))
            self.assertEqual(2, [r['trial'] for r in rows].count('passed'))
            self.assertEqual({'new'}, {*self.owners().values()})


class TaskTest(unittest.TestCase):
    def wait(self, *task: dict[str, object] | None) -> None:
        """Wait for a move whose node moves after some polls."""
        states = [
            {'request_id': 'req-1', 'planned': 1, 'task': one} for one in task
        ]
        states.append({**states[-1], 'planned': 0, 'task': None})
        move = {'request_id': 'req-1', 'nodes': [{'state': 'planned'}]}
        clock = itertools.count(0.0, move_progress.STALL_TIME / 3)
        slow = mock.Mock(monotonic=lambda: next(clock))
        with mock.patch.object(move_progress, 'time', slow):
            move_progress.wait(
                mock.Mock(call=mock.Mock(side_effect=states)),
                [move],
                mock.Mock(),
                lambda: False,
                0.0,
            )

    def test_work_that_runs_has_not_stalled(self) -> None:
        """However long permissions last that it waits for."""
        running = {'age': None, 'warnings': [], 'error': None}
        self.wait(*[running] * 5)
        with self.assertRaisesRegex(exceptions.OwnershipError, 'no progress'):
            self.wait(running, *[None] * 5)

    def test_work_before_the_request_does_not_count(self) -> None:
        error = {'code': 'error', 'message': 'x', 'hint': ''}
        task = {'age': 3.0, 'warnings': [], 'error': error}
        for none in (None, task):
            self.assertIsNone(move_progress.current(none, 2.0))
        with self.assertRaises(exceptions.OwnershipError):
            move_progress.current(task, 4.0)
        running = {**task, 'age': None, 'error': None}
        self.assertEqual(running, move_progress.current(running, 0.0))
