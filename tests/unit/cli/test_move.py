"""Commands that move nodes: one table, and moves that are interrupted."""

from __future__ import annotations

import signal
import threading
import time
import types
from collections.abc import Callable
from typing import Any
from unittest import mock

from ironic_ownership.cli import deadline, move, move_progress
from ironic_ownership.cli.move_command import MoveCommand
from ironic_ownership.contracts import exceptions
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from tests.unit.cli import command_case
from tests.unit.cli.command_case import Change, RowCase, nothing
from tests.unit.engine import world

BROKEN = exceptions.RecordsUnavailableError('no answer')
ONE_TO_NEW = 'compute node move node1 --to new -y'
TO_NEW = 'compute node move node1 node2 --to new'
DRAIN = 'service drain old'


def node_is_gone(case: RowCase) -> None:
    """Ironic does not have node 2 any more."""
    del case.ironic.nodes[world.uuid(2)]


def first_is_moved(case: RowCase) -> None:
    case.outcome(*case.find(ONE_TO_NEW))


def one_is_moved_one_gone(case: RowCase) -> None:
    first_is_moved(case)
    node_is_gone(case)


def all_are_moved(case: RowCase) -> None:
    case.outcome(*case.find(f'{DRAIN} -y'))


def source_only_died(case: RowCase) -> None:
    case.records.set_service('old', actor='x', disabled=False)


def destination_is_disabled(case: RowCase) -> None:
    case.records.set_service('new', actor='x', disabled=True)


def passes_again(case: RowCase) -> None:
    """Let the gate that refused node 1 pass when the move is executed."""
    node = case.ironic.nodes.pop(world.uuid(1))
    execute = MoveCommand._execute

    def refuse(*args: Any) -> Any:
        try:
            return execute(*args)
        finally:
            case.ironic.nodes[node.uuid] = node

    case.enterContext(mock.patch.object(MoveCommand, '_execute', refuse))


REFUSED = ('refused: node_exists: 1 of 2 nodes', '1 of 2 nodes refused by a')
UNPLACEABLE = ('any service: node1, node2, node3, node4, node5 and 1 more',)
SIX = [f'node{number}' for number in range(1, 7)]


def moved(nodes: int) -> str:
    return f'{nodes} node_moved, 1 service_fenced'


class MovesTest(command_case.ChangeCase):
    rows = {
        nothing: (
            Change(
                'compute node move --all --from OLD --to NEW --dry-run',
                shown={'state': ['planned'] * 6},
            ),
            Change(
                f'{TO_NEW} -y --reason CHG-42',
                leaves=moved(2),
                shown={'state': ['moved', 'moved']},
                said=('2 of 2 nodes done', 'to new: 2 moved'),
            ),
            (TO_NEW, 0, 'Move 2 compute nodes from old to new', moved(2)),
            ('compute node move node1 --to nwe --dry-run', 3),
            ('compute node move node1 --to nwe --yes', 3),
            Change(
                'compute node move node1 nodule --to new -y --skip-invalid',
                3,
                leaves=moved(1),
                shown={'state': ['moved']},
            ),
            Change(
                'service drain OLD --reason rack',
                0,
                'Move from old: 6 to new',
                moved(6),
                shown={'state': ['moved'] * 6},
            ),
        ),
        source_only_died: (
            Change(
                f'{TO_NEW} -y',
                3,
                said=(
                    'old is not alive, but neither disabled nor forced down. ',
                    'nothing was moved',
                ),
            ),
        ),
        node_is_gone: (
            *(
                Change(f'{TO_NEW} {words}', 3, said=REFUSED)
                for words in ('-y', '--dry-run')
            ),
            Change(
                f'{TO_NEW} --dry-run --skip-invalid',
                3,
                shown={'state': ['planned', 'refused']},
            ),
            Change(
                f'{TO_NEW} -y --skip-invalid',
                3,
                leaves=moved(1),
                shown={'state': ['moved', 'refused']},
            ),
            *((f'{DRAIN} {words}', 3) for words in ('-y', '--dry-run')),
            Change(f'{DRAIN} -y --skip-invalid', 3, leaves=moved(5)),
        ),
        one_is_moved_one_gone: (
            Change(
                f'{TO_NEW} -y --skip-invalid',
                3,
                shown={'state': ['unchanged', 'refused']},
            ),
        ),
        first_is_moved: (Change(ONE_TO_NEW, shown={'state': ['unchanged']}),),
        passes_again: (
            Change(
                'compute node move node1 --to new -y --skip-invalid',
                3,
                shown={'state': ['refused']},
                said=('node_exists',),
            ),
        ),
        destination_is_disabled: (
            *(
                Change(
                    f'{DRAIN} {words}',
                    3,
                    shown={'name': SIX},
                    said=UNPLACEABLE,
                )
                for words in ('--dry-run', '--yes')
            ),
        ),
        all_are_moved: (
            Change(
                f'{DRAIN} -y', shown={'state': []}, said=('nothing to move',)
            ),
        ),
    }

    def test_reason_names_skip_invalid_for_other_nodes_only(self) -> None:
        node_is_gone(self)
        for words, proposed in (
            ('compute node move node2 --to new -y', False),
            (f'{TO_NEW} -y', True),
        ):
            said = self.outcome(*self.find(words)).said
            self.assertIn('nothing was moved', said)
            self.assertEqual(proposed, '--skip-invalid' in said, said)

    def test_with_yes_nothing_is_proposed_before(self) -> None:
        """A proposal may read a lot."""
        propose = move_nodes.MoveNodes.propose
        with mock.patch.object(
            move_nodes.MoveNodes, 'propose', autospec=True, side_effect=propose
        ) as proposed:
            self.outcome(*self.find(f'{TO_NEW} -y'))
        self.assertEqual(1, proposed.call_count)
        del self.ironic.nodes[world.uuid(3)]
        self.ironic.calls.clear()
        self.outcome(*self.find('compute node delete node3 -y'))
        self.assertEqual(1, [n for n, _ in self.ironic.calls].count('scan'))


class UnfinishedMovesTest(command_case.CommandCase):
    """Three nodes in batches of one; polled without a pause."""

    nodes = ('node1', 'node2', 'node3')

    def setUp(self) -> None:
        super().setUp()
        for module, name, value in (
            (move_nodes, 'BATCH', 1),
            (move_progress, 'INTERVAL', 0.0),
        ):
            self.enterContext(mock.patch.object(module, name, value))
        self.addCleanup(command_case.join)

    def after_first_batch(self, act: Callable[[], object]) -> None:
        carry_out, batches = SqlMoves.carry_out, iter(range(100))

        def acting(*args: Any) -> Any:
            found = carry_out(*args)
            if next(batches) == 0:
                act()
            return found

        patch = mock.patch.object(SqlMoves, 'carry_out', acting)
        self.enterContext(patch)

    def pass_limit(self) -> None:
        # Else it would end the process of the tests after the grace.
        self.addCleanup(self.limit.cancel)
        self.limit.start(0.0)
        while not self.limit.passed:
            time.sleep(0.01)

    def resume(self, *words: str) -> tuple[int, Any]:
        (stored,) = self.wired.moves.moves(unfinished=True)
        return self.run_command(
            move.ResumeMove, stored.request_id, '-y', *words
        )

    def test_progress_is_reported_here_and_polled_over_http(self) -> None:
        others = ('node4', 'node5', 'node6')
        for remote, nodes in ((False, self.nodes), (True, others)):
            self.remote = remote
            code, rows = self.move(*nodes, '-y')
            self.assertEqual(0, code, self.stderr.getvalue())
            self.assertEqual({'moved'}, {row['state'] for row in rows})
            self.assertIn('3 of 3 nodes done', self.stderr.getvalue())

    def test_local_move_stops_after_the_batch_and_is_resumed(self) -> None:
        ends: list[str] = []
        self.enterContext(mock.patch.object(deadline, '_end', ends.append))
        self.enterContext(mock.patch.object(deadline, 'GRACE', 300.0))
        for nodes, act, expected in (
            (self.nodes, lambda: signal.raise_signal(signal.SIGINT), 130),
            (('node4', 'node5', 'node6'), self.pass_limit, 4),
        ):
            self.after_first_batch(act)
            code, rows = self.move(*nodes, '-y')
            self.assertEqual(expected, code)
            self.assertEqual(
                ['moved', 'planned', 'planned'],
                sorted(row['state'] for row in rows),
            )
            self.assertIn('move resume req-', self.stderr.getvalue())
            self.limit = deadline.Deadline(lambda: None)
            code, rows = self.resume()
            self.assertEqual((0, 2), (code, len(rows)))
        self.assertEqual([], ends)

    def test_interrupted_command_leaves_a_remote_move_running(self) -> None:
        self.remote = True
        go_on = threading.Event()
        carry_out = SqlMoves.carry_out

        def held(*args: Any) -> Any:
            go_on.wait(60)
            return carry_out(*args)

        def sleep(seconds: float) -> None:
            signal.raise_signal(signal.SIGINT)

        clock = types.SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
        self.addCleanup(go_on.set)
        with (
            mock.patch.object(SqlMoves, 'carry_out', held),
            mock.patch.object(move_progress, 'time', clock),
        ):
            code, _ = self.move(*self.nodes, '-y')
        self.assertEqual(130, code)
        self.assertIn('continues in the background', self.stderr.getvalue())
        self.assertIn('move show req-', self.stderr.getvalue())
        go_on.set()
        command_case.join()
        self.assertEqual(3, list(self.owners().values()).count('new'))

    def test_wait_that_fails_names_the_move(self) -> None:
        self.remote = True
        with (
            mock.patch.object(move_progress, 'wait', side_effect=BROKEN),
            self.assertRaises(exceptions.RecordsUnavailableError),
        ):
            self.move(*self.nodes, '-y')
        self.assertIn('move show req-', self.stderr.getvalue())

    def test_failed_move_names_what_resumes_it(self) -> None:
        for self.remote in (False, True):
            with (
                mock.patch.object(move_progress, 'STALL_TIME', 0.1),
                mock.patch.object(SqlMoves, 'carry_out', side_effect=BROKEN),
                self.assertRaisesRegex(
                    exceptions.OwnershipError, 'move resume req-'
                ),
            ):
                self.move(*self.nodes, '-y')
            override = ('--override', 'node_exists', '--reason', 'CHG-42')
            code, rows = self.resume(*override)
            self.assertEqual((0, 3), (code, len(rows)))
            stored = self.wired.moves.moves()[0]
            self.assertEqual(('node_exists',), stored.overrides)
            code, rows = self.run_command(
                move.ResumeMove, stored.request_id, '-y'
            )
            self.assertEqual((0, []), (code, rows))
            self.assertIn('nothing remains', self.stderr.getvalue())
            self.assertNotIn('nodes done', self.stderr.getvalue())
            self.nodes = ('node4', 'node5', 'node6')
