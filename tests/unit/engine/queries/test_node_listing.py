"""Lists of nodes: what Ironic is asked, by configuration and options."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.queries import node_listing

RACK1 = model.Scope(shard='rack1', conductor_group='g')


def scope(configured, shard=None, group=None):
    asked = node_listing.Asked(shard=shard, conductor_group=group)
    return node_listing.scope_of(asked, configured, 'h')


class ScopeTest(unittest.TestCase):
    def test_without_a_shard_key_everything_is_listed(self) -> None:
        configured = model.Scope(conductor_group='g')
        self.assertEqual((model.Scope(), ''), scope(configured))

    def test_with_a_shard_key_every_scope_has_a_shard(self) -> None:
        for shard in (None, 'rack2'):
            for group in (None, '', 'G2'):
                asked, _ = scope(RACK1, shard, group)
                self.assertEqual(shard or 'rack1', asked.shard)

    def test_contradicting_policies_stay_contradicting(self) -> None:
        configured = model.Scope(shard='rack1', nothing=True)
        self.assertTrue(scope(configured, group='g')[0].nothing)

    def test_options_become_filters_of_the_server(self) -> None:
        asked, _ = scope(model.Scope(), 'Rack2', 'G2')
        self.assertEqual(
            model.Scope(shard='Rack2', conductor_group='g2'), asked
        )

    def test_own_records_are_added_to_the_configured_shard_alone(
        self,
    ) -> None:
        # Otherwise each own node of another place would be looked up.
        self.assertEqual((RACK1, 'h'), scope(RACK1))
        for shard, group in (('rack1', None), (None, 'g'), ('rack2', 'g')):
            self.assertEqual('', scope(RACK1, shard, group)[1])
