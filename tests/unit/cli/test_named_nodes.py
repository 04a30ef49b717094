"""Nodes named by words and files, with every fault by its place."""

from __future__ import annotations

import dataclasses
import tempfile
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.cli import errors, move
from ironic_ownership.contracts import model, texts
from ironic_ownership.engine import suggestions
from tests.unit.engine import world

ONE, TWO, MISSING = world.uuid(1), world.uuid(2), world.uuid(3)
RECORDS = [
    model.ComputeNode(world.uuid(number), None, name=name)
    for number, name in ((1, 'n1'), (2, 'n2'), (4, 'twice'), (5, 'twice'))
]


class NodeArgumentsTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        records = mock.Mock()
        records.compute_nodes.return_value = RECORDS
        records.compute_nodes_by_uuid = lambda uuids: [
            record for record in RECORDS if record.uuid in uuids
        ]

        def call(name: str, *, body: Any) -> Any:
            found = suggestions.resolve(records, body['nodes'])
            return {'nodes': [*map(dataclasses.asdict, found)]}

        self.caller = mock.Mock(**{'call.side_effect': call})

    def resolve(self, *words: str) -> move.Named:
        return move.of_words(self.caller, words)

    def in_file(self, content: bytes) -> move.Named:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            return move.of_file(self.caller, file.name)

    def test_uuids_and_names_keep_their_order(self) -> None:
        self.assertEqual(([TWO, ONE], []), self.resolve('n2', ONE.upper()))
        self.caller.call.reset_mock()
        bare = ONE.replace('-', '')
        self.assertEqual(([MISSING, ONE], []), self.resolve(MISSING, bare))
        self.caller.call.assert_not_called()

    def test_what_names_no_node_or_one_twice_is_a_fault(self) -> None:
        uuids, faults = self.resolve('n1', ONE, 'twice', 'n3')
        self.assertEqual([ONE], uuids)
        for fault, *parts in zip(
            faults,
            ('argument 2', 'argument 3', 'argument 4'),
            ('argument 1', 'name of 2 nodes', 'Did you mean'),
            strict=True,
        ):
            for part in parts:
                self.assertIn(part, fault)

    def test_file_has_uuids_comments_and_nothing_else(self) -> None:
        content = f'\ufeff# rack 1\r\n\r\n  {ONE}  # spare\n{TWO}'
        self.assertEqual(([ONE, TWO], []), self.in_file(content.encode()))
        content = f'n1\n{ONE}\n{MISSING}\n{ONE}\n'
        uuids, faults = self.in_file(content.encode())
        self.assertEqual([ONE], uuids)
        self.assertEqual(
            [
                "line 1: 'n1' is not a uuid",
                f'line 3: no compute node is on record for {MISSING}',
                f'line 4: {ONE} is a duplicate of line 2',
            ],
            [fault.partition(': ')[2] for fault in faults],
        )
        self.assertRaises(errors.UsageError, self.in_file, b'\xff\xfe')

    def test_only_the_form_of_ironic_is_a_uuid(self) -> None:
        self.assertTrue(texts.is_uuid(ONE.upper()))
        for text in (
            *('', 'x', ONE.replace('-', ''), f'{{{ONE}}}'),
            *(f'urn:uuid:{ONE}', f'{ONE}0', f' {ONE}'),
        ):
            self.assertFalse(texts.is_uuid(text), text)
