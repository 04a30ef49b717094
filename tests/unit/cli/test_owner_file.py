"""Files with owners: CSV and JSON, every fault with its place."""

from __future__ import annotations

import pathlib
import tempfile
import unittest

from ironic_ownership.cli import errors, node_import

A = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a0'
B = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a1'


class TestOwnerFile(unittest.TestCase):
    def read(self, content: str | bytes) -> node_import.Owners:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(directory) / 'owners'
        path.write_bytes(
            content.encode() if isinstance(content, str) else content
        )
        return node_import.read_owners(str(path))

    def test_both_formats_name_the_same_owners(self) -> None:
        for content in (
            f'{A},rack1\n{B},rack2\n',
            (
                f'\ufeff# from elsewhere\nuuid,owner\n{A.upper()}, rack1'
                f'\n\n"{B}",rack2,extra\r\n'
            ),
            f'name,host,uuid\none,rack1,{A}\ntwo,rack2,{B}\n',
            (
                f'[{{"uuid": "{A}", "owner": "rack1"}},'
                f' {{"uuid": "{B}", "service": "rack2"}}]'
            ),
            f'{{"{A}": "rack1", "{B}": "rack2"}}',
        ):
            with self.subTest(content=content):
                found = self.read(content)
                self.assertEqual({A: 'rack1', B: 'rack2'}, found.owners)
                self.assertEqual([], found.faults)

    def test_every_fault_has_its_place(self) -> None:
        found = self.read(
            f'{A},rack1\nnonsense,rack1\n{A},rack2\n{B}\n{B},a b\n'
        )
        self.assertEqual({A: 'rack1'}, found.owners)
        self.assertEqual(
            [
                "line 2: 'nonsense' is not a uuid",
                f'line 3: {A} is a duplicate of line 1',
                f'line 4: {B} has no owner',
                "line 5: 'a b' cannot be the name of a service",
            ],
            [fault.partition(': ')[2] for fault in found.faults],
        )
        found = self.read(
            f'{{"{A}": "rack1", "{A}": "rack2", "{B}": 7, "x": null}}'
        )
        self.assertEqual(3, len(found.faults))
        found = self.read(f'[7, {{"uuid": "{B}"}}, {{"owner": "rack1"}}]')
        self.assertEqual(({}, 3), (found.owners, len(found.faults)))

    def test_file_that_cannot_be_used_is_one_error(self) -> None:
        for content in (
            b'\xff\xfe',
            '[{"uuid": ',
            '[' * 100_000,
            'uuid,name\n',
            'a\0b,"',
        ):
            with self.subTest(content=content[:20]):
                try:
                    found = self.read(content)
                except errors.UsageError:
                    continue
                self.assertTrue(found.faults)
        with self.assertRaises(errors.UsageError):
            node_import.read_owners('/nowhere/owners.csv')
