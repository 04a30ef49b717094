"""``compute node list``: its options, pages, orders and errors."""

from __future__ import annotations

import argparse
import dataclasses
import io
import re
import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

from ironic_ownership.api.resources import compute_nodes, node_lists
from ironic_ownership.cli import compute_node, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.observe import columns
from tests.unit.cli import test_move
from tests.unit.engine import world


class ShardTest(unittest.TestCase):
    def test_no_shard_is_no_name_of_a_shard(self) -> None:
        self.assertRaises(argparse.ArgumentTypeError, compute_node._shard, '')


class ListCase(unittest.TestCase):
    """Answers pages of two of the nodes 1 to 5, named backwards."""

    key = 'compute_nodes'
    count = 5

    def setUp(self) -> None:
        super().setUp()
        self.read: list[int] = []
        self.queries: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.command = compute_node.ListComputeNode(mock.Mock(), None)
        self.command.app.api.pages.side_effect = self.pages
        self.command.app.api.call.return_value = {'pauses': []}

    def pages(
        self, name: str, query: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        self.queries.append({'name': name, **query})
        numbers = range(1, self.count + 1)
        for some in (numbers[n : n + 2] for n in range(0, 5, 2)):
            if self.error is not None and some[0] > 1:
                raise self.error
            self.read.extend(some)
            yield {
                self.key: [self.row(number) for number in some],
                'warnings': [],
                'notes': [],
            }

    def row(self, number: int) -> dict[str, Any]:
        shown = (*compute_nodes.LONG, *node_lists.RECORD)
        cells = dict.fromkeys(columns.keys(shown))
        return {**cells, 'uuid': f'u{number}', 'name': f'n{9 - number}'}

    def run_with(self, *words: str) -> str:
        """Return what the command writes to standard output."""
        self.command.app.stdout = self.output = io.StringIO()
        parser = self.command.get_parser('list')
        self.command.run(parser.parse_args([*words]))
        return self.output.getvalue()

    def rows(self, *words: str) -> Iterator[Any]:
        parser = self.command.get_parser('list')
        _, rows = self.command.take_action(parser.parse_args([*words]))
        return iter(rows)


class ListTest(ListCase):
    def test_first_row_needs_the_first_page_only(self) -> None:
        rows = self.rows('-f', 'csv')
        self.assertEqual('u1', next(rows)[0])
        self.assertEqual([1, 2], self.read)
        self.assertEqual(['u2', 'u3', 'u4', 'u5'], [row[0] for row in rows])

    def test_table_is_in_the_order_of_the_names(self) -> None:
        out = self.run_with('-c', 'uuid')
        self.assertEqual(
            ['u5', 'u4', 'u3', 'u2', 'u1'], re.findall(r'u\d', out)
        )

    def test_other_formats_are_in_the_order_of_the_uuids(self) -> None:
        for name in ('csv', 'json', 'value', 'yaml'):
            out = self.run_with('-f', name, '-c', 'uuid')
            self.assertEqual(
                ['u1', 'u2', 'u3', 'u4', 'u5'], re.findall(r'u\d', out), name
            )

    def test_sorting_needs_all_rows(self) -> None:
        out = self.run_with(
            *('-f', 'value', '-c', 'uuid', '--sort-column', 'name')
        )
        self.assertEqual('u5\nu4\nu3\nu2\nu1\n', out)

    def test_filters_are_those_of_the_options(self) -> None:
        self.run_with(
            *('--service', 'a', '--shard', 's', '--state', 'orphan', 'owned')
        )
        self.assertEqual(
            [
                {
                    'name': 'compute_node:list',
                    'service': 'a',
                    'shard': 's',
                    'conductor_group': None,
                    'state': ['orphan', 'owned'],
                }
            ],
            self.queries,
        )

    def test_error_of_the_first_page_leaves_no_output(self) -> None:
        self.command.app.api.pages.side_effect = exceptions.RecordsError('x')
        for name in ('csv', 'json', 'value', 'yaml', 'table'):
            with self.assertRaises(exceptions.RecordsError):
                self.run_with('-f', name)
            self.assertEqual('', self.output.getvalue(), name)

    def test_error_of_a_later_page_is_one_of_the_list(self) -> None:
        self.error = exceptions.RecordsError('x')
        for name in ('csv', 'json', 'value'):
            with (
                self.assertLogs('ironic_ownership.cli', 'ERROR') as logged,
                self.assertRaises(exceptions.RecordsError),
            ):
                self.run_with('-f', name)
            self.assertIn('the list is incomplete', logged.output[0])
            self.assertIn('after 2 rows', logged.output[0])
            self.assertIn('u2', self.output.getvalue())
        for name in ('yaml', 'table'):
            with (
                self.assertNoLogs('ironic_ownership.cli', 'ERROR'),
                self.assertRaises(exceptions.RecordsError),
            ):
                self.run_with('-f', name)
            self.assertEqual('', self.output.getvalue(), name)


class RecordedTest(ListCase):
    key = 'compute_node_records'

    def test_pages_are_read_as_they_are_written(self) -> None:
        rows = self.rows('--recorded', '--service', 'a', '-f', 'csv')
        self.assertEqual('u1', next(rows)[0])
        self.assertEqual([1, 2], self.read)
        self.assertEqual(['u2', 'u3', 'u4', 'u5'], [row[0] for row in rows])
        self.assertEqual('compute_node_record:list', self.queries[0]['name'])
        self.assertEqual('a', self.queries[0]['service'])

    def test_what_needs_ironic_is_refused(self) -> None:
        for words in (['--long'], ['--state', 'orphan']):
            self.assertRaises(
                errors.UsageError, self.rows, '--recorded', *words
            )


_STRING = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf'digraph {_STRING} {{|}}|  rankdir=LR; node \[shape=box\];'
    rf'|  \w+ \[label={_STRING}(, style=\w+)?\];'
    r'|(  |; )\w+ -> \w+( \[style=dashed\])?;( record -> decision;)?'
)


class GraphTest(test_move.CommandCase):
    """``old`` owns the nodes and is not alive, ``new`` is."""

    def graph(self, *words: str) -> str:
        kind, uuid = compute_node.ExplainComputeNode, world.uuid(1)
        return self.printed(kind, uuid, '--graph', *words)[1]

    def test_chain_leads_from_the_inputs_to_the_decision(self) -> None:
        lines = self.graph().splitlines()
        for line in lines:
            self.assertRegex(line, rf'^(?:{_LINE.pattern})$')
        self.assertIn('  inputs -> member0;', lines)
        self.assertIn('  member0 -> want;', lines)
        self.assertIn('  inputs -> member1 [style=dashed];', lines)
        text = '\n'.join(lines)
        self.assertNotIn('member1 -> want', text)
        self.assertIn('label="Decision: old\\l', text)
        self.assertIn('label="On record\\lold, not alive\\l', text)
        self.assertIn('label="Policies want\\lnew\\l', text)

    def test_text_of_a_node_is_text(self) -> None:
        node = self.ironic.nodes[world.uuid(1)]
        name = 'a"]; evil [label="\\\x1b'
        self.ironic.put(dataclasses.replace(node, name=name, shard=name))
        for line in self.graph().splitlines():
            self.assertRegex(line, rf'^(?:{_LINE.pattern})$')

    def test_other_format_is_refused(self) -> None:
        for words in (('-f', 'json'), ('-c', 'uuid')):
            with self.assertRaises(errors.UsageError):
                self.graph(*words)


class RemoteGraphTest(GraphTest):
    """The same over HTTP."""

    remote = True
