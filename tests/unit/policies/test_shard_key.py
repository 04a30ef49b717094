from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.policies import shard_key


def policy(shard: str) -> shard_key.ShardKeyPolicy:
    return shard_key.ShardKeyPolicy({'shard_key': shard})


class TestShardKey(unittest.TestCase):
    def test_shard_is_matched_to_the_letter(self) -> None:
        self.assertEqual(model.Scope(shard='Rack1'), policy('Rack1').scope())
        for shard, admitted in (
            ('Rack1', True),
            ('rack1', False),
            ('Rack10', False),
            (None, False),
        ):
            node = model.Node('n', shard=shard)
            self.assertIs(admitted, policy('Rack1').admits(node))

    def test_shards_that_differ_in_case_are_different_settings(self) -> None:
        self.assertNotEqual(policy('a').settings(), policy('A').settings())

    def test_canonical_settings_build_the_same_policy(self) -> None:
        again = shard_key.ShardKeyPolicy(policy('Rack1').settings())
        self.assertEqual(policy('Rack1').scope(), again.scope())

    def test_name_that_nova_uses_is_an_alias(self) -> None:
        (option,) = shard_key.ShardKeyPolicy.options
        self.assertEqual(('shard',), option.aliases)
        self.assertEqual('ironic', option.group)
        self.assertTrue(option.required)
