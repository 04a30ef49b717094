"""Nodes that commands name by their instance, here and over HTTP."""

from __future__ import annotations

import dataclasses

from ironic_ownership.cli import compute_node
from ironic_ownership.contracts.records import Update
from tests.unit.cli import test_move
from tests.unit.engine import world


class InstanceTest(test_move.CommandCase):
    """Node 1 of ``old`` has an instance."""

    def setUp(self) -> None:
        super().setUp()
        self.instance = world.uuid(901)
        self.node = dataclasses.replace(
            self.ironic.nodes[world.uuid(1)], instance_uuid=self.instance
        )
        self.ironic.put(self.node)

    def find(self, uuid: str) -> str:
        _, row = self.run_command(compute_node.ShowComputeNode, uuid)
        return str(row['uuid'])

    def test_instance_on_record_and_one_that_just_appeared(self) -> None:
        self.assertEqual(self.node.uuid, self.find(self.instance))
        self.records.apply('old', self.epoch, [Update(self.node)])
        self.assertEqual(self.node.uuid, self.find(self.instance.upper()))
        self.ironic.put(dataclasses.replace(self.node, instance_uuid=None))
        self.assertEqual(self.node.uuid, self.find(self.instance))
        self.assertEqual(world.uuid(2), self.find(world.uuid(2)))

    def test_explanation_and_check_of_an_action(self) -> None:
        self.backend.join('old', 'two', world.ALL)
        _, row = self.run_command(
            compute_node.ExplainComputeNode, self.instance
        )
        self.assertEqual(self.node.uuid, row['uuid'])
        _, row = self.run_command(
            compute_node.CheckActionComputeNode, self.instance
        )
        self.assertEqual(self.node.uuid, row['uuid'])


class RemoteInstanceTest(InstanceTest):
    """The same over HTTP."""

    remote = True
