"""Import of owners, in this process and over HTTP; the files that it reads."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Sequence
from typing import Any
from unittest import mock

from ironic_ownership.cli import errors, node_import
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import HandOver, NodeMove
from ironic_ownership.contracts.records import Release
from ironic_ownership.db.linked_tables import LockedNodes
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from tests.unit.cli import command_case
from tests.unit.engine import world

A = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a0'
B = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a1'


class TestOwnerFile(unittest.TestCase):
    def read(
        self, content: str | bytes
    ) -> tuple[dict[str, str], Sequence[str]]:
        with tempfile.NamedTemporaryFile() as file:
            if isinstance(content, str):
                content = content.encode()
            file.write(content)
            file.flush()
            return node_import.read_owners(file.name)

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
                self.assertEqual(
                    ({A: 'rack1', B: 'rack2'}, []), self.read(content)
                )

    def test_every_fault_has_its_place(self) -> None:
        owners, faults = self.read(
            f'{A},rack1\nnonsense,rack1\n{A},rack2\n{B}\n{B},a b\n'
        )
        self.assertEqual({A: 'rack1'}, owners)
        self.assertEqual(
            [
                "line 2: 'nonsense' is not a uuid",
                f'line 3: {A} is a duplicate of line 1',
                f'line 4: {B} has no owner',
                "line 5: 'a b' cannot be the name of a service",
            ],
            [fault.partition(': ')[2] for fault in faults],
        )
        for content in (
            f'{{"{A}": "rack1", "{A}": "rack2", "{B}": 7, "x": null}}',
            f'[7, {{"uuid": "{B}"}}, {{"owner": "rack1"}}]',
        ):
            self.assertEqual(3, len(self.read(content)[1]), content)

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
                    _owners, faults = self.read(content)
                except errors.UsageError:
                    continue
                self.assertTrue(faults)
        with self.assertRaises(errors.UsageError):
            node_import.read_owners('/nowhere/owners.csv')


class ImportCommandTest(command_case.CommandCase):
    """Nodes 1 to 4 are unowned; ``old`` owns 5 and 6."""

    def setUp(self) -> None:
        super().setUp()
        freed = [Release(world.uuid(number)) for number in range(1, 5)]
        self.records.apply('old', self.epoch, freed)
        self.file = self.directory / 'owners.csv'

    def run_import(
        self, owners: dict[int, str], *words: str, more: str = ''
    ) -> tuple[int, list[str]]:
        """Return the exit code, and the state of each node."""
        lines = [f'{world.uuid(n)},{host}\n' for n, host in owners.items()]
        self.file.write_text(f'uuid,owner\n{"".join(lines)}{more}')
        code, rows = self.run_command(
            node_import.ImportComputeNode, str(self.file), '--all', *words
        )
        self.rows = {row['uuid']: row for row in rows}
        return code, [self.cell(n, 'state') for n in owners]

    def cell(self, number: int, key: str) -> Any:
        return self.rows[world.uuid(number)][key]

    def test_import_is_repeated_without_a_change(self) -> None:
        instance = world.uuid(77)
        self.ironic.put(world.node(1, name='node1', instance_uuid=instance))
        owners = {1: 'new', 2: 'NEW'}
        self.assertEqual(
            (0, ['planned'] * 2), self.run_import(owners, '--dry-run')
        )
        self.assertEqual([None, None], [self.owner(1), self.owner(2)])
        self.assertEqual((0, ['imported'] * 2), self.run_import(owners, '-y'))
        self.assertEqual(['new', 'new'], [self.owner(1), self.owner(2)])
        (record,) = self.records.compute_nodes_by_uuid([world.uuid(1)])
        self.assertEqual(instance, record.instance_uuid)
        self.assertEqual(
            (0, ['unchanged', 'unchanged', 'imported']),
            self.run_import({**owners, 3: 'new'}, '-y'),
        )

    def test_refused_nodes_stop_the_others_unless_skipped(self) -> None:
        del self.ironic.nodes[world.uuid(2)]
        owners = {1: 'new', 2: 'new', 3: 'nwe', 5: 'new'}
        code, states = self.run_import(owners, '-y')
        self.assertEqual((3, 'planned'), (code, states[0]))
        self.assertIn('3 of 4 nodes refused', self.stderr.getvalue())
        self.assertIsNone(self.owner(1))
        self.assertEqual(
            [[], ['node_exists'], ['service_known'], ['not_owned']],
            [self.cell(n, 'failed_gates') for n in owners],
        )
        self.assertIn('Did you mean new?', self.cell(3, 'hint'))
        hint = self.cell(5, 'hint')
        self.assertIn(f'move {world.uuid(5)} --to new', hint)
        self.assertEqual(
            (3, ['imported', 'refused', 'refused', 'refused']),
            self.run_import(owners, '-y', '--skip-invalid'),
        )
        self.assertEqual(('new', 'old'), (self.owner(1), self.owner(5)))

    def test_services_that_have_not_started_are_created_if_asked(self) -> None:
        code, _ = self.run_import({1: 'rack9'}, '--new-services', '-y')
        self.assertEqual((0, 'rack9'), (code, self.owner(1)))
        (row,) = [s for s in self.records.services() if s.host == 'rack9']
        self.assertTrue(row.never_registered)

    def test_service_that_was_stopped_gets_no_node(self) -> None:
        self.records.retire('old', self.epoch, grace=0)
        code, _ = self.run_import({1: 'old'}, '-y')
        self.assertEqual(
            (3, ['service_may_write']), (code, self.cell(1, 'failed_gates'))
        )
        # The hint works.
        self.records.register('old', world.ALL)
        code, _ = self.run_import({1: 'old'}, '-y')
        self.assertEqual((0, 'old'), (code, self.owner(1)))

    def test_bad_lines_are_named_and_stop_the_import(self) -> None:
        bad = 'nonsense,new\n'
        with self.assertRaises(errors.UsageError):
            self.run_import({1: 'new'}, '-y', more=bad)
        self.assertIn('line 3: ', self.stderr.getvalue())
        self.assertIsNone(self.owner(1))
        code, _ = self.run_import({1: 'new'}, '-y', '--skip-invalid', more=bad)
        self.assertEqual((3, 'new'), (code, self.owner(1)))

    def test_interrupted_import_is_resumed(self) -> None:
        claim, calls = SqlRecords.import_nodes, iter(range(100))

        def breaking(*args: Any, **how: Any) -> Any:
            if next(calls) == 1:
                raise exceptions.RecordsUnavailableError('no answer')
            return claim(*args, **how)

        owners = {1: 'new', 2: 'new', 3: 'new'}
        with (
            mock.patch.object(node_import, 'MAX_IMPORTED', 1),
            mock.patch.object(SqlRecords, 'import_nodes', breaking),
            self.assertRaises(exceptions.OwnershipError),
        ):
            self.run_import(owners, '-y')
        self.assertIn('stopped after 1 of 3 nodes', self.stderr.getvalue())
        self.assertIn('3 of 3 nodes evaluated', self.stderr.getvalue())
        self.assertEqual(('new', None), (self.owner(1), self.owner(2)))
        self.assertEqual(
            (0, ['unchanged', 'imported', 'imported']),
            self.run_import(owners, '-y'),
        )

    def test_node_that_may_not_be_claimed_any_more_is_refused(self) -> None:
        node = NodeMove(world.uuid(1), None)
        hold = HandOver('req-1', 'operator')
        moves = SqlMoves(self.wired.database)

        real = SqlRecords.import_nodes

        def in_cell(*args: Any, **how: Any) -> object:
            moves.end_release('req-1', [node.uuid])
            with mock.patch.object(
                LockedNodes, 'against_claim', lambda *_: 'cell_instance: on x'
            ):
                return real(*args, **how)

        def taken(*args: Any, **how: Any) -> object:
            moves.end_release('req-1', [node.uuid])
            self.claim('old', self.epoch, self.ironic.nodes[node.uuid])
            return real(*args, **how)

        def stopped(*args: Any, **how: Any) -> object:
            raise exceptions.FencedError('new was stopped')

        for claim, gate, evidence, hint in (
            (stopped, 'service_may_write', 'new was stopped', 'Repeat'),
            # A move or a release that has not ended yet.
            (
                real,
                *('not_owned', 'req-1 hands it over', 'list --unfinished'),
            ),
            (in_cell, 'not_owned', 'cell_instance: on x', 'nova check'),
            (taken, 'not_owned', 'got an owner', 'Repeat'),
        ):
            self.assertEqual({}, moves.release([node], hold))
            with mock.patch.object(SqlRecords, 'import_nodes', claim):
                found = self.run_import({1: 'new'}, '-y')
            self.assertEqual((3, ['refused']), found)
            self.assertEqual([gate], self.cell(1, 'failed_gates'))
            self.assertIn(evidence, self.cell(1, 'evidence'))
            self.assertIn(hint, self.cell(1, 'hint'))


class ImportCommandOverHttpTest(ImportCommandTest):
    remote = True
