"""The shares and the moves that the policy promises."""

from __future__ import annotations

import unittest
from collections import Counter

from ironic_ownership_weighted_ring import (
    policy,
)

from ironic_ownership import (
    contracts,
)
from ironic_ownership_plugin_kit import (
    policy as suite,
)

NODES = [
    contracts.Node(f'00000000-0000-4000-8000-{number:012d}')
    for number in range(4000)
]


def owners(**weights: object) -> list[str]:
    """Return the owner of each node among services with these weights."""
    peers = tuple(
        contracts.Peer(host, {} if weight is None else {'weight': weight})
        for host, weight in weights.items()
    )
    request = contracts.AssignmentRequest(NODES, peers)
    return [
        str(choice.host)
        for choice in policy.WeightedRingPolicy({}).choose(request)
    ]


class TestContract(suite.AssignerPolicyContract):
    """The laws of every assigner, among services of the same weight."""

    policy_class = policy.WeightedRingPolicy


class TestContractByWeights(suite.AssignerPolicyContract):
    """The same laws among services of three weights."""

    policy_class = policy.WeightedRingPolicy
    peer_values = ({'weight': 1}, {'weight': 2}, {'weight': 5})


class TestShares(unittest.TestCase):
    def test_nodes_are_shared_by_the_weights(self) -> None:
        counted = Counter(owners(host1=1, host2=2, host3=5))
        for host, weight in (('host1', 1), ('host2', 2), ('host3', 5)):
            self.assertAlmostEqual(
                weight * 500, counted[host], delta=75 * weight
            )

    def test_weight_of_zero_gives_no_nodes(self) -> None:
        self.assertEqual({'host2'}, {*owners(host1=0, host2=3)})

    def test_service_is_needed_if_all_have_none(self) -> None:
        self.assertEqual({'host1', 'host2'}, {*owners(host1=0, host2=0)})

    def test_value_that_is_no_weight_counts_as_one(self) -> None:
        for odd in (None, 'x', True):
            self.assertEqual(
                owners(host1=1, host2=2), owners(host1=odd, host2=2)
            )

    def test_weights_are_the_expected_shares(self) -> None:
        peers = [
            contracts.Peer(host, {'weight': weight})
            for host, weight in (('host1', 1), ('host2', 3))
        ]
        self.assertEqual(
            {'host1': 1, 'host2': 3},
            policy.WeightedRingPolicy({}).shares(peers),
        )

    def test_weight_is_advertised_by_each_service_for_itself(self) -> None:
        built = policy.WeightedRingPolicy({'weight': 7})
        self.assertEqual({}, built.settings())
        self.assertEqual({'weight': 7}, built.member_values())


class TestMoves(unittest.TestCase):
    def moved(
        self, before: list[str], after: list[str]
    ) -> set[tuple[str, str]]:
        return {
            (one, other)
            for one, other in zip(before, after, strict=True)
            if one != other
        }

    def test_greater_weight_moves_nodes_to_that_service_only(self) -> None:
        found = self.moved(
            owners(host1=1, host2=2, host3=2),
            owners(host1=3, host2=2, host3=2),
        )
        self.assertEqual({('host2', 'host1'), ('host3', 'host1')}, found)

    def test_service_that_leaves_moves_its_own_nodes_only(self) -> None:
        found = self.moved(
            owners(host1=1, host2=2, host3=2), owners(host1=1, host3=2)
        )
        self.assertEqual({('host2', 'host1'), ('host2', 'host3')}, found)

    def test_as_few_move_as_the_weights_ask_for(self) -> None:
        before = owners(host1=1, host2=2, host3=2)
        after = owners(host1=3, host2=2, host3=2)
        moved = sum(
            one != other for one, other in zip(before, after, strict=True)
        )
        self.assertEqual(
            Counter(after)['host1'] - before.count('host1'), moved
        )


class TestAnswers(unittest.TestCase):
    def test_owners_stay_those_of_the_first_release(self) -> None:
        # Another answer in a later release would move nodes everywhere.
        found = owners(host1=1, host2=2, host3=3)[:12]
        self.assertEqual('133331322312', ''.join(host[-1] for host in found))
