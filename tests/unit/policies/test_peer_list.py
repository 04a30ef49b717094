from __future__ import annotations

import hashlib
import unittest

from hypothesis import given
from hypothesis import strategies as st
from tooz import hashring

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.policies import peer_list

NOWHERE = model.Scope()


def policy(*names: str) -> peer_list.PeerListPolicy:
    return peer_list.PeerListPolicy({'peer_list': names})


class TestPeerList(unittest.TestCase):
    def test_named_peers_are_the_peers_alive_or_not(self) -> None:
        candidates = ('host1', 'host3')
        for names, scope, peers in (
            (('host1', 'host2'), NOWHERE, {'host1', 'host2'}),
            # An empty list means all with the same settings.
            ((), NOWHERE, {*candidates}),
            # With a shard a service is alone.
            ((), model.Scope(shard='a'), {'host1'}),
            (('host1', 'host2'), model.Scope('a', 'g'), {'host1'}),
        ):
            found = policy(*names).peers('host1', candidates, scope)
            self.assertEqual(peers, found)

    def test_case_and_order_of_names_mean_nothing(self) -> None:
        for names in ((' HOST1', 'host2 '), ('Host2', '', 'host1', 'host2')):
            found = policy(*names)
            settings = {'peer_list': ('host1', 'host2')}
            self.assertEqual(settings, found.settings())
            found.check_host('host1')

    def test_list_without_this_host_is_refused(self) -> None:
        policy().check_host('host1')
        with self.assertRaises(exceptions.PolicySettingsError) as caught:
            policy('host2', 'host3').check_host('host1')
        for part in ("'host1'", 'host2, host3', 'Add host1'):
            self.assertIn(part, str(caught.exception))
        with self.assertRaises(exceptions.PolicySettingsError):
            peer_list.PeerListPolicy({'peer_list': 'host1'})

    def test_nodes_go_to_the_ring_in_their_order(self) -> None:
        nodes = [model.Node(UUID.format(n)) for n in ('04', '01', '06')]
        self.assertEqual(
            ['host1', 'host2', 'host3'],
            list(policy().assign(nodes, ('host1', 'host2', 'host3'))),
        )

    def test_it_rebalances_and_says_what_replaces_it(self) -> None:
        self.assertTrue(policy().rebalancing)
        self.assertIn('shard', policy().deprecated)


UUID = '00000000-0000-0000-0000-0000000000{}'
GOLDEN = {
    ('host1', 'host2'): 'host2 host2 host2 host1 host1 host2',
    ('host1', 'host2', 'host3'): 'host2 host3 host2 host1 host3 host2',
    ('host1', 'host3'): 'host3 host3 host1 host1 host3 host3',
}
NUMBERS = ('01', '02', '03', '04', '06', '07')

_HOSTS = st.sets(st.text(min_size=1, max_size=12), min_size=1, max_size=20)
_KEYS = st.lists(st.one_of(st.uuids().map(str), st.text(max_size=40)))


def tooz_owners(hosts, keys) -> list[str]:
    peer = hashring.HashRing(sorted(hosts), hash_function='md5')
    return [next(iter(peer.get_nodes(key.encode()))) for key in keys]


class TestRing(unittest.TestCase):
    def test_golden_vectors_of_nova(self) -> None:
        keys = [UUID.format(number) for number in NUMBERS]
        for hosts, owners in GOLDEN.items():
            self.assertEqual(
                owners.split(), list(peer_list.Ring(hosts).owners(keys))
            )

    @given(_HOSTS, _KEYS)
    def test_every_owner_is_that_of_tooz(self, hosts, keys) -> None:
        self.assertEqual(
            tooz_owners(hosts, keys), list(peer_list.Ring(hosts).owners(keys))
        )


class TestTable(unittest.TestCase):
    """Keys next to the points, where a table of prefixes could be wrong."""

    def keys_by(self, wanted) -> list[str]:
        keys = (f'key {number}' for number in range(400_000))
        found = []
        for key in keys:
            if wanted(hashlib.md5(key.encode()).digest()):
                found.append(key)
                if len(found) == 5:
                    break
        self.assertTrue(found)
        return found

    def check(self, hosts, wanted) -> None:
        keys = self.keys_by(wanted)
        self.assertEqual(
            tooz_owners(hosts, keys), list(peer_list.Ring(hosts).owners(keys))
        )

    def test_key_that_shares_its_prefix_with_a_point(self) -> None:
        hosts = [f'host{number}' for number in range(40)]
        points = {point[:2] for h in hosts for point in peer_list._points(h)}
        self.check(hosts, lambda digest: digest[:2] in points)

    def test_key_that_shares_its_prefix_with_two_points(self) -> None:
        hosts = [f'host{number}' for number in range(300)]
        seen: set[bytes] = set()
        shared = set()
        for host in hosts:
            for point in peer_list._points(host):
                (shared if point[:2] in seen else seen).add(point[:2])
        self.assertTrue(shared)
        self.check(hosts, lambda digest: digest[:2] in shared)

    def test_key_after_the_last_point_goes_to_the_first(self) -> None:
        points = {
            point: host
            for host in ('host1', 'host3')
            for point in peer_list._points(host)
        }
        first, last = min(points), max(points)
        self.assertNotEqual(points[first], points[last])
        for wanted in (
            lambda digest: digest > last,
            lambda digest: digest[:2] > last[:2],
            lambda digest: digest < first,
        ):
            self.check(('host1', 'host3'), wanted)

    def test_key_on_a_point_goes_to_the_next_one(self) -> None:
        """A host's name twice, as a key, has the digest of a point."""
        hosts = [f'host{number}' for number in range(40)]
        keys = [host * times for host in hosts for times in range(2, 34)]
        self.assertEqual(
            tooz_owners(hosts, keys), list(peer_list.Ring(hosts).owners(keys))
        )
