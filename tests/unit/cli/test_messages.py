"""Messages of commands for an operator: true, complete, and shown once."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import re
import unittest
from unittest import mock

from ironic_ownership.cli import (
    base,
    change,
    check,
    compute_node,
    errors,
    event,
    move,
    node_change,
    node_import,
    overview,
    pause,
    reservation,
    service,
    service_change,
    shard,
)
from ironic_ownership.contracts import exceptions
from ironic_ownership.observe import columns
from tests.unit.cli import test_move
from tests.unit.engine import world

PAUSE = ('--for', '10m', '--reason', 'new cables', '--yes')


class MessagesTest(test_move.CommandCase):
    """``old`` is stopped and disabled, and owns nodes 1 to 6."""

    def refused(self, kind: type, *words: str) -> str:
        with self.assertRaises(errors.UsageError) as caught:
            self.run_command(kind, *words)
        return str(caught.exception)

    def test_no_field_is_shown_twice(self) -> None:
        _, text = self.printed(pause.BeginPause, *PAUSE)
        self.assertEqual(1, text.count('Request ID'), text)

    def test_pause_is_named_with_its_place(self) -> None:
        self.run_command(pause.BeginPause, *PAUSE)
        self.run_command(
            pause.BeginPause, *PAUSE, '--shard', 'a', '--conductor-group', ''
        )
        self.printed(service.ListService)
        said = self.stderr.getvalue()
        self.assertIn(
            "are paused for nodes of shard 'a' and conductor group '' until",
            said,
        )
        self.assertIn('are paused for all nodes until', said)

    def test_pause_of_what_no_node_has_is_refused(self) -> None:
        for words, hint in (
            (('--shard', 'A'), "shard 'A' is not known. Did you mean a?"),
            (('--conductor-group', 'x'), "conductor group 'x' is not known"),
        ):
            with self.assertRaises(exceptions.NotFoundError) as caught:
                self.run_command(pause.BeginPause, *PAUSE, *words)
            self.assertIn(hint, str(caught.exception))
        self.assertEqual([], self.records.pauses())

    def test_pause_that_holds_nothing_yet_warns_once(self) -> None:
        self.ironic.put(world.node(7, shard='new'))
        with self.assertLogs('ironic_ownership.cli', 'WARNING') as logs:
            code, _ = self.run_command(
                pause.BeginPause, *PAUSE, '--shard', 'new'
            )
        self.assertEqual((4, 1), (code, len(self.records.pauses())))
        (line,) = logs.output
        self.assertIn("nodes of shard 'new' are not on record", line)

    def test_pause_does_not_need_ironic(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        code, _ = self.run_command(pause.BeginPause, *PAUSE, '--shard', 'a')
        self.assertEqual(0, code)

    def test_longest_pause_is_named(self) -> None:
        said = self.refused(
            *(pause.BeginPause, '--for', '367d', '--force'),
            *('--reason', 'x', '--yes'),
        )
        self.assertEqual('the pause is longer than 366 days', said)

    def test_options_of_an_order_fit_together(self) -> None:
        after, to = '--take-over-deployed-after', '--take-over-deployed-to'
        for words, expected in (
            ((after, '60'), f'{after} needs --reason'),
            ((to, 'new'), f'{to} goes with {after}'),
            (
                ('--enable', '--whole-scope'),
                f'--whole-scope goes with {after}',
            ),
            (('--down', '--no-take-over-deployed'), 'Use two commands'),
            ((after, '60', '--reason', 'x', '--up'), 'Use two commands'),
        ):
            said = self.refused(service_change.SetService, 'old', *words)
            self.assertIn(expected, said)
            self.assertNotIn('body', said)

    def test_fault_of_an_option_is_not_one_of_the_body(self) -> None:
        empty = 'cannot be empty'
        for kind, words, expected in (
            (pause.BeginPause, (*PAUSE, '--shard', ''), empty),
            (
                move.MoveComputeNode,
                ('--all', '--from', '', '--to', 'new', '--dry-run'),
                empty,
            ),
            (
                move.MoveComputeNode,
                ('--shard', '', '--to', 'new', '--dry-run'),
                empty,
            ),
        ):
            said = self.refused(kind, *words)
            self.assertIn(expected, said)
            self.assertNotIn('body', said)
        for text in ('0', '-1', 'x', '1.5', '1000000001', '9' * 5000):
            with self.assertRaises(argparse.ArgumentTypeError):
                change.positive(text)

    def test_column_of_long_is_named(self) -> None:
        for option in ('-c', '--sort-column'):
            said = self.refused(
                compute_node.ListComputeNode, option, 'Decided Owner'
            )
            self.assertEqual(
                "column 'Decided Owner' is shown only with --long. Add --long",
                said,
            )

    def test_request_lacks_options(self) -> None:
        create = reservation.CreateReservation
        said = self.refused(create, '--dry-run')
        self.assertIn('lacks --instance and --service. Add', said)
        said = self.refused(create, '--instance', 'x', '--service', 'new')
        self.assertIn("'x' does not match", said)
        self.assertNotIn('openapi', said)

    def test_arguments_are_texts(self) -> None:
        for kind, *words in (
            (pause.BeginPause, *PAUSE, '--shard', 'r\udcff'),
            (reservation.ShowReservation, 'r\udcff'),
            (event.ListEvent, '--kind', 'node_moved', '--node', 'r\udcff'),
            (shard.PlanShard, '--weight', 'r\udcff=1'),
        ):
            said = self.refused(kind, *words)
            self.assertIn('r\\udcff', said)
            self.assertIn('is not a text in UTF-8', said)
        # The name of a file may be anything.
        said = self.refused(check.ValidateNode, '/no/r\udcff')
        self.assertIn('cannot be read', said)

    def test_standard_input_is_named(self) -> None:
        for kind, content, expected in (
            (check.ValidateNode, b'[]', 'standard input has no nodes'),
            (check.ValidateNode, b'{', 'standard input is neither JSON'),
            (check.ValidateNode, b'- 2025-01-31: x', 'input is YAML that'),
            (check.ValidateNode, b'- &a [*a]', 'input is YAML that JSON'),
            (node_import.ImportComputeNode, b'', 'standard input names no'),
        ):
            stdin = io.TextIOWrapper(io.BytesIO(content))
            with mock.patch('sys.stdin', stdin):
                said = self.refused(kind, '-')
            self.assertIn(expected, said)

    def test_overview_says_whether_ironic_was_read(self) -> None:
        text = overview._state({'state': 'ok', 'check_age': None})
        self.assertEqual(
            'All is well: every node on record has exactly one live owner.',
            text,
        )
        text = overview._state({'state': 'ok', 'check_age': 3.0})
        self.assertEqual(
            'All is well: every node has exactly one live owner.', text
        )

    def test_skip_invalid_is_proposed_for_other_nodes_only(self) -> None:
        del self.ironic.nodes[world.uuid(2)]
        for nodes, proposed in (
            (('node2',), False),
            (('node1', 'node2'), True),
        ):
            self.move(*nodes, '--yes')
            said = self.stderr.getvalue()
            self.assertIn('nothing was moved', said)
            self.assertEqual(proposed, '--skip-invalid' in said, said)

    def test_source_that_only_died_is_described(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        self.move('node1', '--yes')
        self.assertIn(
            'old is not alive, but neither disabled nor forced down. ',
            self.stderr.getvalue(),
        )

    def test_reason_of_several_gates_is_shown_once(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        _, text = self.printed(
            node_change.ReleaseComputeNode, 'node1', '--dry-run'
        )
        for said in ('cannot be evaluated: down', 'Remove the cause'):
            self.assertEqual(1, text.count(said), text)

    def test_empty_list_is_a_sentence(self) -> None:
        self.assertEqual(
            'No compute nodes\n',
            self.printed(compute_node.ListComputeNode, '--state', 'orphan')[1],
        )
        for kind in (
            move.ListMove,
            reservation.ListReservation,
            pause.ListPause,
        ):
            self.assertRegex(self.printed(kind)[1], r'^No \w+')
        _, text = self.printed(event.ListEvent, '--since', '2099-01-01')
        self.assertEqual('No events\n', text)
        self.assertEqual(
            'No pause: owners change automatically.\n',
            self.printed(pause.EndPause, '--yes')[1],
        )


class HelpTest(unittest.TestCase):
    def test_columns_that_a_help_names_are_shown(self) -> None:
        named = 0
        for entry in importlib.metadata.entry_points(
            group='ironic_ownership.cli'
        ):
            command = entry.load()(None, None)
            if not isinstance(command, base.Lister) or not command.operation:
                continue
            shown = columns.keys(command.described.columns)
            text = f'{command.get_description()} {command.get_epilog()}'
            for column in re.findall(r'column\s+"(\w+)"', text):
                self.assertIn(column, shown, entry.name)
                named += 1
        self.assertGreater(named, 0)

    def test_unknown_column_is_not_said_to_be_ignored(self) -> None:
        text = move.ListMove(None, None).get_parser('x').format_help()
        self.assertNotIn('ignored', text)


class CellTest(unittest.TestCase):
    def test_rows_in_a_cell_leave_out_what_is_open(self) -> None:
        self.assertEqual(
            'loop=beat, ended=no\nloop=epoch, code=late, ended=yes',
            columns.readable(
                [
                    {'loop': 'beat', 'code': None, 'ended': False},
                    {'loop': 'epoch', 'code': 'late', 'ended': True},
                ]
            ),
        )
        self.assertEqual(
            'shard=-, on=yes, of=[-, no]',
            columns.readable({'shard': None, 'on': True, 'of': [None, False]}),
        )
