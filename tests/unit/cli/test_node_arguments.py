"""Which nodes words and files name, and every fault by its place."""

from __future__ import annotations

import pathlib
import tempfile
import unittest
import uuid

from ironic_ownership.cli import errors, node_arguments

ONE, TWO = (str(uuid.UUID(int=number)) for number in (10, 11))
NAMES = {'n1': [ONE], 'n2': [TWO], 'twice': [ONE, TWO]}


def read(content: bytes) -> list[node_arguments.Entry]:
    with tempfile.NamedTemporaryFile() as file:
        pathlib.Path(file.name).write_bytes(content)
        return node_arguments.read_file(file.name)


class MoveInputTest(unittest.TestCase):
    def resolve(self, *words: str) -> node_arguments.Named:
        return node_arguments.resolve(node_arguments.of_words(words), NAMES)

    def test_uuids_and_names_keep_their_order(self) -> None:
        named = self.resolve('n2', ONE.upper())
        self.assertEqual(([TWO, ONE], []), (named.uuids, named.faults))

    def test_one_node_by_name_and_uuid_is_a_duplicate(self) -> None:
        named = self.resolve('n1', ONE)
        self.assertEqual([ONE], named.uuids)
        (fault,) = named.faults
        self.assertIn('argument 2', fault)
        self.assertIn('argument 1', fault)

    def test_ambiguous_and_unknown_names_are_faults(self) -> None:
        named = self.resolve('twice', 'n3', 'n1')
        self.assertEqual([ONE], named.uuids)
        self.assertIn('name of 2 nodes', named.faults[0])
        self.assertIn('Did you mean', named.faults[1])

    def test_file_has_uuids_comments_and_nothing_else(self) -> None:
        entries = read(
            f'\ufeff# rack 1\r\n\r\n  {ONE}  # spare\n{TWO}'.encode()
        )
        self.assertEqual(
            [('line 3', ONE), ('line 4', TWO)],
            [(e.place, e.text) for e in entries],
        )
        named = node_arguments.resolve(
            [node_arguments.Entry('line 1', 'n1')], None
        )
        self.assertEqual(["line 1: 'n1' is not a uuid"], named.faults)

    def test_only_the_form_of_ironic_is_a_uuid(self) -> None:
        self.assertTrue(node_arguments.is_uuid(ONE.upper()))
        for text in (
            *('', 'x', ONE.replace('-', ''), f'{{{ONE}}}'),
            *(f'urn:uuid:{ONE}', f'{ONE}0', f' {ONE}'),
        ):
            self.assertFalse(node_arguments.is_uuid(text), text)

    def test_bytes_that_are_no_text_are_a_usage_error(self) -> None:
        self.assertRaises(errors.UsageError, read, b'\xff\xfe')
