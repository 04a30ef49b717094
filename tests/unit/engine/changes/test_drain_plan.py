"""The new owners of the nodes of a drained service."""

from __future__ import annotations

import collections
import unittest

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine.changes import drain
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from tests.unit.engine import world

SHARDS = ('a', 'b', None)


def services(**settings: model.MemberSettings) -> PeerGroups:
    return world.assemble(
        [world.member(host, its) for host, its in settings.items()]
    )


def plan(
    nodes: list[model.Node],
    peer_groups: PeerGroups,
    counts: dict[str | None, tuple[int, int]] | None = None,
    owned: list[str] | None = None,
) -> drain.Drain:
    if owned is None:
        owned = [node.uuid for node in nodes]
    return drain.plan('old', owned, nodes, peer_groups, counts or {})


def placed(made: drain.Drain) -> dict[str, str]:
    """Return the new owner of each node."""
    return {uuid: host for host, uuids in made.moves.items() for uuid in uuids}


class TestDrain(unittest.TestCase):
    def test_node_goes_to_a_service_that_admits_it(self) -> None:
        nodes = [world.node(1, shard='a'), world.node(2, shard='b')]
        made = plan(
            nodes,
            services(
                one=world.runs(shard_key='a'), two=world.runs(shard_key='b')
            ),
        )
        self.assertEqual(
            {'one': [world.uuid(1)], 'two': [world.uuid(2)]}, made.moves
        )
        self.assertEqual(([], []), (made.unplaceable, made.gone))

    def test_source_takes_nothing_from_itself(self) -> None:
        made = plan([world.node(1)], services(old=world.ALL))
        self.assertEqual(({}, [world.uuid(1)]), (made.moves, made.unplaceable))
        self.assertTrue(made.unplaceable or made.gone)

    def test_disabled_or_forced_down_service_takes_nothing(self) -> None:
        for flag in ('disabled', 'forced_down'):
            stopped = world.assemble(
                [world.member('one')],
                [model.Service('one', settings=world.ALL, **{flag: True})],
            )
            self.assertEqual({}, plan([world.node(1)], stopped).moves)

    def test_dead_service_takes_nothing(self) -> None:
        dead = world.assemble([], [model.Service('one', settings=world.ALL)])
        self.assertEqual({}, plan([world.node(1)], dead).moves)

    def test_record_without_a_node_is_not_moved(self) -> None:
        made = plan([], services(one=world.ALL), owned=[world.uuid(1)])
        self.assertEqual(([world.uuid(1)], {}), (made.gone, made.moves))
        self.assertTrue(made.unplaceable or made.gone)

    def test_node_of_another_owner_is_not_moved(self) -> None:
        made = plan(
            [world.node(1), world.node(2)],
            services(one=world.ALL),
            owned=[world.uuid(2)],
        )
        self.assertEqual({'one': [world.uuid(2)]}, made.moves)

    def test_free_node_goes_where_its_assigner_would_put_it(self) -> None:
        # Elsewhere it would not stay.
        nodes = [world.node(number) for number in range(1, 21)]
        two = services(one=world.RING, two=world.RING)
        disabled = world.assemble(
            [world.member(host, world.RING) for host in ('old', 'one', 'two')],
            [model.Service('old', settings=world.RING, disabled=True)],
        )
        wanted = {
            uuid: one.owner
            for uuid, one in decide.decide(nodes, {}, two).items()
        }
        self.assertEqual({'one', 'two'}, set(wanted.values()))
        for peer_groups in (two, disabled):
            made = plan(nodes, peer_groups, {'one': (90, 0), 'two': (0, 0)})
            self.assertEqual(wanted, placed(made))

    def test_free_node_whose_assigner_needs_all_nodes_is_balanced(
        self,
    ) -> None:
        nodes = [world.node(number) for number in range(1, 5)]
        odd = world.runs(odd=None)
        made = plan(nodes, services(one=odd, two=odd))
        self.assertEqual([2, 2], [*map(len, made.moves.values())])

    def test_free_nodes_count_before_the_others_are_balanced(self) -> None:
        free = [world.node(number) for number in range(1, 9)]
        deployed = [
            world.node(number, instance_uuid=f'i{number}')
            for number in range(9, 17)
        ]
        made = plan(
            [*deployed, *free], services(one=world.RING, two=world.RING)
        )
        self.assertEqual([8, 8], [*map(len, made.moves.values())])

    def test_emptier_service_gets_more(self) -> None:
        nodes = [
            world.node(number, instance_uuid=f'i{number}')
            for number in range(1, 5)
        ]
        made = plan(
            nodes,
            services(one=world.RING, two=world.RING),
            {'one': (2, 0), 'two': (0, 0), 'old': (4, 0)},
        )
        sizes = {host: len(uuids) for host, uuids in made.moves.items()}
        self.assertEqual({'one': 1, 'two': 3}, sizes)

    @hypothesis.given(
        st.lists(st.sampled_from(SHARDS), max_size=30),
        st.lists(st.integers(0, 9), min_size=3, max_size=3),
    )
    def test_every_node_is_placed_once_or_named(
        self, shards: list[str | None], loads: list[int]
    ) -> None:
        nodes = [
            world.node(n, shard=s, instance_uuid=f'i{n}')
            for n, s in enumerate(shards)
        ]
        hosts = services(
            a1=world.runs(shard_key='a', peer_list=()),
            a2=world.runs(shard_key='a', peer_list=()),
            b=world.runs(shard_key='b'),
        )
        before = dict(zip(('a1', 'a2', 'b'), loads, strict=True))
        counts = {host: (load, 0) for host, load in before.items()}
        made = plan(nodes, hosts, counts)
        found = placed(made)
        self.assertEqual(
            sorted(node.uuid for node in nodes),
            sorted([*found, *made.unplaceable]),
        )
        for node in nodes:
            taker = found.get(node.uuid)
            self.assertEqual(node.shard, taker[0] if taker else None)
        got = collections.Counter(found.values())
        after = {host: before[host] + got[host] for host in ('a1', 'a2')}
        if got['a1'] and got['a2']:
            self.assertLessEqual(abs(after['a1'] - after['a2']), 1)
        self.assertEqual(made, plan(nodes[::-1], hosts, counts))
