from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.policies import conductor_group


def policy(group: str) -> conductor_group.ConductorGroupPolicy:
    return conductor_group.ConductorGroupPolicy({'conductor_group': group})


class TestConductorGroup(unittest.TestCase):
    def test_case_of_the_group_means_nothing(self) -> None:
        self.assertEqual(policy('Rack').settings(), policy('rACK').settings())
        self.assertEqual(
            model.Scope(conductor_group='rack'), policy('RACK').scope()
        )

    def test_canonical_settings_build_the_same_policy(self) -> None:
        settings = policy('Rack').settings()
        again = conductor_group.ConductorGroupPolicy(settings)
        self.assertEqual(settings, again.settings())
        self.assertEqual(policy('Rack').scope(), again.scope())

    def test_empty_group_is_the_default_group_alone(self) -> None:
        self.assertTrue(policy('').admits(model.Node('n')))
        self.assertFalse(
            policy('').admits(model.Node('n', conductor_group='g'))
        )

    def test_shard_of_a_node_means_nothing(self) -> None:
        for shard in (None, 'a'):
            node = model.Node('n', conductor_group='g', shard=shard)
            self.assertTrue(policy('G').admits(node))

    def test_old_name_is_declared_as_deprecated(self) -> None:
        (option,) = conductor_group.ConductorGroupPolicy.options
        self.assertEqual(('partition_key',), option.aliases)
        self.assertEqual('ironic', option.group)
        self.assertTrue(option.required)
