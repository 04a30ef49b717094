"""The zones, the shares and the moves that the policy promises."""

from __future__ import annotations

import unittest
from collections import Counter

from ironic_ownership_zone_spread import (
    policy,
)

from ironic_ownership import (
    contracts,
)
from ironic_ownership_plugin_kit import (
    policy as suite,
)


def nodes(count: int, zone: object = None) -> list[contracts.Node]:
    return [
        contracts.Node(
            f'00000000-0000-4000-8000-{number:012d}',
            properties={} if zone is None else {'zone': zone},
        )
        for number in range(count)
    ]


def choices(
    fleet: list[contracts.Node], key: str = 'zone', **zones: object
) -> list[contracts.Choice]:
    """Return the choice for each node among services in these zones."""
    peers = tuple(
        contracts.Peer(host, {} if zone is None else {'zone': zone})
        for host, zone in zones.items()
    )
    built = policy.ZoneSpreadPolicy({'key': key})
    return [*built.choose(contracts.AssignmentRequest(fleet, peers))]


def owners(
    fleet: list[contracts.Node], key: str = 'zone', **zones: object
) -> list[str]:
    return [str(choice.host) for choice in choices(fleet, key, **zones)]


class TestContract(suite.AssignerPolicyContract):
    """The laws of every assigner, among services of one zone."""

    policy_class = policy.ZoneSpreadPolicy
    settings = ({}, {'key': 'rack'})


class TestContractOfZones(suite.AssignerPolicyContract):
    """The same laws among services of several zones."""

    policy_class = policy.ZoneSpreadPolicy
    peer_values = ({'zone': 'z1'}, {'zone': 'z2'}, {'zone': ''})

    def nodes(self) -> list[contracts.Node]:
        """Return nodes that name zones, and what is none."""
        odd = ('z1', 'z2', 'z9', '', 5, ['z1'], None, 'x' * 300)
        return [
            contracts.Node(
                f'00000000-0000-4000-9000-{number:012d}',
                properties={'zone': zone},
            )
            for number, zone in enumerate(odd)
        ]


class TestZones(unittest.TestCase):
    def test_node_goes_to_its_zone(self) -> None:
        found = owners(nodes(200, 'z1'), host1='z1', host2='z2', host3='z1')
        self.assertEqual({'host1', 'host3'}, {*found})

    def test_without_a_service_there_it_goes_to_any(self) -> None:
        found = owners(nodes(200, 'z9'), host1='z1', host2='z2')
        self.assertEqual({'host1', 'host2'}, {*found})

    def test_each_zone_gets_an_equal_share(self) -> None:
        counted = Counter(
            owners(nodes(3000), host1='z1', host2='z2', host3='z2', host4='z2')
        )
        self.assertAlmostEqual(1500, counted['host1'], delta=120)
        self.assertAlmostEqual(500, counted['host2'], delta=80)

    def test_services_that_name_no_zone_are_one(self) -> None:
        counted = Counter(
            owners(nodes(3000), host1='z1', host2='', host3=None)
        )
        self.assertAlmostEqual(1500, counted['host1'], delta=120)

    def test_key_names_the_property(self) -> None:
        fleet = [
            contracts.Node(node.uuid, properties={'room': 'z1'})
            for node in nodes(50)
        ]
        both = {'host1': 'z1', 'host2': 'z2'}
        self.assertEqual({'host1'}, {*owners(fleet, 'room', **both)})
        for key in ('zone', ''):
            self.assertEqual({'host1', 'host2'}, {*owners(fleet, key, **both)})

    def test_reason_names_the_zone(self) -> None:
        both = {'host1': 'z1', 'host2': 'z2'}
        (home,) = choices(nodes(1, 'z2'), **both)
        self.assertEqual('its zone: z2', home.reason)
        (spread,) = choices(nodes(1), **both)
        self.assertRegex(spread.reason, '^spread over the zones: z[12]$')

    def test_shares_of_a_zone_are_those_of_its_services(self) -> None:
        peers = [
            contracts.Peer(host, {'zone': zone})
            for host, zone in (('a', 'z1'), ('b', 'z2'), ('c', 'z2'))
        ]
        self.assertEqual(
            {'a': 1, 'b': 0.5, 'c': 0.5},
            policy.ZoneSpreadPolicy({'key': ''}).shares(peers),
        )

    def test_no_shares_are_expected_where_nodes_name_their_zones(self) -> None:
        # A zone with more nodes is no reason for a warning of imbalance.
        peers = [contracts.Peer('a', {'zone': 'z1'}), contracts.Peer('b')]
        self.assertEqual(
            {}, policy.ZoneSpreadPolicy({'key': 'zone'}).shares(peers)
        )

    def test_zone_is_advertised_by_each_service_for_itself(self) -> None:
        built = policy.ZoneSpreadPolicy({'zone': 'z1', 'key': 'zone'})
        self.assertEqual({'key': 'zone'}, built.settings())
        self.assertEqual({'zone': 'z1'}, built.member_values())


class TestMoves(unittest.TestCase):
    def test_service_that_leaves_moves_its_own_nodes_within_its_zone(
        self,
    ) -> None:
        fleet = [*nodes(500), *nodes(500, 'z2')]
        before = owners(fleet, host1='z1', host2='z2', host3='z2')
        after = owners(fleet, host1='z1', host2='z2')
        moved = {
            (one, other)
            for one, other in zip(before, after, strict=True)
            if one != other
        }
        self.assertEqual({('host3', 'host2')}, moved)

    def test_last_service_of_a_zone_moves_its_own_nodes_only(self) -> None:
        fleet = [*nodes(500), *nodes(500, 'z1')]
        before = owners(fleet, host1='z1', host2='z2', host3='z3')
        after = owners(fleet, host2='z2', host3='z3')
        for one, other in zip(before, after, strict=True):
            if one != 'host1':
                self.assertEqual(one, other)


class TestAnswers(unittest.TestCase):
    def test_owners_stay_those_of_the_first_release(self) -> None:
        # Another answer in a later release would move nodes everywhere.
        found = owners(nodes(12), host1='z1', host2='z2', host3='z2')
        self.assertEqual('313231222122', ''.join(host[-1] for host in found))
