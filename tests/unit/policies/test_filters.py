from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.policies import filters


class TestAllNodes(unittest.TestCase):
    def test_every_node_is_admitted_and_none_is_filtered(self) -> None:
        policy = filters.AllNodesPolicy({})
        self.assertEqual(model.Scope(), policy.scope())
        for node in (
            model.Node('n'),
            model.Node('n', shard='a', conductor_group='g', retired=True),
        ):
            self.assertTrue(policy.admits(node))


def group_policy(group: str) -> filters.ConductorGroupPolicy:
    return filters.ConductorGroupPolicy({'conductor_group': group})


class TestConductorGroup(unittest.TestCase):
    def test_case_of_the_group_means_nothing(self) -> None:
        self.assertEqual(
            group_policy('Rack').settings(), group_policy('rACK').settings()
        )
        self.assertEqual(
            model.Scope(conductor_group='rack'), group_policy('RACK').scope()
        )

    def test_canonical_settings_build_the_same_policy(self) -> None:
        settings = group_policy('Rack').settings()
        again = filters.ConductorGroupPolicy(settings)
        self.assertEqual(settings, again.settings())
        self.assertEqual(group_policy('Rack').scope(), again.scope())

    def test_empty_group_is_the_default_group_alone(self) -> None:
        self.assertTrue(group_policy('').admits(model.Node('n')))
        self.assertFalse(
            group_policy('').admits(model.Node('n', conductor_group='g'))
        )

    def test_old_name_is_declared_as_deprecated(self) -> None:
        (option,) = filters.ConductorGroupPolicy.options
        self.assertEqual(('partition_key',), option.aliases)
        self.assertEqual('ironic', option.group)
        self.assertTrue(option.required)


def shard_policy(shard: str) -> filters.ShardKeyPolicy:
    return filters.ShardKeyPolicy({'shard_key': shard})


class TestShardKey(unittest.TestCase):
    def test_shard_is_matched_to_the_letter(self) -> None:
        self.assertEqual(
            model.Scope(shard='Rack1'), shard_policy('Rack1').scope()
        )
        for shard, admitted in (
            ('Rack1', True),
            ('rack1', False),
            ('Rack10', False),
            (None, False),
        ):
            node = model.Node('n', shard=shard)
            self.assertIs(admitted, shard_policy('Rack1').admits(node))

    def test_canonical_settings_build_the_same_policy(self) -> None:
        again = filters.ShardKeyPolicy(shard_policy('Rack1').settings())
        self.assertEqual(shard_policy('Rack1').scope(), again.scope())

    def test_name_that_nova_uses_is_an_alias(self) -> None:
        (option,) = filters.ShardKeyPolicy.options
        self.assertEqual(('shard',), option.aliases)
        self.assertEqual('ironic', option.group)
        self.assertTrue(option.required)
