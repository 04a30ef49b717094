"""The balance and the moves that the policy promises."""

from __future__ import annotations

import unittest
from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from ironic_ownership_bounded_ring import (
    policy,
    ring,
)

from ironic_ownership import (
    contracts,
)
from ironic_ownership_plugin_kit import (
    policy as suite,
)

# The same examples each time: these laws bound what is spread by chance.
_RUN = settings(deadline=None, max_examples=60, derandomize=True)
NAMES = st.lists(
    st.text('abcdefghij0123456789.-', min_size=1, max_size=12),
    min_size=2,
    max_size=20,
    unique=True,
)


def nodes(count: int, kind: str = '') -> list[contracts.Node]:
    return [contracts.Node(f'{kind}{number}') for number in range(count)]


def owners(
    fleet: Sequence[contracts.Node], hosts: Sequence[str]
) -> dict[str, str]:
    chosen = policy.BoundedRingPolicy({}).assign(fleet, sorted(hosts))
    return dict(zip((node.uuid for node in fleet), chosen, strict=True))


def extra(before: dict[str, str], after: dict[str, str], member: str) -> float:
    """Return the share of the nodes that moves between the others."""
    moved = sum(
        member not in (owner, after[uuid]) and owner != after[uuid]
        for uuid, owner in before.items()
    )
    return moved / len(before)


class TestContract(suite.AssignerPolicyContract):
    policy_class = policy.BoundedRingPolicy


class TestBalance(unittest.TestCase):
    @_RUN
    @given(st.integers(0, 3000), NAMES, st.text('ab', max_size=3))
    def test_no_service_has_more_than_its_share(
        self, count: int, hosts: list[str], kind: str
    ) -> None:
        given_ = owners(nodes(count, kind), hosts)
        most = max(Counter(given_.values()).values(), default=0)
        self.assertLess(most - 1, 1.05 * count / len(hosts))
        self.assertEqual(count, len(given_))

    def test_share_is_exact_where_floats_would_round(self) -> None:
        for keys, bins, expected in (
            (0, 3, 0),
            (1, 3, 1),
            (19, 20, 1),
            (20, 20, 2),
            (20, 1, 21),
            (40, 2, 21),
            (41, 2, 22),
            (100_000, 100, 1050),
        ):
            with self.subTest(keys=keys, bins=bins):
                self.assertEqual(expected, ring.capacity(keys, bins, 105))


class TestMoves(unittest.TestCase):
    """From 1,000 nodes on: with fewer, one node is a larger share."""

    @_RUN
    @given(st.integers(1000, 2000), NAMES, st.text('ab', max_size=3))
    def test_few_move_that_need_not_when_a_member_leaves_or_joins(
        self, count: int, hosts: list[str], kind: str
    ) -> None:
        fleet = nodes(count, kind)
        member, *rest = hosts
        with_it, without = owners(fleet, hosts), owners(fleet, rest)
        bound = policy.BoundedRingPolicy.extra_movement
        self.assertLessEqual(extra(with_it, without, member), bound)
        self.assertLessEqual(extra(without, with_it, member), bound)

    @_RUN
    @given(st.integers(1000, 2000), NAMES, st.text('ab', max_size=3))
    def test_few_move_when_a_node_comes(
        self, count: int, hosts: list[str], kind: str
    ) -> None:
        before = owners(nodes(count, kind), hosts)
        after = owners(nodes(count + 1, kind), hosts)
        moved = sum(after[uuid] != owner for uuid, owner in before.items())
        # When the share grows by one node, each full service takes one more.
        self.assertLessEqual(moved, 3 * len(hosts))


class TestAnswers(unittest.TestCase):
    def test_owners_stay_those_of_the_first_release(self) -> None:
        # Another answer in a later release would move nodes everywhere.
        fleet = nodes(10, '00000000-0000-4000-8000-00000000000')
        hosts = ['host1', 'host2', 'host3']
        self.assertEqual(
            [*'1231222311'],
            [owner[-1] for owner in owners(fleet, hosts).values()],
        )
