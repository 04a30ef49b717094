"""``instance forget``, in this process and over HTTP."""

from __future__ import annotations

import dataclasses
from unittest import mock

from ironic_ownership.cli import confirmation
from ironic_ownership.cli.instance import ForgetInstance
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Update
from ironic_ownership.db.removals import SqlRemovals
from tests.unit.cli import test_move
from tests.unit.engine import world

GONE, THERE = world.uuid(1), world.uuid(2)
INSTANCE = world.uuid(901)
WHY = ('--reason', 'scrapped')


class ForgetInstanceTest(test_move.CommandCase):
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
        del self.ironic.nodes[GONE]
        confirm = mock.patch.object(confirmation, 'confirm')
        self.confirm = confirm.start()
        self.addCleanup(confirm.stop)

    def forget(self, *words: str) -> tuple[int, dict[str, str]]:
        code, rows = self.run_command(ForgetInstance, *words, *WHY)
        return code, {row['node']: row['result'] for row in rows}

    def instances(self) -> set[str | None]:
        return {r.instance_uuid for r in self.records.compute_nodes()}

    def test_dry_run_changes_nothing(self) -> None:
        for word in (GONE, INSTANCE, 'node1'):
            self.assertEqual(
                (0, {GONE: 'would_forget'}), self.forget(word, '--dry-run')
            )
        self.assertIn(INSTANCE, self.instances())
        self.confirm.assert_not_called()

    def test_refused_ones_stay_and_the_others_are_closed(self) -> None:
        self.assertEqual(
            (3, {GONE: 'forgotten', THERE: 'refused'}),
            self.forget(GONE, THERE),
        )
        self.confirm.assert_called_once()
        self.assertEqual({None, world.uuid(902)}, self.instances())
        event = self.records.events(limit=1)[0]
        self.assertEqual(
            ('instance_forgotten', 'scrapped', INSTANCE),
            (event.kind, event.reason, event.instance_uuid),
        )

    def test_all_refused_is_shown_with_the_gates(self) -> None:
        code, rows = self.run_command(ForgetInstance, THERE, *WHY, '--yes')
        self.assertEqual(3, code)
        self.assertEqual(['node_is_gone'], rows[0]['failed_gates'])
        self.assertIn('openstack baremetal node delete', rows[0]['hint'])

    def test_late_change_is_a_refusal_with_its_reason(self) -> None:
        with mock.patch.object(
            SqlRemovals, 'forget_instance', return_value='the cell has it'
        ):
            code, rows = self.run_command(ForgetInstance, GONE, *WHY, '--yes')
        self.assertEqual((3, 'the cell has it'), (code, rows[0]['evidence']))

    def test_node_without_an_instance_is_unknown(self) -> None:
        with self.assertRaises(exceptions.OwnershipError) as caught:
            self.forget(world.uuid(3))
        self.assertEqual('not_found', caught.exception.code)


class RemoteForgetInstanceTest(ForgetInstanceTest):
    """The same over HTTP."""

    remote = True
