"""Laws of every decision, for any members and any records.

The fast decisions are compared with a naive reference, which decides node by
node, and the laws are checked again by themselves, for a reference can be
wrong too.
"""

from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide
from tests.unit.engine import reference, snapshot_strategies, world

_RINGS = st.sampled_from(
    (
        world.RING,
        world.runs(peer_list=('host1', 'host2', 'host3')),
        world.runs(conductor_group='g', peer_list=()),
    )
)
_EXCLUSIVE = st.sampled_from(
    (
        world.ALL,
        world.runs(shard_key='a'),
        world.runs(shard_key='b'),
        world.runs(shard_key='a', peer_list=()),
        world.runs(conductor_group='g'),
        world.runs(picky='ipmi'),
        world.runs(odd=None),
    )
)


class Owned(snapshot_strategies.Moment):
    """A moment with what is on record and what is decided in it."""

    def __init__(self, moment: snapshot_strategies.Moment) -> None:
        super().__init__(**vars(moment))
        self.groups = world.assemble(self.members, self.services.values())
        self.decided = decide.decide(self.nodes, self.records, self.groups)

    def owners(self) -> list[tuple[model.Node, str, str | None, bool]]:
        """Return nodes with their owners on record and by decision.

        And whether they have an instance.
        """
        return [
            (
                node,
                record.host,
                self.decided[node.uuid].owner,
                bool(node.instance_uuid or record.instance_uuid),
            )
            for node in self.nodes
            for record in [self.records.get(node.uuid)]
            if record is not None and record.host is not None
        ]


class TestLaws(unittest.TestCase):
    @given(snapshot_strategies.moments() | snapshot_strategies.moments(_RINGS))
    def test_decisions_are_those_of_the_naive_reference(self, moment) -> None:
        rules = reference.Moment(moment.members, moment.services)
        self.assertEqual(
            {
                node.uuid: rules.decide(node, moment.records.get(node.uuid))
                for node in moment.nodes
            },
            Owned(moment).decided,
        )

    @given(snapshot_strategies.moments())
    def test_deployed_node_never_leaves_its_owner(self, moment) -> None:
        for _, before, after, deployed in Owned(moment).owners():
            if deployed:
                self.assertEqual(before, after)

    @given(snapshot_strategies.moments(_EXCLUSIVE))
    def test_exclusive_owner_never_changes(self, moment) -> None:
        for _, before, after, _ in Owned(moment).owners():
            self.assertEqual(before, after)

    @given(snapshot_strategies.moments())
    def test_owner_changes_only_among_several_rebalancing_peers(
        self, moment
    ) -> None:
        owned = Owned(moment)
        for node, before, after, deployed in owned.owners():
            if before == after:
                continue
            left = owned.groups.policies.get(before)
            if after is None and left and left.releases_free:
                self.assertFalse(deployed)
                continue
            group = owned.groups.group_of[before if after is None else after]
            self.assertTrue(group.rebalancing)
            self.assertIsNone(owned.decided[node.uuid].contest)
            self.assertTrue(
                before in group.peers or (left and left.rebalancing)
            )

    @given(snapshot_strategies.moments())
    def test_decision_once_on_record_is_decided_again(self, moment) -> None:
        """Nothing flaps: a decision that was carried out stays."""
        owners = {u: d.owner for u, d in Owned(moment).decided.items()}
        for node in moment.nodes:
            record = moment.records.get(node.uuid)
            moment.records[node.uuid] = model.ComputeNode(
                node.uuid,
                owners[node.uuid],
                node.instance_uuid or (record and record.instance_uuid),
            )
        again = Owned(moment).decided
        self.assertEqual(owners, {u: d.owner for u, d in again.items()})
