"""Deletion of compute nodes, in this process and over HTTP."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.cli import confirmation
from ironic_ownership.cli.deletion import (
    CheckDeleteComputeNode,
    DeleteComputeNode,
)
from ironic_ownership.contracts import exceptions
from tests.contract.suites import placement
from tests.unit.cli import test_move
from tests.unit.engine import world


class DeletionCommandsTest(test_move.CommandCase):
    """Ironic does not have node 1 of ``old`` any more."""

    def setUp(self) -> None:
        super().setUp()
        del self.ironic.nodes[world.uuid(1)]
        self.wired.placement = placement.FakePlacement(
            map(world.uuid, range(1, 7))
        )
        confirm = mock.patch.object(confirmation, 'confirm')
        self.confirm = confirm.start()
        self.addCleanup(confirm.stop)

    def delete(self, *words: str) -> tuple[int, list[str]]:
        code, rows = self.run_command(DeleteComputeNode, *words)
        return code, [row['result'] for row in rows]

    def lists(self) -> int:
        return [name for name, _ in self.ironic.calls].count('scan')

    def test_rows_have_the_order_of_the_arguments(self) -> None:
        code, gates = self.run_command(
            CheckDeleteComputeNode, world.uuid(2), 'node1'
        )
        self.assertEqual(3, code)
        self.assertEqual(
            ['node2'] * 6 + ['node1'] * 6, [gate['name'] for gate in gates]
        )
        code, _ = self.run_command(CheckDeleteComputeNode, 'node1')
        self.assertEqual(0, code)
        self.assertEqual(
            (3, ['refused', 'would_delete']),
            self.delete('node2', world.uuid(1).upper(), '--dry-run'),
        )
        self.assertEqual(6, len(self.owners()))
        self.confirm.assert_not_called()

    def test_uuids_of_any_form_are_no_names(self) -> None:
        uuid = world.uuid(1)
        for form in (uuid.replace('-', ''), f'{{{uuid}}}', f'urn:uuid:{uuid}'):
            for others in ((), ('node1',)):
                self.assertEqual(
                    (0, ['would_delete']),
                    self.delete(form, *others, '--dry-run'),
                )

    def test_nodes_are_confirmed_and_deleted(self) -> None:
        self.assertEqual(
            (3, ['deleted', 'refused']), self.delete('node1', 'node2')
        )
        _, question = self.confirm.call_args.args
        self.assertEqual('Delete compute node node1', question)
        self.assertNotIn(world.uuid(1), self.owners())

    def test_with_yes_the_nodes_are_listed_once(self) -> None:
        self.ironic.calls.clear()
        self.assertEqual((0, ['deleted']), self.delete('node1', '--yes'))
        self.assertEqual(1, self.lists())

    def test_refused_nodes_are_shown_and_not_asked_for(self) -> None:
        for words in ((), ('--yes',)):
            self.assertEqual((3, ['refused']), self.delete('node2', *words))
        self.confirm.assert_not_called()
        self.assertEqual(6, len(self.owners()))

    def test_every_unknown_node_is_named(self) -> None:
        with self.assertRaises(exceptions.OwnershipError) as caught:
            self.delete('node9', world.uuid(9), 'node1', '--yes')
        for word in ('node9', 'node6', world.uuid(9), world.uuid(6)):
            self.assertIn(word, str(caught.exception))
        self.assertEqual(6, len(self.owners()))


class DeletionCommandsOverHttpTest(DeletionCommandsTest):
    remote = True
