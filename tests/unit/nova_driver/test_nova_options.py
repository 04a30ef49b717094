"""Policies that follow from Nova's own options."""

from __future__ import annotations

import testtools

from ironic_ownership_nova.nova_options import NovaPolicies, derive


class TestDerivedPolicies(testtools.TestCase):
    def test_each_configuration_of_nova(self) -> None:
        for shard, group, policies, uses_peer_list in (
            (None, None, ('peer_list',), False),
            ('', None, ('peer_list',), False),
            (None, 'g', ('conductor_group', 'peer_list'), True),
            (None, '', ('conductor_group', 'peer_list'), True),
            ('s', None, ('shard_key',), False),
            ('s', 'g', ('shard_key', 'conductor_group'), False),
        ):
            self.assertEqual(
                NovaPolicies(policies, uses_peer_list),
                derive(shard, group),
                (shard, group),
            )
