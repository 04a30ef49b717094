"""Commands that delete or release nodes, in this process and over HTTP."""

from __future__ import annotations

import dataclasses
from unittest import mock

from ironic_ownership.cli.node_change import (
    CheckDeleteComputeNode,
    DeleteComputeNode,
    ForgetInstance,
    ReleaseComputeNode,
)
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Update
from ironic_ownership.db.removals import SqlRemovals
from tests.contract.suites import placement
from tests.unit.cli import test_move
from tests.unit.engine import world

ONE, TWO = world.uuid(1), world.uuid(2)
INSTANCE = world.uuid(901)
WHY = ('--reason', 'scrapped')


class DeletionCommandsTest(test_move.ConfirmedCase):
    """Ironic does not have node 1 of ``old`` any more."""

    def setUp(self) -> None:
        super().setUp()
        del self.ironic.nodes[world.uuid(1)]
        self.wired.placement = placement.FakePlacement(
            map(world.uuid, range(1, 7))
        )

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


class ForgetInstanceTest(test_move.ConfirmedCase):
    """Nodes 1 and 2 of ``old`` have instances; Ironic lost node 1."""

    def setUp(self) -> None:
        super().setUp()
        for number in (1, 2):
            node = dataclasses.replace(
                self.ironic.nodes[world.uuid(number)],
                instance_uuid=world.uuid(900 + number),
            )
            self.ironic.put(node)
            self.records.apply('old', self.epoch, [Update(node)])
        del self.ironic.nodes[ONE]

    def forget(self, *words: str) -> tuple[int, dict[str, str]]:
        code, rows = self.run_command(ForgetInstance, *words, *WHY)
        return code, {row['node']: row['result'] for row in rows}

    def instances(self) -> set[str | None]:
        return {r.instance_uuid for r in self.records.compute_nodes()}

    def test_dry_run_changes_nothing(self) -> None:
        for word in (ONE, INSTANCE, 'node1'):
            self.assertEqual(
                (0, {ONE: 'would_forget'}), self.forget(word, '--dry-run')
            )
        self.assertIn(INSTANCE, self.instances())
        self.confirm.assert_not_called()

    def test_refused_ones_stay_and_the_others_are_closed(self) -> None:
        self.assertEqual(
            (3, {ONE: 'forgotten', TWO: 'refused'}), self.forget(ONE, TWO)
        )
        self.confirm.assert_called_once()
        self.assertEqual({None, world.uuid(902)}, self.instances())
        event = self.records.events(limit=1)[0]
        self.assertEqual(
            ('instance_forgotten', 'scrapped', INSTANCE),
            (event.kind, event.reason, event.instance_uuid),
        )

    def test_all_refused_is_shown_with_the_gates(self) -> None:
        code, rows = self.run_command(ForgetInstance, TWO, *WHY, '--yes')
        self.assertEqual(3, code)
        self.assertEqual(['node_is_gone'], rows[0]['failed_gates'])
        self.assertIn('openstack baremetal node delete', rows[0]['hint'])

    def test_late_change_is_a_refusal_with_its_reason(self) -> None:
        with mock.patch.object(
            SqlRemovals, 'forget_instance', return_value='the cell has it'
        ):
            code, rows = self.run_command(ForgetInstance, ONE, *WHY, '--yes')
        self.assertEqual((3, 'the cell has it'), (code, rows[0]['evidence']))


class RemoteForgetInstanceTest(ForgetInstanceTest):
    """The same over HTTP."""

    remote = True


class ReleaseComputeNodeTest(test_move.ConfirmedCase):
    """``old`` is disabled and owns nodes that ``new`` admits as well."""

    def release(self, *words: str) -> tuple[int, dict[str, str]]:
        code, rows = self.run_command(ReleaseComputeNode, *words)
        return code, {row['uuid']: row['result'] for row in rows}

    def owners(self) -> set[str | None]:
        return {
            r.host
            for r in self.records.compute_nodes()
            if r.uuid in (ONE, TWO)
        }

    def test_dry_run_changes_nothing(self) -> None:
        self.assertEqual(
            (0, {ONE: 'would_release'}), self.release('node1', '--dry-run')
        )
        self.assertEqual({'old'}, self.owners())
        self.confirm.assert_not_called()

    def test_released_and_refused(self) -> None:
        node = world.node(2, name='node2', instance_uuid=world.uuid(902))
        self.ironic.put(node)
        self.assertEqual(
            (3, {ONE: 'released', TWO: 'refused'}),
            self.release(ONE, 'node2', '--reason', 'CHG-42'),
        )
        self.confirm.assert_called_once()
        self.assertEqual({None, 'old'}, self.owners())
        event = self.records.events(limit=1)[0]
        self.assertEqual(
            ('node_handed_over', 'CHG-42', 'old'),
            (event.kind, event.reason, event.from_host),
        )
        self.assertTrue(str(event.request_id).startswith('req-'))
        self.assertEqual((0, {ONE: 'unchanged'}), self.release(ONE, '--yes'))

    def test_all_refused_is_shown_with_the_gates(self) -> None:
        del self.ironic.nodes[ONE]
        code, rows = self.run_command(ReleaseComputeNode, ONE, '--yes')
        self.assertEqual(3, code)
        self.assertIn('node_exists', rows[0]['failed_gates'])
        self.assertIn('compute node delete', rows[0]['hint'])


class RemoteReleaseComputeNodeTest(ReleaseComputeNodeTest):
    """The same over HTTP."""

    remote = True
