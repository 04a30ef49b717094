from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.policies import peer_list

NOWHERE = model.Scope()


def policy(*names: str) -> peer_list.PeerListPolicy:
    return peer_list.PeerListPolicy({'peer_list': names})


class TestPeerList(unittest.TestCase):
    def test_named_peers_are_the_peers_alive_or_not(self) -> None:
        self.assertEqual(
            {'host1', 'host2'},
            policy('host1', 'host2').peers(
                'host1', ('host1', 'host2', 'host3'), NOWHERE
            ),
        )

    def test_empty_list_means_all_with_the_same_settings(self) -> None:
        self.assertEqual(
            {'host1', 'host3'},
            policy().peers('host1', ('host1', 'host3'), NOWHERE),
        )

    def test_shard_leaves_a_service_alone(self) -> None:
        for scope in (
            model.Scope(shard='a'),
            model.Scope(shard='a', conductor_group='g'),
        ):
            for names in ((), ('host1', 'host2')):
                self.assertEqual(
                    {'host1'},
                    policy(*names).peers('host1', ('host1', 'host2'), scope),
                )

    def test_case_and_order_of_names_mean_nothing(self) -> None:
        one, other = policy(' HOST1', 'host2 '), policy('Host2', 'host1')
        self.assertEqual(one.settings(), other.settings())
        self.assertEqual({'peer_list': ('host1', 'host2')}, one.settings())
        one.check_host('host1')

    def test_canonical_settings_build_the_same_policy(self) -> None:
        settings = policy('B', 'a', '', 'b').settings()
        self.assertEqual({'peer_list': ('a', 'b')}, settings)
        again = peer_list.PeerListPolicy(settings)
        self.assertEqual(settings, again.settings())

    def test_list_without_this_host_is_refused(self) -> None:
        with self.assertRaises(exceptions.PolicySettingsError) as caught:
            policy('host2', 'host3').check_host('host1')
        for part in ("'host1'", 'host2, host3', 'Add host1'):
            self.assertIn(part, str(caught.exception))

    def test_text_instead_of_a_list_is_refused(self) -> None:
        with self.assertRaises(exceptions.PolicySettingsError):
            peer_list.PeerListPolicy({'peer_list': 'host1'})

    def test_nodes_go_to_the_ring_in_their_order(self) -> None:
        nodes = [
            model.Node(f'00000000-0000-0000-0000-0000000000{number}')
            for number in ('04', '01', '06')
        ]
        self.assertEqual(
            ['host1', 'host2', 'host3'],
            list(policy().assign(nodes, ('host1', 'host2', 'host3'))),
        )

    def test_it_rebalances_and_says_what_replaces_it(self) -> None:
        self.assertTrue(policy().rebalancing)
        self.assertIn('shard', policy().deprecated)
