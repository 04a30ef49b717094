from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.policies import all_nodes


class TestAllNodes(unittest.TestCase):
    def test_every_node_is_admitted_and_none_is_filtered(self) -> None:
        policy = all_nodes.AllNodesPolicy({})
        self.assertEqual(model.Scope(), policy.scope())
        for node in (
            model.Node('n'),
            model.Node('n', shard='a', conductor_group='g', retired=True),
        ):
            self.assertTrue(policy.admits(node))
