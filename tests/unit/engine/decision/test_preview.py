"""Previews are decisions: the services decide the same."""

from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide, preview, scenario
from tests.unit.engine import snapshot_strategies, world

GROUP = world.runs(conductor_group='g', peer_list=())


def situation(members, services=()) -> scenario.Situation:
    members = list(members)
    return scenario.Situation(
        model.View.of(members), world.registered(members, services)
    )


def compared(nodes, records, before, after) -> preview.Preview:
    return preview.compare(
        nodes,
        {record.uuid: record for record in records},
        before.peer_groups(world.interpret),
        after.peer_groups(world.interpret),
    )


class TestCompare(unittest.TestCase):
    """Two services on a ring, by the golden vectors.

    Nodes 1, 2, 3, 6, 7: host2, host2, host2, host1, host2.
    """

    def setUp(self) -> None:
        super().setUp()
        self.before = situation(world.members(world.RING, 'host1', 'host2'))
        self.nodes = [world.node(n) for n in (1, 2, 3, 6)]
        self.records = [
            world.record(1, 'host2'),
            world.record(2, 'host2', 'i'),
            world.record(3, 'host2'),
            world.record(6, 'host1'),
        ]

    def test_free_nodes_of_a_lost_member_move_and_others_are_stranded(
        self,
    ) -> None:
        found = compared(
            self.nodes,
            self.records,
            self.before,
            scenario.without(self.before, ['host2']),
        )
        self.assertEqual(
            [
                (world.uuid(1), 'host2', 'host1'),
                (world.uuid(3), 'host2', 'host1'),
            ],
            [(t.node.uuid, t.before, t.after) for t in found.transfers],
        )
        self.assertEqual(
            [world.uuid(2)], [t.node.uuid for t in found.stranded]
        )
        self.assertEqual([], found.unserved)
        self.assertEqual(0.5, found.share)
        self.assertEqual(
            [preview.Flow('host2', 'host1', 2, 0, 0.5)], found.flows()
        )

    def test_new_member_takes_what_its_ring_gives_it(self) -> None:
        found = compared(
            self.nodes,
            self.records,
            self.before,
            scenario.joined_like(self.before, 'host3', 'host1'),
        )
        # Golden: with host3 node 2 (deployed here) and 6 would be host3's.
        self.assertEqual(
            [(world.uuid(6), 'host1', 'host3')],
            [(t.node.uuid, t.before, t.after) for t in found.transfers],
        )

    def test_without_records_the_policies_alone_count(self) -> None:
        found = compared(
            [world.node(2, instance_uuid='i'), world.node(6)],
            [],
            self.before,
            scenario.joined_like(self.before, 'host3', 'host1'),
        )
        self.assertEqual(
            [('host2', 'host3', True), ('host1', 'host3', False)],
            [(t.before, t.after, t.deployed) for t in found.transfers],
        )
        self.assertEqual([1, 0], [f.instances for f in found.flows()][::-1])

    def test_nodes_of_an_exclusive_service_have_no_heir(self) -> None:
        before = situation([world.member('host1')])
        found = compared(
            [world.node(1), world.node(2)],
            [world.record(1, 'host1'), world.record(2, 'host1', 'i')],
            before,
            scenario.without(before, ['host1']),
        )
        self.assertEqual([], found.transfers)
        self.assertEqual(
            [world.uuid(1)], [t.node.uuid for t in found.unserved]
        )
        self.assertEqual(
            [world.uuid(2)], [t.node.uuid for t in found.stranded]
        )

    def test_nothing_changes_while_the_members_stay(self) -> None:
        found = compared(self.nodes, self.records, self.before, self.before)
        self.assertEqual(
            ([], [], [], []),
            (found.transfers, found.stranded, found.unserved, found.flows()),
        )

    def test_no_nodes_have_no_share(self) -> None:
        found = compared([], [], self.before, self.before)
        self.assertEqual(0.0, found.share)

    @given(
        snapshot_strategies.moments(),
        st.sampled_from(snapshot_strategies.HOSTS),
    )
    def test_preview_follows_the_decisions(self, moment, host) -> None:
        before = situation(moment.members, moment.services.values())
        after = scenario.without(before, [host])
        found = preview.compare(
            moment.nodes,
            moment.records,
            before.peer_groups(world.interpret),
            after.peer_groups(world.interpret),
        )
        now, then = (
            decide.decide(
                moment.nodes, moment.records, s.peer_groups(world.interpret)
            )
            for s in (before, after)
        )
        moved = {t.node.uuid: (t.before, t.after) for t in found.transfers}
        for node in moment.nodes:
            owners = now[node.uuid].owner, then[node.uuid].owner
            self.assertEqual(
                owners if owners[0] != owners[1] else None,
                moved.get(node.uuid),
            )
        self.assertEqual(
            len(found.transfers), sum(f.nodes for f in found.flows())
        )
        left = {t.node.uuid for t in (*found.stranded, *found.unserved)}
        self.assertEqual(set(), left & moved.keys())


class TestWhatIf(unittest.TestCase):
    def test_written_list_of_peers_names_the_new_member(self) -> None:
        runs = world.runs(peer_list=('host1', 'host2'))
        rows = [model.Service('host2', settings=runs)]
        before = situation(world.members(runs, 'host1', 'host2'), rows)
        after = scenario.joined_like(before, 'host3', 'host1')
        (group,) = after.peer_groups(world.interpret).groups
        self.assertEqual(('host1', 'host2', 'host3'), group.hosts)
        self.assertEqual(
            world.runs(peer_list=('host1', 'host2', 'host3')),
            after.services[0].settings,
        )

    def test_empty_list_of_peers_stays_empty(self) -> None:
        before = situation(world.members(GROUP, 'host1'))
        after = scenario.joined_like(before, 'host3', 'host1')
        self.assertEqual({GROUP}, {m.settings for m in after.view.members})

    def test_written_list_of_peers_is_kept_without_a_member(self) -> None:
        runs = world.runs(peer_list=('host1', 'host2'))
        before = situation(world.members(runs, 'host1', 'host2'))
        after = scenario.without(before, ['host2'])
        (group,) = after.peer_groups(world.interpret).groups
        self.assertEqual(('host1',), group.hosts)
        self.assertEqual({'host1', 'host2'}, group.peers)
        self.assertTrue(group.rebalancing)

    def test_new_member_joined_last(self) -> None:
        before = situation(world.members(world.ALL, 'host1', 'host2'))
        after = scenario.joined_by(before, 'host0', world.ALL)
        self.assertEqual(
            'host0', max(after.view.members, key=lambda m: m.joined_at).host
        )

    def test_disabled_service_that_joins_gets_nothing(self) -> None:
        rows = [model.Service('host3', disabled=True)]
        before = situation(world.members(GROUP, 'host1'), rows)
        after = scenario.joined_like(before, 'host3', 'host1')
        (group,) = after.peer_groups(world.interpret).groups
        self.assertEqual(('host1',), group.hosts)

    def test_only_a_member_can_be_the_model(self) -> None:
        before = situation([world.member('host1')])
        self.assertRaises(
            ValueError, scenario.joined_like, before, 'host3', 'host9'
        )
