"""Messages of commands for an operator: true, complete, and shown once."""

from __future__ import annotations

import importlib.metadata
import io
import re
import unittest
from unittest import mock

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import rings
from ironic_ownership.api.resources.check import COLUMNS
from ironic_ownership.cli import (
    base,
    check,
    compute_node,
    errors,
    event,
    move,
    node_change,
    node_import,
    overview,
    pause,
    ring,
)
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.checks.problem import Kind, Problem, Severity
from ironic_ownership.engine.decision import what_if
from tests.unit.cli import command_case
from tests.unit.db import sqlite
from tests.unit.engine import world


class MessagesTest(command_case.CommandCase):
    """``old`` is stopped and disabled, and owns nodes 1 to 6."""

    def test_no_field_is_shown_twice(self) -> None:
        words = ('--for', '10m', '--reason', 'new cables', '--yes')
        _, text = self.printed(pause.BeginPause, *words)
        self.assertEqual(1, text.count('Request ID'), text)

    def test_reason_of_several_gates_is_shown_once(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        _, text = self.printed(
            node_change.ReleaseComputeNode, 'node1', '--dry-run'
        )
        for said in ('cannot be evaluated: down', 'Remove the cause'):
            self.assertEqual(1, text.count(said), text)

    def test_standard_input_is_named(self) -> None:
        for kind, content, expected in (
            (check.ValidateNode, b'[]', 'standard input has no nodes'),
            (check.ValidateNode, b'{', 'standard input is neither JSON'),
            (check.ValidateNode, b'- 2025-01-31: x', 'input is YAML that'),
            (check.ValidateNode, b'- &a [*a]', 'input is YAML that JSON'),
            (check.ValidateNode, b'- {name: .nan}', 'input is YAML that'),
            (check.ValidateNode, b'"\\ud800"', 'input is YAML that'),
            (check.ValidateNode, b'!!bool x', 'input is neither JSON'),
            (check.ValidateNode, b'[' * 60 + b']' * 60, 'too many levels'),
            (check.ValidateNode, b'!!int ""', 'input is neither JSON'),
            (check.ValidateNode, b'!!timestamp x', 'input is neither JSON'),
            (node_import.ImportComputeNode, b'', 'standard input names no'),
        ):
            stdin = io.TextIOWrapper(io.BytesIO(content))
            with (
                mock.patch('sys.stdin', stdin),
                self.assertRaisesRegex(errors.UsageError, expected),
            ):
                self.run_command(kind, '-')

    def cut(self, kind: type, *words: str) -> str:
        """Return the warnings about the rest of a list."""
        found = []
        for self.remote in (False, True):
            for more in ((), ('-f', 'json')):
                with mock.patch.object(base.LOG, 'warning') as warned:
                    self.assertEqual(0, self.printed(kind, *words, *more)[0])
                found.append([call.args[1] for call in warned.mock_calls])
        self.assertEqual([found[0]] * 4, found)
        return ' '.join(found[0])

    def test_cut_list_says_so(self) -> None:
        for number in (1, 2):
            self.remote = False
            self.move(f'node{number}', '--yes')
            self.records.begin_pause(Origin('x', f'req-{number}'), 60, 'y')
        for kind, what in (
            (event.ListEvent, 'events'),
            (move.ListMove, 'moves'),
            (pause.ListPause, 'pauses'),
        ):
            said = self.cut(kind, '--limit', '1')
            self.assertIn(f'more {what} follow: raise --limit', said)
            self.assertEqual('', self.cut(kind))
        _, rows = self.run_command(event.ListEvent, '--node', 'node1')
        show = (compute_node.ShowComputeNode, 'node1', '--events')
        said = self.cut(*show, str(len(rows) - 1))
        self.assertIn('more events follow: raise --events', said)
        for number in len(rows), 0:
            self.assertEqual('', self.cut(*show, str(number)))

    def test_events_of_a_deleted_service_are_listed(self) -> None:
        self.records.register('gone', world.ALL)
        sqlite.run_sql(
            self.records._database, "DELETE FROM services WHERE host = 'gone'"
        )
        for self.remote in (False, True):
            for words, count in (
                (('--service', 'GONE'), 1),
                (('--service', 'gone', '--node', 'node1'), 0),
            ):
                code, found = self.run_command(event.ListEvent, *words)
                self.assertEqual((0, count), (code, len(found)))
            with self.assertRaises(exceptions.OwnershipError) as caught:
                self.printed(event.ListEvent, '--service', 'gonne')
            self.assertEqual('not_found', caught.exception.code)


class HelpTest(unittest.TestCase):
    def test_columns_that_a_help_names_are_shown(self) -> None:
        named = 0
        for entry in importlib.metadata.entry_points(
            group='ironic_ownership.cli'
        ):
            command = entry.load()(None, None)
            if not isinstance(command, base.Lister) or not command.operation:
                continue
            shown = schemas.keys(command.described.columns)
            self.assertIn(command.bar, {*shown, ''})
            text = f'{command.get_description()} {command.get_epilog()}'
            for column in re.findall(r'column\s+"(\w+)"', text):
                self.assertIn(column, shown, entry.name)
                named += 1
        self.assertGreater(named, 0)

    def test_unknown_column_is_not_said_to_be_ignored(self) -> None:
        text = move.ListMove(None, None).get_parser('x').format_help()
        self.assertNotIn('ignored', text)

    def test_help_marks_gates_only_where_they_can_be_overridden(self) -> None:
        for command, marks in (
            (move.MoveComputeNode, True),
            (node_change.ReleaseComputeNode, False),
        ):
            text = command(None, None).get_epilog()
            self.assertEqual(marks, ' (*)\n' in text)


class ShownTest(unittest.TestCase):
    def test_overview_says_whether_ironic_was_read(self) -> None:
        for age, which in (
            (None, 'every node on record'),
            (3.0, 'every node'),
        ):
            body = {'state': 'ok', 'check_age': age, 'nodes': 1}
            self.assertEqual(
                f'All is well: {which} has exactly one live owner. 1 node.',
                next(overview._lines(body)),
            )
        row = {'host': 'a', 'alive': 'up', 'status': 'enabled', 'nodes': 1}
        row |= {'of_mean': None, 'forced_down': False}
        for conditions, said in (
            (None, ''),
            ('ok', ''),
            ('unknown', ', conditions unknown'),
            ('refresh', ', failing: refresh'),
        ):
            services = [{**row, 'conditions': conditions}]
            *_, line = overview._services(services)
            self.assertTrue(line.endswith(f' up, enabled{said}'), line)
        # A node that waits has no owner.
        self.assertEqual(
            'Something needs your attention.',
            overview._state({'state': 'warning', 'check_age': 3.0}),
        )

    def test_empty_group_is_seen(self) -> None:
        self.assertEqual(
            "shard: -\ngroup: ''\nalive: yes",
            compute_node.readable({'shard': None, 'group': '', 'alive': True}),
        )

    def test_advice_is_a_list_of_wrapped_lines(self) -> None:
        shown = str(compute_node.readable(['word ' * 30, 'Nothing to do']))
        self.assertEqual(3, len(shown.splitlines()))
        self.assertTrue(shown.startswith('* word'))
        self.assertIn('\n* Nothing to do', shown)
        self.assertLess(max(map(len, shown.splitlines())), 80)

    def test_member_is_a_line_and_one_for_each_policy(self) -> None:
        policies = [
            {'policy': 'all', 'options': {}, 'says': 'admits it'},
            {'policy': 'p', 'options': {'o': 1}, 'says': 'x'},
            {
                'policy': 'q',
                'options': {},
                'member_values': {'zone': 'a'},
                'says': 'y',
            },
        ]
        self.assertEqual(
            'h1: is disabled\n  - all: admits it\n  - p (o=1): x\n'
            '  - q (for itself zone=a): y',
            compute_node.readable(
                [{'host': 'h1', 'why': 'is disabled', 'policies': policies}]
            ),
        )

    def test_first_few_stand_for_all_and_the_count_tells(self) -> None:
        found = Problem(
            *('unowned', Severity.ERROR, 'what', Kind.NODE),
            *(tuple('abcde'), tuple('vwxyz')),
        )
        long = schemas.cells(COLUMNS, found)
        short = check._shortened(long)
        self.assertEqual(
            (5, ['a', 'b', 'c'], ['v', 'w', 'x']),
            (short['count'], short['subjects'], short['services']),
        )
        self.assertEqual(list('abcde'), long['subjects'])
        self.assertIs(str, type(short['severity']))
        hint = '3 checks were skipped: a'
        self.assertEqual(
            '3 checks were skipped (--long lists them)',
            check._without_list({**long, 'kind': 'part', 'hint': hint})[
                'hint'
            ],
        )
        for other in (long, {**long, 'hint': hint}):
            self.assertIs(other, check._without_list(other))

    def test_sums_are_told_and_nodes_named_if_asked_for(self) -> None:
        left, moved = (
            what_if.NodeChange(kind, model.Node(uuid), 'h1', after, deployed)
            for kind, uuid, after, deployed in (
                (what_if.Kind.UNSERVED, 'b', 'h1', False),
                (what_if.Kind.MOVES, 'a', None, True),
            )
        )
        outcome = what_if.Difference(4, [left, moved])
        sums = schemas.cells(rings.DIFFERENCE, outcome)
        flow = {'nodes': 1, 'instances': 1, 'share': 0.25}
        self.assertEqual(
            {
                'nodes': 4,
                'moves': 1,
                'share': 0.25,
                'instances': 1,
                'stranded': 0,
                'unserved': 1,
                'flows': [{'from_service': 'h1', 'to_service': None, **flow}],
            },
            sums,
        )
        self.assertEqual(
            [('a', 'moves'), ('b', 'unserved')],
            [(n['uuid'], n['change']) for n in rings.changes(outcome)],
        )
        summary = ring._summary(sums)
        self.assertIn('1 of 4 nodes would move (25.0%), 1 of them', summary)
        self.assertIn('1 node without an instance would stay', summary)
        self.assertNotIn('stranded', summary)
