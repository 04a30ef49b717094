"""Instances that an operator forgets: evaluated again on execution."""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.db.removals import SqlRemovals
from ironic_ownership.engine.changes.deletion import DeleteNodes
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.gates import Result
from tests.unit.engine import service, world

GONE = world.uuid(1)


class TestForgetInstances(service.ServiceCase):
    """``host1`` owns a node with an instance, which Ironic lost."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1, instance_uuid=world.uuid(901)))
        self.start('host1').refresh()
        self.node = self.ironic.nodes.pop(GONE)
        self.operation = DeleteNodes(
            self.records,
            self.ironic,
            None,
            Limits(0.0, 0.25, 3),
            model.Scope(),
        )
        self.proposed = self.operation.propose_instances(
            [world.uuid(901), GONE]
        )

    def execute(self) -> Result:
        done = self.operation.execute(
            self.proposed,
            SqlRemovals(self.database),
            Origin('operator'),
            reason='scrapped',
        )
        (one,) = done.nodes
        self.refused = [result.gate for result in one.refused]
        return one.result

    def test_instance_is_named_once_and_forgotten(self) -> None:
        self.assertIs(Result.FORGOTTEN, self.execute())
        self.assertEqual({1: None}, self.instances())

    def test_node_that_returned_keeps_its_instance(self) -> None:
        self.ironic.put(self.node)
        self.assertIs(Result.REFUSED, self.execute())
        self.assertEqual(['node_is_gone'], self.refused)
        self.assertEqual({1: world.uuid(901)}, self.instances())

    def test_owner_that_registered_again_is_a_refusal(self) -> None:
        self.records.register('host1', world.ALL, incarnation='another')
        self.assertIs(Result.REFUSED, self.execute())
        self.assertEqual(['still_owner'], self.refused)
        self.assertEqual({1: world.uuid(901)}, self.instances())
