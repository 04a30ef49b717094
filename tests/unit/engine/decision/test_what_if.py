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

    def test_without_records_the_policies_alone_count(self) -> None:
        before = situation(world.members(world.RING, 'host1', 'host2'))
        found = compared(
            [
                world.node(1),
                world.node(2, instance_uuid='i'),
                world.node(6),
            ],
            [],
            before,
            before.joined_like('host3', 'host1'),
        )
        self.assertEqual(
            [
                what_if.Flow('host1', 'host3', 1, 0, 1 / 3),
                what_if.Flow('host2', 'host3', 1, 1, 1 / 3),
            ],
            found.flows(),
        )

    def test_nodes_of_an_exclusive_service_have_no_heir(self) -> None:
        other = world.member('host2', world.runs(shard_key='a'))
        before = situation([world.member('host1'), other])
        found = compared(
            [world.node(3, shard='a'), world.node(1), world.node(2)],
            [
                world.record(1, 'host1'),
                world.record(2, 'host1', 'i'),
                world.record(3, 'host2'),
            ],
            before,
            before.without(['host1']),
        )
        host = 'host1'
        self.assertEqual(
            [(UNSERVED, '1', host, host), (STRANDED, '2', host, host)],
            [
                (one.kind, one.node.uuid[-1], one.before, one.after)
                for one in found.changes
            ],
        )

    @given(
        snapshot_strategies.moments(),
        st.sampled_from(snapshot_strategies.HOSTS),
    )
    def test_preview_follows_the_decisions(self, moment, host) -> None:
        before = situation(moment.members, moment.services.values())
        after = before.without([host])
        found = compared(moment.nodes, moment.records.values(), before, after)
        now, then = (
            decide.decide(
                moment.nodes, moment.records, s.peer_groups(world.interpret)
            )
            for s in (before, after)
        )
        owners = {
            n.uuid: (now[n.uuid].owner, then[n.uuid].owner)
            for n in moment.nodes
        }
        self.assertEqual(
            {u: pair for u, pair in owners.items() if pair[0] != pair[1]},
            {t.node.uuid: (t.before, t.after) for t in found.of(MOVES)},
        )
        self.assertEqual(
            len(found.of(MOVES)), sum(f.nodes for f in found.flows())
        )


class TestWhatIf(unittest.TestCase):
    def joined(self, settings, *rows) -> what_if.Situation:
        """Let ``host3`` join like ``host1``."""
        other = world.member('other', world.runs(peer_list=('host1',)))
        before = situation([*world.members(settings, 'host1'), other], rows)
        after = before.joined_like('host3', 'host1')
        self.assertEqual('host3', max(after.view.members, key=_joined).host)
        self.assertEqual(other.settings, after.view.get('other').settings)
        return after

    def test_written_list_of_peers_names_the_new_member(self) -> None:
        old, new = (
            world.runs(peer_list=('host1', *more, 'host4'))
            for more in ((), ('host3',))
        )
        after = self.joined(old, model.Service('host4', settings=old))
        for found in (
            after.view.get('host1'),
            after.view.get('host3'),
            after.services[0],
        ):
            self.assertEqual(new, found.settings)

    def test_member_that_joins_is_registered_unless_it_is_disabled(
        self,
    ) -> None:
        for row, hosts in (
            ({'fenced': True}, ('host1', 'host3')),
            ({'disabled': True}, ('host1',)),
        ):
            after = self.joined(GROUP, model.Service('host3', **row))
            self.assertEqual(GROUP, after.view.get('host3').settings)
            groups = after.peer_groups(world.interpret)
            self.assertEqual(hosts, groups.group_of['host1'].hosts)

    def test_only_a_member_can_be_the_model(self) -> None:
        before = situation([world.member('host1')])
        self.assertRaises(ValueError, before.joined_like, 'host3', 'host9')


def _joined(member: model.Member) -> float:
    return member.joined_at
