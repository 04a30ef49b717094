from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import availability
from ironic_ownership.engine.queries import balance, deployment, service_status
from tests.unit.engine import world


class TestUsable(unittest.TestCase):
    def test_available_and_active_nodes_are_usable(self) -> None:
        for values, usable in (
            ({}, True),
            ({'provision_state': 'active'}, True),
            ({'power_state': 'power off'}, True),
            ({'power_state': 'error'}, False),
            ({'maintenance': True}, False),
            ({'retired': True}, False),
            ({'provision_state': 'cleaning'}, False),
            ({'provision_state': 'manageable'}, False),
            ({'provision_state': None}, False),
        ):
            node = world.node(1, **{'provision_state': 'available', **values})
            found = balance.usable(node)
            self.assertIs(usable, found, values)
        self.assertFalse(balance.usable(None))

    def test_nodes_out_of_service_are_not_usable(self) -> None:
        node = world.node(1, driver='d', provision_state='available')
        for alive, drivers, usable in (
            (True, {'d'}, True),
            (True, {'e'}, False),
            (False, {'d'}, False),
        ):
            conductors = availability.Conductors.of(
                [model.Conductor('c', '', frozenset(drivers), alive)]
            )
            self.assertIs(usable, balance.usable(node, conductors))


class TestSpread(unittest.TestCase):
    def test_ring_is_uneven_past_one_and_a_half_times_the_mean(self) -> None:
        for nodes, uneven in (
            ({'a': 150, 'b': 50}, False),
            ({'a': 151, 'b': 49}, True),
            ({'a': 200, 'b': 100, 'c': 99}, True),
            ({'a': 100, 'b': 100, 'c': 100}, False),
            # The best possible spread is even.
            ({'a': 1, 'b': 0}, False),
            ({'a': 0, 'b': 0}, False),
            ({'a': 2, 'b': 0}, True),
        ):
            found = balance.Spread(nodes)
            self.assertIs(uneven, found.uneven, nodes)
            self.assertEqual('a', found.largest)

    def test_host_that_should_have_no_nodes_has_no_finite_ratio(self) -> None:
        # JSON has no infinite numbers.
        found = balance.Spread({'a': 2, 'b': 6}, {'a': 0.0, 'b': 1.0})
        self.assertIsNone(found.of_mean('a'))
        self.assertEqual(0.75, found.of_mean('b'))
        self.assertEqual('a', found.largest)
        self.assertTrue(found.uneven)


class TestLoads(unittest.TestCase):
    def test_each_service_has_its_nodes_by_kind_and_its_mean(self) -> None:
        members = [
            *world.members(world.RING, 'host1', 'host2'),
            world.member('alone', world.runs(shard_key='a')),
            world.member('other', world.runs(shard_key='b')),
        ]
        records = [
            world.record(1, 'host1'),
            world.record(2, 'host1', 'i'),
            world.record(3, 'host1', 'i'),
            world.record(4, 'host2'),
            world.record(5, 'alone'),
            world.record(6, None),
        ]
        nodes = [
            world.node(1, provision_state='available'),
            world.node(2, provision_state='active'),
            world.node(3, provision_state='active', maintenance=True),
            world.node(4, provision_state='cleaning'),
        ]
        silent = {deployment.Part.IRONIC: exceptions.IronicError('silent')}
        for listed, unread, unavailable in (
            (nodes, {}, [1, 1, 1, 0, 0]),
            # Without Ironic that is unknown.
            ([], silent, [None] * 5),
        ):
            found, _ = balance.add_load(
                [
                    service_status.ServiceStatus(
                        model.Service(host), None, view_known=True
                    )
                    for host in ('host1', 'host2', 'alone', 'other', 'gone')
                ],
                world.deployment(members, (), records, listed, unread=unread),
            )
            self.assertEqual(unavailable, [one.unavailable for one in found])
            self.assertEqual((3, 2), (found[0].nodes, found[0].instances))
            # Rings and lone services have means of their own.
            self.assertEqual(
                [1.5, 0.5, 2.0, 0.0, None], [one.of_mean for one in found]
            )
