from __future__ import annotations

import unittest

from ironic_ownership.contracts import model, policy
from ironic_ownership.policies import filters


def group_policy(group: str) -> filters.ConductorGroupPolicy:
    return filters.ConductorGroupPolicy({'conductor_group': group})


class FilterCase(unittest.TestCase):
    def assert_option(self, kind: type[policy.Policy], alias: str) -> None:
        (option,) = kind.options
        self.assertEqual((alias,), option.aliases)
        self.assertEqual('ironic', option.group)
        self.assertTrue(option.required)


class TestAllNodes(unittest.TestCase):
    def test_every_node_is_admitted_and_none_is_filtered(self) -> None:
        policy = filters.AllNodesPolicy({})
        self.assertEqual(model.Scope(), policy.scope())
        node = model.Node('n', shard='a', conductor_group='g', retired=True)
        self.assertTrue(policy.admits(node))


class TestConductorGroup(FilterCase):
    def test_case_of_the_group_means_nothing(self) -> None:
        for name in ('Rack', 'rACK'):
            found = group_policy(name)
            self.assertEqual({'conductor_group': 'rack'}, found.settings())
            scope = model.Scope(conductor_group='rack')
            self.assertEqual(scope, found.scope())

    def test_empty_group_is_the_default_group_alone(self) -> None:
        for group, admitted in (('', True), ('g', False)):
            node = model.Node('n', conductor_group=group)
            self.assertIs(admitted, group_policy('').admits(node))

    def test_old_name_is_declared_as_deprecated(self) -> None:
        self.assert_option(filters.ConductorGroupPolicy, 'partition_key')


class TestShardKey(FilterCase):
    def test_shard_is_matched_to_the_letter(self) -> None:
        found = filters.ShardKeyPolicy({'shard_key': 'Rack1'})
        self.assertEqual(model.Scope(shard='Rack1'), found.scope())
        self.assertEqual({'shard_key': 'Rack1'}, found.settings())
        for shard in ('Rack1', 'rack1', 'Rack10', None):
            node = model.Node('n', shard=shard)
            self.assertIs(shard == 'Rack1', found.admits(node))

    def test_name_that_nova_uses_is_an_alias(self) -> None:
        self.assert_option(filters.ShardKeyPolicy, 'shard')
