"""A policy that changes its nodes changes no decision and no other node."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts import model, policy
from ironic_ownership.engine.decision import decide
from tests.unit.engine import world


def _change(node) -> None:
    for name, value in (
        ('uuid', world.uuid(9)),
        ('instance_uuid', None),
        ('shard', 'b'),
        ('conductor_group', 'g2'),
    ):
        object.__setattr__(node, name, value)
    node.properties['rack'] = 'changed'
    node.properties['list'].append('changed')


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


_CLASSES = {
    **world.CLASSES,
    'filter': ChangingFilter,
    'assigner': ChangingAssigner,
}


def _node() -> model.Node:
    return world.node(
        1,
        instance_uuid=world.uuid(5),
        shard='a',
        conductor_group='g1',
        properties={'rack': 'a', 'list': ['b']},
    )


class TestChangedNodes(unittest.TestCase):
    def test_node_stays_as_it_was_with_its_owner(self) -> None:
        for policies in (
            {'assigner': None},
            # It kept the node of the decision before.
            {'assigner': None},
            {'filter': None, 'peer_list': ()},
            {'filter': None, 'assigner': None},
            # The next filter gets the node as it was.
            {'filter': None, 'shard_key': 'a'},
            {'filter': None, 'picky': ''},
        ):
            node = _node()
            peer_groups = world.assemble(
                world.members(world.runs(**policies), 'host1', 'host2'),
                classes=_CLASSES,
            )
            records = {node.uuid: world.record(1, 'host2')}
            decided = decide.decide([node], records, peer_groups)
            owners = {uuid: one.owner for uuid, one in decided.items()}
            self.assertEqual({node.uuid: 'host2'}, owners, policies)
            self.assertEqual(_node(), node, policies)
