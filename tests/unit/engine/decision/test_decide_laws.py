"""Laws of every decision, for any members and any records.

The fast decisions are compared with a naive reference, and the laws are
checked again by themselves, for a reference can be wrong too.
"""

from __future__ import annotations

import random
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Contest
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
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


def roster_of(moment: snapshot_strategies.Moment) -> PeerGroups:
    return world.assemble(moment.members, moment.services.values())


def decide_all(moment: snapshot_strategies.Moment) -> decide.Decisions:
    return decide.decide(moment.nodes, moment.records, roster_of(moment))


def owner_on_record(
    moment: snapshot_strategies.Moment, node: model.Node
) -> str | None:
    record = moment.records.get(node.uuid)
    return record.host if record else None


def is_deployed(moment: snapshot_strategies.Moment, node: model.Node) -> bool:
    record = moment.records.get(node.uuid)
    return bool(node.instance_uuid or (record and record.instance_uuid))


class TestDecisions(unittest.TestCase):
    @given(snapshot_strategies.moments())
    def test_they_are_those_of_the_naive_reference(self, moment) -> None:
        rules = reference.Moment(moment.members, moment.services)
        decided = decide_all(moment)
        self.assertEqual({n.uuid for n in moment.nodes}, set(decided))
        for node in moment.nodes:
            self.assertEqual(
                rules.decide(node, moment.records.get(node.uuid)),
                decided[node.uuid],
            )

    @given(snapshot_strategies.moments(_RINGS))
    def test_they_are_those_of_the_reference_in_rings(self, moment) -> None:
        rules = reference.Moment(moment.members, moment.services)
        decided = decide_all(moment)
        for node in moment.nodes:
            self.assertEqual(
                rules.decide(node, moment.records.get(node.uuid)),
                decided[node.uuid],
            )

    @given(snapshot_strategies.moments(), st.randoms(use_true_random=False))
    def test_order_of_anything_means_nothing(
        self, moment: snapshot_strategies.Moment, chance: random.Random
    ) -> None:
        before = decide_all(moment)
        for listed in (moment.nodes, moment.members):
            chance.shuffle(listed)
        for name in ('records', 'services'):
            items = list(getattr(moment, name).items())
            chance.shuffle(items)
            setattr(moment, name, dict(items))
        self.assertEqual(before, decide_all(moment))

    @given(
        snapshot_strategies.moments(),
        st.integers(0, snapshot_strategies.NODES - 1),
    )
    def test_other_nodes_mean_nothing(self, moment, number) -> None:
        node = moment.nodes[number % len(moment.nodes)]
        alone = decide.decide([node], moment.records, roster_of(moment))
        self.assertEqual(decide_all(moment)[node.uuid], alone[node.uuid])


class TestLaws(unittest.TestCase):
    @given(snapshot_strategies.moments())
    def test_new_owner_is_alive_enabled_readable_and_admits(
        self, moment
    ) -> None:
        alive = {m.host: m for m in moment.members}
        decided = decide_all(moment)
        for node in moment.nodes:
            owner = decided[node.uuid].owner
            if owner in (None, owner_on_record(moment, node)):
                continue
            self.assertIn(owner, alive)
            row = moment.services.get(owner, model.Service(owner))
            self.assertFalse(row.disabled or row.forced_down)
            policies = world.interpret(alive[owner].settings)
            self.assertIsNotNone(policies)
            self.assertTrue(policies.admits(node))

    @given(snapshot_strategies.moments())
    def test_deployed_node_never_leaves_its_owner(self, moment) -> None:
        decided = decide_all(moment)
        for node in moment.nodes:
            owner = owner_on_record(moment, node)
            if owner is not None and is_deployed(moment, node):
                self.assertEqual(owner, decided[node.uuid].owner)

    @given(snapshot_strategies.moments(_EXCLUSIVE))
    def test_exclusive_owner_never_changes(self, moment) -> None:
        decided = decide_all(moment)
        for node in moment.nodes:
            owner = owner_on_record(moment, node)
            if owner is not None:
                self.assertEqual(owner, decided[node.uuid].owner)

    @given(snapshot_strategies.moments())
    def test_owner_changes_only_among_several_rebalancing_peers(
        self, moment
    ) -> None:
        services, decided = roster_of(moment), decide_all(moment)
        for node in moment.nodes:
            before = owner_on_record(moment, node)
            after = decided[node.uuid].owner
            if before in (None, after):
                continue
            left = services.policies.get(before)
            if after is None and left and left.releases_free:
                self.assertFalse(is_deployed(moment, node))
                continue
            group = services.group_of[before if after is None else after]
            self.assertTrue(group.policies.rebalancing)
            self.assertGreater(len(group.peers), 1)
            self.assertTrue(
                before in group.peers or (left and left.rebalancing)
            )

    @given(snapshot_strategies.moments())
    def test_contested_node_never_changes_and_is_never_claimed(
        self, moment
    ) -> None:
        decided = decide_all(moment)
        for node in moment.nodes:
            decision = decided[node.uuid]
            owner = owner_on_record(moment, node)
            if decision.contest is not None and owner is not None:
                self.assertEqual(owner, decision.owner)
            if decision.contest is Contest.CONTESTED and owner is None:
                self.assertIsNone(decision.owner)

    @given(snapshot_strategies.moments())
    def test_decision_once_on_record_is_decided_again(self, moment) -> None:
        """Nothing flaps: a decision that was carried out stays."""
        decided = decide_all(moment)
        for node in moment.nodes:
            record = moment.records.get(node.uuid)
            moment.records[node.uuid] = model.ComputeNode(
                node.uuid,
                decided[node.uuid].owner,
                node.instance_uuid or (record and record.instance_uuid),
            )
        again = decide_all(moment)
        self.assertEqual(
            {u: d.owner for u, d in decided.items()},
            {u: d.owner for u, d in again.items()},
        )
