"""Laws of the plan of shards, for any deployment."""

from __future__ import annotations

import collections
import dataclasses
import math
import unittest
from collections.abc import Mapping, Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.engine.changes.shard_plan import (
    PlanNode,
    ShardPlan,
    plan,
)

SHARDS = ('s1', 's2', 's3', 's4')
EVERY = frozenset(SHARDS)
GROUPS = (EVERY, frozenset({'s1', 's2'}), frozenset({'s3'}), frozenset())

weights = st.fixed_dictionaries(
    {s: st.sampled_from([1, 1, 1, 2, Fraction(1, 2), 0]) for s in SHARDS}
)


@st.composite
def any_nodes(draw: st.DrawFn) -> list[PlanNode]:
    """Draw nodes that may be anywhere, fixed, in racks and in rooms."""
    homes = st.sampled_from([*SHARDS, None])
    found = []
    for number in range(draw(st.integers(1, 24))):
        home = draw(homes)
        rack = draw(st.sampled_from(['', 'rack=1', 'rack=2', 'rack=3']))
        found.append(
            PlanNode(
                f'n{number:02}',
                home,
                draw(st.sampled_from(GROUPS)),
                home is not None and draw(st.integers(0, 4)) == 0,
                (rack,) if rack else (),
                draw(st.sampled_from(['', 'room=1', 'room=2'])),
            )
        )
    return found


@st.composite
def free_nodes(draw: st.DrawFn) -> list[PlanNode]:
    """Draw nodes each of which may go anywhere."""
    homes = draw(st.lists(st.sampled_from([*SHARDS, None]), min_size=1))
    return [PlanNode(f'n{i:02}', home, EVERY) for i, home in enumerate(homes)]


def afterwards(nodes: Sequence[PlanNode], found: ShardPlan) -> list[PlanNode]:
    """Return the nodes as they are when a plan is carried out."""
    return [
        dataclasses.replace(n, home=found.moves.get(n.uuid, n.home))
        for n in nodes
    ]


class LawTest(unittest.TestCase):
    @given(free_nodes(), weights)
    def test_free_nodes_are_even_with_the_fewest_moves(
        self, nodes: list[PlanNode], of: Mapping[str, Fraction]
    ) -> None:
        found = plan(nodes, of)
        total = sum(Fraction(weight) for weight in of.values())
        if not total:
            self.assertEqual({}, found.moves)
            return
        before = collections.Counter(node.home for node in nodes)
        share = {s: len(nodes) * Fraction(of[s]) / total for s in SHARDS}
        for shard in SHARDS:
            self.assertLess(abs(found.after[shard] - share[shard]), 1)
        fewest = max(
            sum(max(0, math.floor(share[s]) - before[s]) for s in SHARDS),
            sum(max(0, before[s] - math.ceil(share[s])) for s in SHARDS)
            + before[None],
        )
        self.assertEqual(fewest, len(found.moves))
        self.assertEqual(fewest, found.needed)

    @given(any_nodes(), weights, st.none() | st.integers(0, 12))
    def test_limits_and_conditions_are_kept_and_no_rack_is_split(
        self,
        nodes: list[PlanNode],
        of: Mapping[str, Fraction],
        limit: int | None,
    ) -> None:
        found = plan(nodes, of, limit)
        by_uuid = {node.uuid: node for node in nodes}
        if limit is not None:
            self.assertLessEqual(len(found.moves), limit)
        self.assertLessEqual(found.needed, len(found.moves))
        for uuid, shard in found.moves.items():
            self.assertFalse(by_uuid[uuid].fixed)
            self.assertIn(shard, by_uuid[uuid].shards)
            self.assertNotEqual(shard, by_uuid[uuid].home)
        now = afterwards(nodes, found)
        counted = collections.Counter(node.home for node in now)
        self.assertEqual({s: counted[s] for s in SHARDS}, found.after)
        self.assertEqual(sum(1 for n in now if n.home is None), counted[None])
        for rack in {node.together for node in nodes} - {()}:
            before = {n.home for n in nodes if n.together == rack}
            after = {n.home for n in now if n.together == rack}
            self.assertTrue(len(after) == 1 or after == before, rack)
            if len(after) > 1 and None not in after:
                uuids = {n.uuid for n in nodes if n.together == rack}
                self.assertTrue(
                    uuids <= {*found.split}
                    or uuids <= {*found.unplaceable}
                    or limit is not None
                )

    @given(any_nodes(), weights, st.randoms())
    def test_order_means_nothing_and_a_second_plan_is_empty(
        self, nodes: list[PlanNode], of: Mapping[str, Fraction], rng: object
    ) -> None:
        found = plan(nodes, of)
        mixed = list(nodes)
        rng.shuffle(mixed)  # type: ignore[attr-defined]
        self.assertEqual(found, plan(mixed, of))
        again = plan(afterwards(nodes, found), of)
        self.assertEqual({}, again.moves)
        self.assertEqual(found.after, again.before)

    @given(any_nodes(), weights)
    def test_no_move_of_one_rack_makes_the_shares_more_even(
        self, nodes: list[PlanNode], of: Mapping[str, Fraction]
    ) -> None:
        nodes = [
            dataclasses.replace(n, shards=EVERY, spread='') for n in nodes
        ]
        if not sum(of.values()):
            return
        found = plan(nodes, of)
        total = sum(Fraction(weight) for weight in of.values())
        now = afterwards(nodes, found)
        # Not those without a shard, or that can't leave one of weight 0.
        shared = sum(1 for node in now if node.home and of[node.home])
        share = {s: shared * Fraction(of[s]) / total for s in SHARDS}
        off = {s: found.after[s] - share[s] for s in SHARDS}
        units = collections.defaultdict(list)
        for node in now:
            units[node.together or node.uuid].append(node)
        for unit in units.values():
            places = {node.home for node in unit}
            if len(places) > 1 or any(node.fixed for node in unit):
                continue
            (here,) = places
            for there in (s for s in SHARDS if of[s]):
                is_off = off[here] >= 1 or off[there] <= -1
                better = len(unit) < off[here] - off[there]
                self.assertFalse(is_off and better, (here, there, off))

    @given(any_nodes())
    def test_nodes_are_placed_unless_no_shard_admits_them(
        self, nodes: list[PlanNode]
    ) -> None:
        found = plan(nodes, dict.fromkeys(SHARDS, 1))
        lost = {n.uuid for n in afterwards(nodes, found) if n.home is None}
        self.assertLessEqual(lost, {*found.unplaceable, *found.split})


class ExampleTest(unittest.TestCase):
    def test_values_are_spread_over_all_shards(self) -> None:
        nodes = [
            PlanNode(f'{room}{i}', home, EVERY, spread=f'room={room}')
            for room, home in enumerate(SHARDS)
            for i in range(8)
        ]
        found = plan(nodes, dict.fromkeys(SHARDS, 1))
        now = afterwards(nodes, found)
        counts = collections.Counter((n.spread, n.home) for n in now)
        self.assertEqual({2}, set(counts.values()))
        self.assertEqual((24, 24), (len(found.moves), found.needed))

    def test_racks_in_one_group_stay_together_as_one(self) -> None:
        nodes = [
            PlanNode(f'n{i}', 's1', EVERY, together=values)
            for i, values in enumerate(
                [('rack=1', 'group=1'), ('rack=2', 'group=1'), ('rack=2',)] * 2
            )
        ]
        found = plan(nodes, {'s1': 0, 's2': 1, 's3': 1})
        self.assertEqual(1, len(set(found.moves.values())))
        self.assertEqual(6, len(found.moves))

    def test_deployed_nodes_gather_the_rest_of_their_rack(self) -> None:
        nodes = [
            PlanNode('n1', 's2', EVERY, fixed=True, together=('rack=1',)),
            *(
                PlanNode(f'n{i}', 's1', EVERY, together=('rack=1',))
                for i in range(2, 5)
            ),
        ]
        found = plan(nodes, {'s1': 1, 's2': 1})
        self.assertEqual({'s2'}, set(found.moves.values()))
        self.assertEqual({'s1': 0, 's2': 4}, found.after)

    def test_racks_are_joined_and_moved_with_the_fewest_moves(self) -> None:
        # A rack is the homes of its nodes.
        for racks, limit, moved, needed in (
            (['112', '221'], None, 2, 0),
            (['112'], 1, 1, 1),
            (['112'], 0, 0, 0),
            (['11', '1'], None, 1, 1),
        ):
            nodes = [
                PlanNode(f'{rack}-{i}', f's{home}', EVERY, together=(rack,))
                for rack in racks
                for i, home in enumerate(rack)
            ]
            with self.subTest(racks, limit=limit):
                found = plan(nodes, {'s1': 1, 's2': 1}, limit)
                self.assertEqual(
                    (moved, needed), (len(found.moves), found.needed)
                )
