"""Commands that move nodes, in this process and over HTTP: the same output."""

from __future__ import annotations

import io
import json
import logging
import signal
import threading
import time
import types
from typing import Any
from unittest import mock

from ironic_ownership.api.operation_client import (
    LocalClient,
    OperationClient,
    RemoteClient,
)
from ironic_ownership.cli import (
    change,
    deadline,
    move,
    move_command,
    move_progress,
)
from ironic_ownership.clients import ownership
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import trial
from tests.unit.engine import world
from tests.unit.web import app_case


class _Client:
    """Sends requests to the application in this process."""

    request_id = 'req-test'

    def __init__(self, case: app_case.SiteCase) -> None:
        self._case = case

    def send(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._case.client.open(path, method=method, json=body)
        found = answer.get_json()
        self._case.status = answer.status_code
        if answer.status_code < 300:
            return found
        error = found['error']
        raise ownership.RemoteError(
            error['code'],
            error['message'],
            hint=error['hint'],
            details=error.get('details'),
        )


class CommandCase(app_case.SiteCase):
    """Commands in this process, or at the application over HTTP."""

    remote = False

    def setUp(self) -> None:
        super().setUp()
        self.limit = deadline.Deadline(lambda: None)

    def hurry_trials(self) -> None:
        """Let no trial wait for a service that does not refresh."""
        for module, name in (
            (move_progress, 'INTERVAL'),
            (trial, 'ALLOWANCE'),
            (trial, 'POLL'),
        ):
            self.enterContext(mock.patch.object(module, name, 0.0))
        self.addCleanup(join)

    def report_refresh(self, host: str, incarnation: str) -> None:
        """Report that a service has refreshed after all that was done."""
        done = Condition(Loop.REFRESH.value, succeeded_at=3600.0, took=1.0)
        self.records.report_conditions(
            host, incarnation, [done], interval=60.0, at=0.0
        )

    def caller(self) -> OperationClient:
        if self.remote:
            return RemoteClient(_Client(self))
        return LocalClient(self.wired, 'operator', new_request_id())

    def run_command(self, kind: Any, *words: str) -> tuple[int, Any]:
        """Run a command; return its exit code and its output."""
        code, text = self.printed(kind, *words, '-f', 'json')
        return code, json.loads(text)

    def printed(self, kind: Any, *words: str) -> tuple[int, str]:
        """Run a command; return its exit code and what it prints."""
        self.stderr, stdout = io.StringIO(), io.StringIO()
        app = types.SimpleNamespace(
            api=self.caller(),
            stderr=self.stderr,
            stdout=stdout,
            LOG=logging.getLogger('test'),
            deadline=self.limit,
        )
        command = kind(app, None)
        args = command.get_parser('test').parse_args([*words])
        code = command.run(args)
        return code, stdout.getvalue()

    def move(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        return self.run_command(
            move.MoveComputeNode, *words, '--service', 'new'
        )

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}


class ConfirmedCase(CommandCase):
    """Commands whose question is answered with yes."""

    def setUp(self) -> None:
        super().setUp()
        confirm = mock.patch.object(change, 'confirm')
        self.confirm = confirm.start()
        self.addCleanup(confirm.stop)


class MoveCommandTest(CommandCase):
    def test_short_yes_moves_and_evaluates_the_gates_once(self) -> None:
        propose = move_nodes.MoveNodes.propose
        with mock.patch.object(
            move_nodes.MoveNodes, 'propose', autospec=True, side_effect=propose
        ) as proposed:
            code, rows = self.move('node1', world.uuid(2), '-y')
        self.assertEqual(0, code, self.stderr.getvalue())
        self.assertEqual(['moved', 'moved'], [row['state'] for row in rows])
        self.assertEqual(1, proposed.call_count)
        self.assertEqual(
            'ironic-ownership: 2 of 2 nodes done\n',
            self.stderr.getvalue().splitlines(keepends=True)[0],
        )
        self.assertIn('to new: 2 moved', self.stderr.getvalue())

    def test_drain_names_the_nodes_that_no_service_takes(self) -> None:
        self.records.set_service('new', actor='test', disabled=True)
        for words in (('--dry-run',), ('--yes',)):
            code, rows = self.run_command(move.DrainService, 'old', *words)
            self.assertEqual(3, code)
            self.assertEqual(
                [f'node{number}' for number in range(1, 7)],
                sorted(row['name'] for row in rows),
            )
            self.assertIn(
                'any service: node1, node2, node3, node4, node5 and 1 more',
                self.stderr.getvalue(),
            )

    def test_refused_node_stops_the_others_unless_skipped(self) -> None:
        del self.ironic.nodes[world.uuid(2)]
        nodes = ('node1', 'node2')
        for words in (('-y',), ('--dry-run',)):
            code, rows = self.move(*nodes, *words)
            self.assertEqual(3, code)
            shown = {row['uuid']: row['state'] for row in rows}
            self.assertEqual('refused', shown[world.uuid(2)])
            reported = self.stderr.getvalue()
            self.assertIn('refused: node_exists: 1 of 2 nodes', reported)
            self.assertIn('1 of 2 nodes refused by a gate', reported)
        self.assertEqual({'old'}, set(self.owners().values()))
        code, rows = self.move(*nodes, '--dry-run', '--skip-invalid')
        self.assertEqual((3, 2), (code, len(rows)))
        code, rows = self.move(*nodes, '-y', '--skip-invalid')
        self.assertEqual((3, 2), (code, len(rows)))
        self.assertEqual('new', self.owners()[world.uuid(1)])

    def test_wrong_name_that_is_skipped_ends_with_3(self) -> None:
        code, rows = self.move('node1', 'nodule', '-y', '--skip-invalid')
        self.assertEqual((3, 1), (code, len(rows)))
        self.assertEqual('new', self.owners()[world.uuid(1)])

    def test_nothing_to_move_shows_every_node(self) -> None:
        self.move('node1', '-y')
        del self.ironic.nodes[world.uuid(2)]
        code, rows = self.move('node1', 'node2', '-y', '--skip-invalid')
        self.assertEqual(3, code)
        self.assertEqual(
            ['unchanged', 'refused'], [row['state'] for row in rows]
        )
        code, rows = self.move('node1', '-y')
        self.assertEqual((0, 'unchanged'), (code, rows[0]['state']))

    def test_gate_that_passes_again_is_no_interruption(self) -> None:
        node = self.ironic.nodes.pop(world.uuid(1))
        execute = move_progress.execute

        def refuse(*args: Any) -> Any:
            try:
                return execute(*args)
            finally:
                self.ironic.nodes[node.uuid] = node

        with mock.patch.object(move_progress, 'execute', refuse):
            code, rows = self.move('node1', '-y', '--skip-invalid')
        self.assertEqual((3, 'refused'), (code, rows[0]['state']))
        self.assertIn('node_exists', self.stderr.getvalue())
        self.assertNotIn('move resume', self.stderr.getvalue())

    def test_question_names_the_services(self) -> None:
        with (
            mock.patch.object(move_command.sys, 'stdin') as stdin,
            mock.patch.object(change, 'confirm') as confirm,
        ):
            stdin.isatty.return_value = True
            code, _ = self.move('node1', 'node2')
        self.assertEqual(0, code)
        self.assertEqual(
            'Move 2 compute nodes from old to new', confirm.call_args.args[1]
        )

    def test_drain_moves_everything(self) -> None:
        code, rows = self.run_command(
            move.DrainService, 'OLD', '-y', '--reason', 'new rack'
        )
        self.assertEqual((0, 6), (code, len(rows)), self.stderr.getvalue())
        self.assertEqual({'new'}, set(self.owners().values()))
        code, rows = self.run_command(move.DrainService, 'old', '-y')
        self.assertEqual((0, []), (code, rows))
        self.assertIn('nothing to move', self.stderr.getvalue())

    def test_drain_with_a_skipped_node_ends_with_3(self) -> None:
        del self.ironic.nodes[world.uuid(2)]
        for words in (('-y',), ('--dry-run',), ('-y', '--skip-invalid')):
            code, _ = self.run_command(move.DrainService, 'old', *words)
            self.assertEqual(3, code, words)
        self.assertEqual(5, list(self.owners().values()).count('new'))

    def test_move_is_resumed(self) -> None:
        broken = exceptions.RecordsUnavailableError('no answer')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=broken),
            self.assertRaises(exceptions.OwnershipError) as caught,
        ):
            self.move('node1', 'node2', '-y')
        (stored,) = self.wired.moves.moves()
        self.assertIn(
            f'move resume {stored.request_id}', str(caught.exception)
        )
        override = ('--override', 'node_exists', '--reason', 'CHG-42')
        code, rows = self.run_command(
            move.ResumeMove, stored.request_id, '-y', *override
        )
        self.assertEqual((0, 2), (code, len(rows)))
        (stored,) = self.wired.moves.moves()
        self.assertEqual(('node_exists',), stored.overrides)
        code, rows = self.run_command(move.ResumeMove, stored.request_id, '-y')
        self.assertEqual((0, []), (code, rows))
        self.assertIn('nothing remains', self.stderr.getvalue())
        self.assertNotIn('nodes done', self.stderr.getvalue())


class RemoteMoveCommandTest(MoveCommandTest):
    remote = True


def join() -> None:
    """Wait for the moves in the background."""
    for thread in threading.enumerate():
        if thread.name.startswith('req-'):
            thread.join(60)


class LongMoveTest(CommandCase):
    """Three nodes in batches of one; polled without a pause."""

    nodes = ('node1', 'node2', 'node3')

    def setUp(self) -> None:
        super().setUp()
        for module, name, value in (
            (move_nodes, 'BATCH', 1),
            (move_progress, 'INTERVAL', 0.0),
        ):
            self.enterContext(mock.patch.object(module, name, value))
        self.addCleanup(join)

    def interrupt(self) -> None:
        """Send Ctrl-C to this process after the first batch."""
        carry_out, batches = SqlMoves.carry_out, iter(range(100))

        def interrupted(*args: Any) -> Any:
            found = carry_out(*args)
            if next(batches) == 0:
                signal.raise_signal(signal.SIGINT)
            return found

        self.enterContext(
            mock.patch.object(SqlMoves, 'carry_out', interrupted)
        )

    def test_progress_is_reported_here_and_polled_over_http(self) -> None:
        others = ('node4', 'node5', 'node6')
        for remote, nodes in ((False, self.nodes), (True, others)):
            self.remote = remote
            code, rows = self.move(*nodes, '-y')
            self.assertEqual(0, code, self.stderr.getvalue())
            self.assertEqual({'moved'}, {row['state'] for row in rows})
            self.assertIn('3 of 3 nodes done', self.stderr.getvalue())

    def test_interrupt_stops_a_local_move_after_the_batch(self) -> None:
        self.interrupt()
        code, rows = self.move(*self.nodes, '-y')
        self.assertEqual(130, code)
        self.assertEqual(
            ['moved', 'planned', 'planned'],
            sorted(row['state'] for row in rows),
        )
        self.assertIn('move resume req-', self.stderr.getvalue())

    def test_time_limit_stops_a_local_move_after_the_batch(self) -> None:
        ends: list[str] = []
        self.enterContext(mock.patch.object(deadline, '_end', ends.append))
        limit = self.limit
        self.addCleanup(limit.cancel)
        carry_out, batches = SqlMoves.carry_out, iter(range(100))

        def late(*args: Any) -> Any:
            found = carry_out(*args)
            if next(batches) == 0:
                limit.start(0.0)
                while not limit.passed:
                    time.sleep(0.01)
            return found

        with (
            mock.patch.object(SqlMoves, 'carry_out', late),
            mock.patch.object(deadline, 'GRACE', 300.0),
        ):
            code, rows = self.move(*self.nodes, '-y')
        self.assertEqual(4, code)
        self.assertEqual(
            ['moved', 'planned', 'planned'],
            sorted(row['state'] for row in rows),
        )
        self.assertIn('move resume req-', self.stderr.getvalue())
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
        join()
        self.assertEqual(3, list(self.owners().values()).count('new'))

    def test_move_without_progress_is_an_error(self) -> None:
        self.remote = True
        broken = exceptions.RecordsUnavailableError('no answer')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=broken),
            mock.patch.object(move_progress, 'STALL_TIME', 0.1),
            self.assertRaisesRegex(
                exceptions.OwnershipError, 'move resume req-'
            ),
        ):
            self.move(*self.nodes, '-y')
