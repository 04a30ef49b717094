from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model
from tests.unit.engine import world

NAMED = world.runs(conductor_group='g', peer_list=('host1', 'host2'))


def rings(services) -> list[list[str]]:
    """Return the hosts of every peer group."""
    return sorted(list(group.hosts) for group in services.groups)


class TestRings(unittest.TestCase):
    """The peers of Nova, input by input, with intended differences."""

    def test_single_service_is_its_ring(self) -> None:
        services = world.assemble(world.members(world.RING, 'host1'))
        self.assertEqual([['host1']], rings(services))
        self.assertFalse(services.groups[0].rebalancing)

    def test_order_of_names_and_a_redundant_all_are_the_same(self) -> None:
        alike = (
            world.runs(conductor_group='g', peer_list=()),
            world.runs(peer_list=(), conductor_group='g'),
            world.runs(all=None, conductor_group='g', peer_list=()),
            world.runs(conductor_group='g', all=None, peer_list=()),
        )
        alive = [
            world.member(f'host{number}', settings)
            for number, settings in enumerate(alike, start=1)
        ]
        services = world.assemble(alive)
        self.assertEqual(
            [['host1', 'host2', 'host3', 'host4']], rings(services)
        )
        other = world.member('host9', world.runs(peer_list=()))
        self.assertEqual(2, len(world.assemble([*alive, other]).groups))

    def test_dead_service_is_in_no_ring(self) -> None:
        rows = [
            model.Service(f'host{n}', settings=world.RING) for n in range(1, 5)
        ]
        alive = world.members(world.RING, 'host1', 'host2', 'host4')
        services = world.assemble(alive, rows)
        self.assertEqual([['host1', 'host2', 'host4']], rings(services))
        self.assertNotIn('host3', services.alive)

    def test_dead_service_with_the_same_settings_is_still_a_peer(self) -> None:
        rows = [model.Service('host2', settings=world.RING)]
        services = world.assemble(world.members(world.RING, 'host1'), rows)
        self.assertEqual({'host1', 'host2'}, services.groups[0].peers)
        self.assertTrue(services.groups[0].rebalancing)

    def test_disabled_or_forced_down_service_is_in_no_ring(self) -> None:
        alive = world.members(world.RING, 'host1', 'host2')
        for flag in ('disabled', 'forced_down'):
            rows = [
                model.Service('host1', settings=world.RING, **{flag: True})
            ]
            services = world.assemble(alive, rows)
            self.assertEqual([['host2']], rings(services))
            self.assertNotIn('host1', services.group_of)

    def test_disabled_service_is_alive_and_a_forced_down_one_is_not(
        self,
    ) -> None:
        alive = world.members(world.RING, 'host1', 'host2', 'host3')
        rows = [
            model.Service('host1', disabled=True, settings=world.RING),
            model.Service('host2', forced_down=True, settings=world.RING),
        ]
        services = world.assemble(alive, rows)
        self.assertEqual({'host1', 'host3'}, services.alive)

    def test_peers_not_on_the_list_are_not_in_the_ring(self) -> None:
        services = world.assemble(
            [
                *world.members(NAMED, 'host1', 'host2'),
                world.member(
                    'host3', world.runs(conductor_group='g', peer_list=())
                ),
            ]
        )
        self.assertEqual([['host1', 'host2'], ['host3']], rings(services))

    def test_shard_leaves_everyone_alone(self) -> None:
        for runs in (
            world.runs(shard_key='a', peer_list=()),
            world.runs(
                shard_key='a',
                conductor_group='g',
                peer_list=('host1', 'host2'),
            ),
        ):
            services = world.assemble(world.members(runs, 'host1', 'host2'))
            self.assertEqual([['host1'], ['host2']], rings(services))
            self.assertFalse(any(g.rebalancing for g in services.groups))

    def test_group_without_a_list_discovers_its_peers(self) -> None:
        runs = world.runs(conductor_group='g', peer_list=())
        other = world.runs(conductor_group='h', peer_list=())
        services = world.assemble(
            [*world.members(runs, 'host1', 'host2'), world.member('x', other)]
        )
        self.assertEqual([['host1', 'host2'], ['x']], rings(services))

    def test_service_that_never_had_a_node_or_a_row_is_in_the_ring(
        self,
    ) -> None:
        rows = [model.Service('host1', settings=world.RING)]
        alive = world.members(world.RING, 'host1', 'host2')
        self.assertEqual(
            [['host1', 'host2']], rings(world.assemble(alive, rows))
        )


class TestUnreadable(unittest.TestCase):
    """Members whose settings this release can't read."""

    def test_what_it_admits_is_unknown(self) -> None:
        services = world.assemble([world.member('x', world.UNKNOWN)])
        self.assertIsNone(services.admits('x', world.node(1)))
        self.assertIsNone(services.admits('unknown', world.node(1)))

    def test_it_is_in_no_ring_and_yet_alive(self) -> None:
        for runs in (world.UNKNOWN, world.NEWER):
            services = world.assemble(
                [*world.members(world.RING, 'host1'), world.member('x', runs)]
            )
            self.assertEqual([['host1']], rings(services))
            self.assertIn('x', services.alive)


class TestPolicies(unittest.TestCase):
    def test_live_settings_count_more_than_those_on_record(self) -> None:
        alive = [world.member('host1', world.runs(shard_key='a'))]
        rows = [model.Service('host1', settings=world.runs(shard_key='b'))]
        services = world.assemble(alive, rows)
        self.assertIs(True, services.admits('host1', world.node(1, shard='a')))

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


class TestFaults(unittest.TestCase):
    def test_peers_that_fail_are_a_fault_that_names_the_policy(self) -> None:
        class Failing(world.OddPolicy):
            def peers(self, host, candidates, scope):
                return self.answer()

        for answer in (lambda: None, lambda: {}['its own mistake']):
            Failing.answer = staticmethod(answer)
            with self.assertRaises(exceptions.PluginFaultError) as caught:
                world.assemble(
                    world.members(world.runs(failing=None), 'a'),
                    classes={'failing': Failing},
                )
            self.assertIn('Failing.peers', str(caught.exception))
