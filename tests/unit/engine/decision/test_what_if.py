"""Previews are decisions: the services decide the same."""

from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide, what_if
from tests.unit.engine import snapshot_strategies, world

MOVES, STRANDED, UNSERVED = what_if.Kind
GROUP = world.runs(conductor_group='g', peer_list=())


def situation(members, services=()) -> what_if.Situation:
    members = list(members)
    return what_if.Situation(
        model.View.of(members), world.registered(members, services)
    )


def compared(nodes, records, before, after) -> what_if.Difference:
    return what_if.compare(
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
            self.before.without(['host2']),
        )
        self.assertEqual(
            [
                (world.uuid(1), 'host2', 'host1'),
                (world.uuid(3), 'host2', 'host1'),
            ],
            [(t.node.uuid, t.before, t.after) for t in found.of(MOVES)],
        )
        self.assertEqual(
            [world.uuid(2)], [t.node.uuid for t in found.of(STRANDED)]
        )
        self.assertEqual([], found.of(UNSERVED))
        self.assertEqual(
            [what_if.Flow('host2', 'host1', 2, 0, 0.5)], found.flows()
        )

    def test_without_records_the_policies_alone_count(self) -> None:
        found = compared(
            [world.node(2, instance_uuid='i'), world.node(6)],
            [],
            self.before,
            self.before.joined_like('host3', 'host1'),
        )
        self.assertEqual(
            [('host2', 'host3', True), ('host1', 'host3', False)],
            [(t.before, t.after, t.deployed) for t in found.of(MOVES)],
        )
        self.assertEqual([1, 0], [f.instances for f in found.flows()][::-1])

    def test_nodes_of_an_exclusive_service_have_no_heir(self) -> None:
        before = situation([world.member('host1')])
        found = compared(
            [world.node(1), world.node(2)],
            [world.record(1, 'host1'), world.record(2, 'host1', 'i')],
            before,
            before.without(['host1']),
        )
        self.assertEqual([], found.of(MOVES))
        self.assertEqual(
            [world.uuid(1)], [t.node.uuid for t in found.of(UNSERVED)]
        )
        self.assertEqual(
            [world.uuid(2)], [t.node.uuid for t in found.of(STRANDED)]
        )

    @given(
        snapshot_strategies.moments(),
        st.sampled_from(snapshot_strategies.HOSTS),
    )
    def test_preview_follows_the_decisions(self, moment, host) -> None:
        before = situation(moment.members, moment.services.values())
        after = before.without([host])
        found = what_if.compare(
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
        moved = {t.node.uuid: (t.before, t.after) for t in found.of(MOVES)}
        for node in moment.nodes:
            owners = now[node.uuid].owner, then[node.uuid].owner
            self.assertEqual(
                owners if owners[0] != owners[1] else None,
                moved.get(node.uuid),
            )
        self.assertEqual(
            len(found.of(MOVES)), sum(f.nodes for f in found.flows())
        )
        left = {
            t.node.uuid for t in (*found.of(STRANDED), *found.of(UNSERVED))
        }
        self.assertEqual(set(), left & moved.keys())


class TestWhatIf(unittest.TestCase):
    def test_written_list_of_peers_names_the_new_member(self) -> None:
        runs = world.runs(peer_list=('host1', 'host2'))
        rows = [model.Service('host2', settings=runs)]
        before = situation(world.members(runs, 'host1', 'host2'), rows)
        after = before.joined_like('host3', 'host1')
        (group,) = after.peer_groups(world.interpret).groups
        self.assertEqual(('host1', 'host2', 'host3'), group.hosts)
        self.assertEqual(
            world.runs(peer_list=('host1', 'host2', 'host3')),
            after.services[0].settings,
        )

    def test_empty_list_and_the_settings_of_others_stay(self) -> None:
        other = world.member('other', world.runs(peer_list=('host1',)))
        before = situation([*world.members(GROUP, 'host1'), other])
        after = before.joined_like('host3', 'host1')
        self.assertEqual(
            {'host1': GROUP, 'host3': GROUP, 'other': other.settings},
            {m.host: m.settings for m in after.view.members},
        )

    def test_fenced_service_that_joins_has_registered_again(self) -> None:
        rows = [model.Service('host3', fenced=True)]
        before = situation(world.members(GROUP, 'host1'), rows)
        after = before.joined_like('host3', 'host1')
        (group,) = after.peer_groups(world.interpret).groups
        self.assertEqual(('host1', 'host3'), group.hosts)

    def test_new_member_joined_last(self) -> None:
        before = situation(world.members(world.ALL, 'host1', 'host2'))
        after = before.joined_by('host0', world.ALL)
        self.assertEqual(
            'host0', max(after.view.members, key=lambda m: m.joined_at).host
        )

    def test_disabled_service_that_joins_gets_nothing(self) -> None:
        rows = [model.Service('host3', disabled=True)]
        before = situation(world.members(GROUP, 'host1'), rows)
        after = before.joined_like('host3', 'host1')
        (group,) = after.peer_groups(world.interpret).groups
        self.assertEqual(('host1',), group.hosts)

    def test_only_a_member_can_be_the_model(self) -> None:
        before = situation([world.member('host1')])
        self.assertRaises(ValueError, before.joined_like, 'host3', 'host9')
