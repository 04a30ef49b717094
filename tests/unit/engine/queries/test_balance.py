from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import availability
from ironic_ownership.engine.queries import balance, deployment, service_status
from tests.unit.engine import world


class TestUsable(unittest.TestCase):
    def usable(self, **values) -> bool:
        values.setdefault('provision_state', 'available')
        return balance.usable(world.node(1, **values))

    def test_available_and_active_nodes_are_usable(self) -> None:
        self.assertTrue(self.usable())
        self.assertTrue(self.usable(provision_state='active'))
        self.assertTrue(self.usable(power_state='power off'))

    def test_everything_else_is_not(self) -> None:
        for values in (
            {'maintenance': True},
            {'retired': True},
            {'power_state': 'error'},
            {'provision_state': 'cleaning'},
            {'provision_state': 'manageable'},
            {'provision_state': None},
        ):
            self.assertFalse(self.usable(**values), values)
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
        ):
            found = balance.Spread(nodes)
            self.assertIs(uneven, found.uneven, nodes)
            self.assertEqual('a', found.largest)

    def test_best_possible_spread_is_even(self) -> None:
        self.assertFalse(balance.Spread({'a': 1, 'b': 0}).uneven)
        self.assertFalse(balance.Spread({'a': 0, 'b': 0}).uneven)
        self.assertTrue(balance.Spread({'a': 2, 'b': 0}).uneven)

    def test_host_that_should_have_no_nodes_has_no_finite_ratio(self) -> None:
        # JSON has no infinite numbers.
        found = balance.Spread({'a': 2, 'b': 6}, {'a': 0.0, 'b': 1.0})
        self.assertIsNone(found.of_mean('a'))
        self.assertEqual(0.75, found.of_mean('b'))
        self.assertEqual('a', found.largest)
        self.assertTrue(found.uneven)


class TestLoads(unittest.TestCase):
    def loads(self, nodes):
        records = [
            world.record(1, 'host1'),
            world.record(2, 'host1', 'i'),
            world.record(3, 'host1', 'i'),
            world.record(4, 'host2'),
            world.record(5, 'alone'),
            world.record(6, None),
        ]
        seen = deployment.Deployment(
            world.interpret,
            {row.host: row for row in world.registered(self.MEMBERS)},
            model.View.of(self.MEMBERS),
            {record.uuid: record for record in records},
            {node.uuid: node for node in nodes or ()},
            unread={}
            if nodes is not None
            else {deployment.Part.IRONIC: exceptions.IronicError('silent')},
        )
        hosts = ('host1', 'host2', 'alone', 'other', 'gone')
        listing = [
            service_status.ServiceStatus(
                model.Service(host), None, view_known=True
            )
            for host in hosts
        ]
        found, _ = balance.add_load(listing, seen)
        return {one.row.host: one for one in found}

    MEMBERS = (
        *world.members(world.RING, 'host1', 'host2'),
        world.member('alone', world.runs(shard_key='a')),
        world.member('other', world.runs(shard_key='b')),
    )

    def test_each_service_has_its_nodes_by_kind(self) -> None:
        nodes = [
            world.node(1, provision_state='available'),
            world.node(2, provision_state='active'),
            world.node(3, provision_state='active', maintenance=True),
            world.node(4, provision_state='cleaning'),
        ]
        found = self.loads(nodes)
        self.assertEqual(
            (3, 2, 1),
            (
                found['host1'].nodes,
                found['host1'].instances,
                found['host1'].unavailable,
            ),
        )
        self.assertEqual(1, found['host2'].unavailable)
        self.assertEqual(1, found['alone'].unavailable)
        self.assertEqual(0, found['gone'].unavailable)

    def test_rings_and_lone_services_have_means_of_their_own(self) -> None:
        found = self.loads([])
        self.assertEqual(
            [1.5, 0.5, 2.0, 0.0, None],
            [load.of_mean for load in found.values()],
        )

    def test_without_ironic_what_is_unavailable_is_unknown(self) -> None:
        found = self.loads(None)
        self.assertEqual({None}, {load.unavailable for load in found.values()})
        self.assertEqual(2, found['host1'].instances)
