"""``compute node list`` in pages, graphs, and nodes named by an instance."""

from __future__ import annotations

import io
import re
import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import compute_nodes, node_lists
from ironic_ownership.cli import compute_node
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Update
from tests.unit.cli import command_case
from tests.unit.engine import world

LOGGER = 'ironic_ownership.cli'
BY_NAME = ['u5', 'u4', 'u3', 'u2', 'u1']


class ListTest(unittest.TestCase):
    """Answers pages of two of the nodes 1 to 5, named backwards."""

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
        key = f'{name.partition(":")[0]}s'
        for some in ([1, 2], [3, 4], [5]):
            if self.error is not None and some[0] > 1:
                raise self.error
            self.read.extend(some)
            rows = [self.row(number) for number in some]
            yield {key: rows, 'warnings': self.warnings(some), 'notes': []}

    def warnings(self, numbers: list[int]) -> list[str]:
        return []

    def row(self, number: int) -> dict[str, Any]:
        shown = (*compute_nodes.LONG, *node_lists.RECORD)
        cells = dict.fromkeys(schemas.keys(shown))
        return {**cells, 'uuid': f'u{number}', 'name': f'n{9 - number}'}

    def run_with(self, *words: str) -> str:
        """Return what the command writes to standard output."""
        self.command.app.stdout = self.output = io.StringIO()
        parser = self.command.get_parser('list')
        self.command.run(parser.parse_args([*words]))
        return self.output.getvalue()

    def test_first_row_needs_the_first_page_only(self) -> None:
        parser = self.command.get_parser('list')
        for words, name in (
            ([], 'compute_node:list'),
            (['--recorded'], 'compute_node_record:list'),
        ):
            self.read.clear()
            args = parser.parse_args([*words, '--service', 'a', '-f', 'csv'])
            rows = iter(self.command.take_action(args)[1])
            self.assertEqual('u1', next(rows)[0])
            self.assertEqual([1, 2], self.read)
            self.assertEqual(BY_NAME[-2::-1], [row[0] for row in rows])
            query = self.queries.pop()
            self.assertEqual((name, 'a'), (query['name'], query['service']))

    def test_tables_are_in_the_order_of_the_names(self) -> None:
        sort = ('--sort-column', 'name')
        for words, expected in (
            ((), BY_NAME),
            (('-f', 'value', *sort), BY_NAME),
            *((('-f', name), BY_NAME[::-1]) for name in ('csv', 'json')),
            *((('-f', name), BY_NAME[::-1]) for name in ('value', 'yaml')),
        ):
            out = self.run_with('-c', 'uuid', *words)
            self.assertEqual(expected, re.findall(r'u\d', out), words)

    def test_warning_of_a_later_page_is_shown_once(self) -> None:
        for first, code in (([], 4), (['one'], 4)):
            pages = iter((first, ['one'], ['one']))
            self.warnings = lambda numbers, pages=pages: next(pages)
            with self.assertLogs(LOGGER, 'WARNING') as logged:
                self.run_with('-f', 'csv')
            self.assertEqual(1, len(logged.output))
            self.assertEqual(code, self.command.exit_code)

    def fails(self, name: str) -> str:
        with self.assertRaises(exceptions.RecordsError):
            self.run_with('-f', name)
        return self.output.getvalue()

    def test_error_of_a_later_page_is_one_of_the_list(self) -> None:
        self.error = exceptions.RecordsError('x')
        for name in ('csv', 'json', 'value'):
            with self.assertLogs(LOGGER, 'ERROR') as logged:
                self.assertIn('u2', self.fails(name))
            self.assertIn('the list is incomplete', logged.output[0])
            self.assertIn('after 2 rows', logged.output[0])
        with self.assertNoLogs(LOGGER, 'ERROR'):
            for name in ('yaml', 'table'):
                self.assertEqual('', self.fails(name), name)
            # Nor has that of the first page any output.
            self.command.app.api.pages.side_effect = self.error
            for name in ('csv', 'json', 'value', 'yaml', 'table'):
                self.assertEqual('', self.fails(name), name)


_STRING = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf'digraph {_STRING} {{|}}|  rankdir=LR; node \[shape=box\];'
    rf'|  \w+ \[label={_STRING}(, style=\w+)?\];'
    r'|(  |; )\w+ -> \w+( \[style=dashed\])?;( record -> decision;)?'
)


class OneNodeTest(command_case.CommandCase):
    """``old`` owns the nodes and is not alive, ``new`` is."""

    def graph(self) -> list[str]:
        """Return the lines of a graph, the same for both callers."""
        graphs = []
        for self.remote in (False, True):
            words = (world.uuid(1), '--graph')
            graphs.append(
                self.printed(compute_node.ExplainComputeNode, *words)[1]
            )
        self.assertEqual(*graphs)
        lines = graphs[0].splitlines()
        for line in lines:
            self.assertRegex(line, rf'^(?:{_LINE.pattern})$')
        return lines

    def test_chain_leads_from_the_inputs_to_the_decision(self) -> None:
        lines = self.graph()
        self.assertIn('  inputs -> member0;', lines)
        self.assertIn('  member0 -> want;', lines)
        self.assertIn('  inputs -> member1 [style=dashed];', lines)
        text = '\n'.join(lines)
        self.assertNotIn('member1 -> want', text)
        self.assertIn('label="Decision: old\\l', text)
        self.assertIn('label="On record\\lold, not alive\\l', text)
        self.assertIn('label="Policies want\\lnew\\l', text)

    def test_text_of_a_node_is_text(self) -> None:
        name = 'a"]; evil [label="\\\x1b'
        self.change_node(1, name=name, shard=name)
        self.graph()

    def test_instance_names_its_node(self) -> None:
        """On record, or one that just appeared."""
        instance, uuid = world.uuid(901), world.uuid(1)
        node = self.change_node(1, instance_uuid=instance)
        self.assert_found(compute_node.ShowComputeNode, instance, uuid)
        self.records.apply('old', self.epoch, [Update(node)])
        self.assert_found(compute_node.ShowComputeNode, instance.upper(), uuid)
        self.backend.join('old', 'two', world.ALL)
        for kind in (
            compute_node.ExplainComputeNode,
            compute_node.CheckActionComputeNode,
        ):
            self.assert_found(kind, instance, uuid)
        self.change_node(1, instance_uuid=None)
        self.assert_found(compute_node.ShowComputeNode, instance, uuid)

    def assert_found(self, kind: Any, named: str, uuid: str) -> None:
        for self.remote in (False, True):
            _, row = self.run_command(kind, named)
            self.assertEqual(uuid, row['uuid'])
