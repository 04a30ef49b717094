"""The built-in policies keep the contract of all policies."""

from __future__ import annotations

from ironic_ownership.policies import filters, peer_list, reservation
from ironic_ownership_plugin_kit import policy


class TestAllNodes(policy.FilterPolicyContract):
    policy_class = filters.AllNodesPolicy


class TestConductorGroup(policy.FilterPolicyContract):
    policy_class = filters.ConductorGroupPolicy
    settings = (
        {'conductor_group': 'G1'},
        {'conductor_group': ''},
        {'conductor_group': 'rack-1.a_b'},
    )


class TestShardKey(policy.FilterPolicyContract):
    policy_class = filters.ShardKeyPolicy
    settings = ({'shard_key': 'a'}, {'shard_key': 'Rack1'})


class TestPeerList(policy.AssignerPolicyContract):
    policy_class = peer_list.PeerListPolicy
    settings = (
        {},
        {'peer_list': ('host2', 'HOST1', 'host1')},
    )


class TestReservation(policy.AssignerPolicyContract):
    policy_class = reservation.ReservationPolicy
    settings = (
        {},
        {'expiry': 0},
    )
