from __future__ import annotations

import dataclasses
import unittest
from typing import Any, TypeVar
from unittest import mock

from ironic_ownership.contracts import model
from ironic_ownership.engine.queries.deployment import Deployment, State
from tests.unit.engine import world

T = TypeVar('T')
SHARD = world.runs(shard_key='a')


class TestEvaluate(unittest.TestCase):
    def test_every_node_and_every_record_has_a_status(self) -> None:
        found = world.deployment(
            [
                world.member('host1', SHARD),
                world.member('host2', world.runs(conductor_group='g')),
            ],
            (),
            [
                *(world.record(n, 'host1') for n in (1, 3, 4, 6)),
                world.record(5, None),
            ],
            [
                world.node(1, shard='a'),
                world.node(2, shard='a'),
                world.node(3, shard='b'),
                world.node(5, shard='b'),
                world.node(6, shard='a', conductor_group='g'),
                world.node(7, shard='a', conductor_group='g'),
            ],
        )
        self.assertEqual(
            {
                1: State.OWNED,
                2: State.UNOWNED,
                3: State.FILTERED,
                4: State.ORPHAN,
                5: State.UNOWNED,
                6: State.CONTESTED,
                7: State.CONTESTED,
            },
            {
                int(status.uuid[-2:]): status.state
                for status in found.statuses({**found.nodes, **found.records})
            },
        )

    def test_owner_is_alive_dead_or_missing(self) -> None:
        found = world.deployment(
            world.members(SHARD, 'host1', 'down'),
            [model.Service('down', forced_down=True)],
            [
                world.record(1, 'host1'),
                world.record(2, 'dead'),
                world.record(3, 'down'),
            ],
            map(world.node, range(4)),
        )
        self.assertEqual(
            [None, True, False, False],
            [one.owner_alive for one in found.statuses(sorted(found.nodes))],
        )


class _Counting(dict[str, T]):
    """A mapping that counts the values that were taken out."""

    taken = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.taken += 1
        return super().get(key, default)


class TestDeployment(unittest.TestCase):
    """2,500 nodes of one service, which are three slices."""

    def setUp(self) -> None:
        super().setUp()
        nodes = map(world.node, range(2500))
        self.nodes = _Counting((node.uuid, node) for node in nodes)
        self.records = _Counting(
            (uuid, model.ComputeNode(uuid, 'host1')) for uuid in self.nodes
        )

    def deployment(self, settings: model.MemberSettings) -> Deployment:
        return dataclasses.replace(
            world.deployment([world.member('host1', settings)]),
            records=self.records,
            nodes=self.nodes,
        )

    def test_few_nodes_are_in_use_at_a_time(self) -> None:
        found = self.deployment(world.ALL).statuses(sorted(self.nodes), 100)
        for number in range(1, 250):
            next(found)
            slices = -(-number // 100)
            self.assertEqual(100 * slices, self.nodes.taken)
            self.assertEqual(100 * slices, self.records.taken)

    def test_slices_change_no_status_and_keep_the_order(self) -> None:
        del self.records[world.uuid(7)], self.nodes[world.uuid(8)]
        uuids = sorted(self.nodes.keys() | self.records, reverse=True)
        for settings in (world.ALL, world.RING, world.runs(odd=None)):
            found = self.deployment(settings)
            whole = [*found.statuses(uuids, 10_000)]
            self.assertEqual(whole, [*found.statuses(uuids, 7)])
            self.assertEqual(uuids, [status.uuid for status in whole])
            self.assertEqual(
                {State.UNOWNED, State.ORPHAN},
                {whole[-8].state, whole[-9].state},
            )

    def test_nodes_that_depend_on_others_are_decided_at_once(self) -> None:
        with mock.patch.object(
            world.OddPolicy,
            'assign',
            autospec=True,
            side_effect=world.OddPolicy.assign,
        ) as assign:
            found = self.deployment(world.runs(odd=None))
            for _ in range(2):
                self.assertEqual(2500, len([*found.statuses(self.nodes)]))
        (call,) = assign.call_args_list
        self.assertEqual(2500, len(call.args[1]))
