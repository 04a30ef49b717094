"""``compute node``: what its options take."""

from __future__ import annotations

import argparse
import unittest

from ironic_ownership.cli import compute_node


class ShardTest(unittest.TestCase):
    def test_no_shard_is_no_name_of_a_shard(self) -> None:
        self.assertRaises(argparse.ArgumentTypeError, compute_node._shard, '')
