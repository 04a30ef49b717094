"""A policy that changes its nodes changes no decision and no other node."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts import policy
from ironic_ownership.engine.decision import decide as decision_decide
from tests.unit.engine import world

_CHANGED = {
    'uuid': world.uuid(9),
    'instance_uuid': None,
    'shard': 'b',
    'conductor_group': 'g2',
}


def _change(node) -> None:
    for name, value in _CHANGED.items():
        object.__setattr__(node, name, value)


class ChangingFilter(policy.FilterPolicy):
    contract_version = 1

    def admits(self, node):
        _change(node)
        return True


class ChangingAssigner(policy.AssignerPolicy):
    contract_version = 1
    rebalancing = True
    kept: list = []

    def assign(self, nodes, hosts):
        for node in (*self.kept, *nodes):
            _change(node)
        self.kept.extend(nodes)
        return [hosts[0]] * len(nodes)


class ChangingProperties(policy.FilterPolicy):
    contract_version = 1

    def admits(self, node):
        node.properties['rack'] = 'changed'
        node.properties['list'].append('changed')
        return True


_CLASSES = {
    **world.CLASSES,
    'filter': ChangingFilter,
    'assigner': ChangingAssigner,
    'properties': ChangingProperties,
}


class ChangingProperties(policy.FilterPolicy):
    contract_version = 1

    def admits(self, node):
        node.properties['rack'] = 'changed'
        node.properties['list'].append('changed')
        return True


class TestChangedNodes(unittest.TestCase):
    def decide(self, node, **policies):
        peer_groups = world.assemble(
            world.members(world.runs(**policies), 'host1', 'host2'),
            classes=_CLASSES,
        )
        records = {node.uuid: world.record(1, 'host2')}
        return decision_decide.decide([node], records, peer_groups)

    def node(self):
        return world.node(
            1, instance_uuid=world.uuid(5), shard='a', conductor_group='g1'
        )

    def test_instance_stays_with_its_owner(self) -> None:
        for policies in (
            {'assigner': None},
            {'filter': None, 'peer_list': ()},
            {'filter': None, 'assigner': None},
        ):
            node = self.node()
            (decision,) = self.decide(node, **policies).values()
            self.assertEqual('host2', decision.owner, policies)
            self.assertEqual(self.node(), node, policies)

    def test_next_filter_gets_the_node_as_it_was(self) -> None:
        node = self.node()
        decided = self.decide(node, filter=None, shard_key='a')
        self.assertEqual([node.uuid], [*decided])
        self.assertEqual(self.node(), node)

    def test_node_that_the_policy_kept_is_no_node_of_a_later_decision(
        self,
    ) -> None:
        node = self.node()
        for _ in range(2):
            (decision,) = self.decide(node, assigner=None).values()
            self.assertEqual('host2', decision.owner)
        self.assertEqual(self.node(), node)

    def test_properties_are_copies_as_well(self) -> None:
        node = world.node(1, properties={'rack': 'a', 'list': ['b']})
        self.decide(node, properties=None)
        self.assertEqual({'rack': 'a', 'list': ['b']}, node.properties)
