"""Nodes named by words and files, with every fault by its place."""

from __future__ import annotations

import pathlib
import tempfile
import unittest
import uuid
from typing import Any

from ironic_ownership.cli import errors, move
from ironic_ownership.contracts import model, texts
from ironic_ownership.engine import suggestions

ONE, TWO = (str(uuid.UUID(int=number)) for number in (10, 11))
MISSING = str(uuid.UUID(int=12))


class _Records:
    def __init__(self) -> None:
        self.found = [
            model.ComputeNode(ONE, None, name='n1'),
            model.ComputeNode(TWO, None, name='n2'),
            model.ComputeNode(str(uuid.UUID(int=13)), None, name='twice'),
            model.ComputeNode(str(uuid.UUID(int=14)), None, name='twice'),
        ]

    def compute_nodes(self) -> list[model.ComputeNode]:
        return self.found

    def compute_nodes_by_uuid(self, uuids: Any) -> list[model.ComputeNode]:
        return [record for record in self.found if record.uuid in uuids]


class _Caller:
    request_id = 'req-test'

    def __init__(self) -> None:
        self.calls = 0

    def call(self, name: str, *, body: Any, **more: Any) -> Any:
        self.calls += 1
        found = suggestions.resolve(_Records(), body['nodes'])  # type: ignore[arg-type]
        return {
            'nodes': [
                {'text': one.text, 'uuid': one.uuid, 'fault': one.fault}
                for one in found
            ]
        }


def in_file(content: bytes) -> move.Named:
    with tempfile.NamedTemporaryFile() as file:
        pathlib.Path(file.name).write_bytes(content)
        return move.of_file(_Caller(), file.name)


class NodeArgumentsTest(unittest.TestCase):
    def resolve(self, *words: str) -> move.Named:
        return move.of_words(_Caller(), words)

    def test_uuids_and_names_keep_their_order(self) -> None:
        uuids, faults = self.resolve('n2', ONE.upper())
        self.assertEqual(([TWO, ONE], []), (uuids, faults))

    def test_uuids_alone_need_no_request(self) -> None:
        caller = _Caller()
        uuids, _faults = move.of_words(caller, [MISSING, ONE])
        self.assertEqual([MISSING, ONE], uuids)
        self.assertEqual(0, caller.calls)

    def test_uuid_without_hyphens_names_the_node(self) -> None:
        self.assertEqual(([ONE], []), self.resolve(ONE.replace('-', '')))

    def test_one_node_by_name_and_uuid_is_a_duplicate(self) -> None:
        uuids, faults = self.resolve('n1', ONE)
        self.assertEqual([ONE], uuids)
        (fault,) = faults
        self.assertIn('argument 2', fault)
        self.assertIn('argument 1', fault)

    def test_ambiguous_and_unknown_names_are_faults(self) -> None:
        uuids, faults = self.resolve('twice', 'n3', 'n1')
        self.assertEqual([ONE], uuids)
        self.assertIn('name of 2 nodes', faults[0])
        self.assertIn('Did you mean', faults[1])

    def test_file_has_uuids_comments_and_nothing_else(self) -> None:
        uuids, faults = in_file(
            f'\ufeff# rack 1\r\n\r\n  {ONE}  # spare\n{TWO}'.encode()
        )
        self.assertEqual(([ONE, TWO], []), (uuids, faults))
        uuids, faults = in_file(f'n1\n{ONE}\n{MISSING}\n{ONE}\n'.encode())
        self.assertEqual([ONE], uuids)
        self.assertEqual(
            [
                "line 1: 'n1' is not a uuid",
                f'line 3: no compute node is on record for {MISSING}',
                f'line 4: {ONE} is a duplicate of line 2',
            ],
            [fault.partition(': ')[2] for fault in faults],
        )

    def test_only_the_form_of_ironic_is_a_uuid(self) -> None:
        self.assertTrue(texts.is_uuid(ONE.upper()))
        for text in (
            *('', 'x', ONE.replace('-', ''), f'{{{ONE}}}'),
            *(f'urn:uuid:{ONE}', f'{ONE}0', f' {ONE}'),
        ):
            self.assertFalse(texts.is_uuid(text), text)

    def test_bytes_that_are_no_text_are_a_usage_error(self) -> None:
        self.assertRaises(errors.UsageError, in_file, b'\xff\xfe')
