from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.queries import node_status
from tests.unit.engine import world

State = node_status.State
SHARD = world.runs(shard_key='a')


class TestEvaluate(unittest.TestCase):
    def states(self, nodes, records, members, services=()):
        found = node_status.evaluate(
            nodes, records, world.assemble(members, services)
        )
        return {int(f.uuid[-2:]): f.state for f in found}

    def test_every_node_and_every_record_has_a_status(self) -> None:
        self.assertEqual(
            {
                1: State.OWNED,
                2: State.UNOWNED,
                3: State.FILTERED,
                4: State.ORPHAN,
                5: State.UNOWNED,
            },
            self.states(
                [
                    world.node(1, shard='a'),
                    world.node(2, shard='a'),
                    world.node(3, shard='b'),
                    world.node(5, shard='b'),
                ],
                [
                    world.record(1, 'host1'),
                    world.record(3, 'host1'),
                    world.record(4, 'host1'),
                    world.record(5, None),
                ],
                [world.member('host1', SHARD)],
            ),
        )

    def test_contested_nodes_are_owned_or_not(self) -> None:
        members = [world.member('host1'), world.member('host2', world.RING)]
        self.assertEqual(
            {1: State.CONTESTED, 2: State.CONTESTED},
            self.states(
                [world.node(1), world.node(2)],
                [world.record(1, 'host1')],
                members,
            ),
        )

    def test_owner_is_alive_dead_or_missing(self) -> None:
        services = [model.Service('down', forced_down=True)]
        found = node_status.evaluate(
            map(world.node, range(4)),
            [
                world.record(1, 'host1'),
                world.record(2, 'dead'),
                world.record(3, 'down'),
            ],
            world.assemble(world.members(SHARD, 'host1', 'down'), services),
        )
        self.assertEqual(
            [None, True, False, False], [f.owner_alive for f in found]
        )

    def test_statuses_are_in_the_order_of_names_then_uuids(self) -> None:
        found = node_status.evaluate(
            [
                world.node(1, name='b'),
                world.node(2, name='a'),
                world.node(5),
                world.node(4),
            ],
            [world.record(3, None, name='aa')],
            world.assemble([]),
        )
        self.assertEqual([4, 5, 2, 3, 1], [int(f.uuid[-2:]) for f in found])
