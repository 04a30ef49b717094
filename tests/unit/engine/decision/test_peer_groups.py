from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision.peer_groups import assigner_name
from tests.unit.engine import world

RING, PAIR = world.RING, ('host1', 'host2')
GROUP = world.runs(conductor_group='g', peer_list=())
NAMED = world.runs(conductor_group='g', peer_list=PAIR)


class TestRings(unittest.TestCase):
    """The peers of Nova, input by input, with intended differences."""

    def check(
        self,
        rings: str,
        alive: list[model.Member],
        *rows: model.Service,
        rebalancing: str = '',
    ) -> None:
        """Compare the hosts of every peer group.

        :param rebalancing: those of the groups that rebalance.
        """
        found = world.assemble(alive, rows)
        for expected, groups in (
            (rings, found.groups),
            (rebalancing, [g for g in found.groups if g.rebalancing]),
        ):
            self.assertEqual(
                [ring.split('+') for ring in expected.split()],
                sorted(list(group.hosts) for group in groups),
            )
        self.assertEqual(
            {host: g for g in found.groups for host in g.hosts}, found.group_of
        )

    def test_service_is_its_own_ring_without_a_row_or_a_node(self) -> None:
        self.check('host1', world.members(RING, 'host1'))
        pair, both = world.members(RING, *PAIR), 'host1+host2'
        row = model.Service('host1', settings=RING)
        self.check(both, pair, row, rebalancing=both)

    def test_order_of_names_and_a_redundant_all_are_the_same(self) -> None:
        alike = (
            GROUP,
            world.runs(peer_list=(), conductor_group='g'),
            world.runs(all=None, conductor_group='g', peer_list=()),
            world.runs(conductor_group='g', all=None, peer_list=()),
        )
        alive = [
            world.member(f'host{number}', settings)
            for number, settings in enumerate(alike, start=1)
        ]
        ring = 'host1+host2+host3+host4'
        other = world.member('host9', RING)
        self.check(f'{ring} host9', [*alive, other], rebalancing=ring)

    def test_dead_service_is_in_no_ring_and_still_a_peer(self) -> None:
        rows = [model.Service(f'host{n}', settings=RING) for n in (1, 2, 3)]
        ring = 'host1+host2'
        self.check(ring, world.members(RING, *PAIR), *rows, rebalancing=ring)
        alone = world.members(RING, 'host1')
        self.check('host1', alone, *rows, rebalancing='host1')
        groups = world.assemble(alone, rows)
        self.assertEqual({*PAIR, 'host3'}, groups.groups[0].peers)
        self.assertEqual({'host1'}, groups.alive)

    def test_disabled_forced_down_or_other_process_is_in_no_ring(self) -> None:
        alive = world.members(RING, *PAIR)
        for values, living in (
            ({'disabled': True}, {*PAIR}),
            ({'forced_down': True}, {'host2'}),
            ({'fenced': True}, {*PAIR}),
            ({'incarnation': 'another'}, {*PAIR}),
        ):
            row = model.Service('host1', settings=RING, **values)
            self.check('host2', alive, row, rebalancing='host2')
            self.assertEqual(living, world.assemble(alive, [row]).alive)

    def test_peers_are_those_listed_or_with_the_same_settings(self) -> None:
        other = world.runs(conductor_group='h', peer_list=())
        for shared, alone in ((NAMED, GROUP), (GROUP, other)):
            alive = [
                *world.members(shared, *PAIR),
                world.member('host3', alone),
            ]
            ring = 'host1+host2'
            self.check(f'{ring} host3', alive, rebalancing=ring)

    def test_shard_leaves_everyone_alone(self) -> None:
        for settings in (
            world.runs(shard_key='a', peer_list=()),
            world.runs(shard_key='a', conductor_group='g', peer_list=PAIR),
        ):
            self.check('host1 host2', world.members(settings, *PAIR))

    def test_unreadable_member_is_in_no_ring_and_yet_alive(self) -> None:
        for settings in (world.UNKNOWN, world.NEWER):
            alive = [
                world.member('host1', RING),
                world.member('host2', settings),
            ]
            self.check('host1', alive)
            groups = world.assemble(alive)
            self.assertEqual({*PAIR}, groups.alive)
            for host in ('host2', 'unknown'):
                self.assertIsNone(groups.admits(host, world.node(1)))


class TestPolicies(unittest.TestCase):
    def test_live_settings_count_more_than_those_on_record(self) -> None:
        groups = world.assemble(
            [world.member('host1', world.runs(shard_key='a'))],
            [model.Service('host1', settings=world.runs(shard_key='b'))],
        )
        for shard in ('a', 'b'):
            node = world.node(1, shard=shard)
            self.assertIs(shard == 'a', groups.admits('host1', node))

    def test_name_of_an_assigner(self) -> None:
        for settings, name in ((GROUP, 'peer_list'), (world.ALL, None)):
            self.assertEqual(name, assigner_name(settings, world.interpret))

    def test_equal_settings_are_read_once(self) -> None:
        read = []

        class Counting(world.CLASSES['all']):
            def __init__(self, settings) -> None:
                read.append(settings)
                super().__init__(settings)

        world.assemble(
            world.members(world.ALL, *map(str, range(50))),
            classes={'all': Counting},
        )
        self.assertEqual(1, len(read))
