"""``compute node``: what its options take."""

from __future__ import annotations

import argparse
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.cli import compute_node, errors
from ironic_ownership.observe import columns, compute_node_record


class ShardTest(unittest.TestCase):
    def test_no_shard_is_no_name_of_a_shard(self) -> None:
        self.assertRaises(argparse.ArgumentTypeError, compute_node._shard, '')


class RecordedTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.queries: list[dict[str, Any]] = []
        self.command = compute_node.ListComputeNode(mock.Mock(), None)
        self.command.app.api.call.side_effect = self.call

    def call(self, name: str, query: dict[str, Any]) -> dict[str, Any]:
        """Answer a page of the nodes 1 to 5."""
        self.queries.append(query)
        begin = int(query['marker'] or 0)
        found = range(begin + 1, min(6, begin + 1 + query['limit']))
        return {
            'compute_node_records': [
                dict.fromkeys(
                    columns.keys(compute_node_record.COLUMNS), str(number)
                )
                for number in found
            ],
            'notes': [],
        }

    def run_with(self, *words: str) -> list[str]:
        parser = self.command.get_parser('list')
        _, rows = self.command.take_action(
            parser.parse_args(['--recorded', *words])
        )
        return [row[0] for row in rows]

    def test_pages_are_read_as_they_are_written(self) -> None:
        with mock.patch.object(compute_node, '_PAGE', 2):
            parser = self.command.get_parser('list')
            _, rows = self.command.take_action(
                parser.parse_args(['--recorded', '--service', 'a'])
            )
            self.assertEqual(1, len(self.queries))
            self.assertEqual(list('12345'), [row[0] for row in rows])
        self.assertEqual(
            [None, '2', '4'], [query['marker'] for query in self.queries]
        )
        self.assertEqual('a', self.queries[-1]['service'])

    def test_what_needs_ironic_is_refused(self) -> None:
        for words in (['--long'], ['--state', 'orphan']):
            self.assertRaises(errors.UsageError, self.run_with, *words)
