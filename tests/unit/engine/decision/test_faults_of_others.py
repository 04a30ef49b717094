"""Policies of other services that fail leave only their nodes undecided."""

from __future__ import annotations

import unittest
from collections.abc import Collection, Mapping

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.reasons import Contest, Decision, Reason
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from tests.unit.engine import world

NO_OTHERS: Mapping[str, object] = {}


class Exits(policy.FilterPolicy):
    """Limits itself to shard b, and exits for each node."""

    contract_version = 1

    def scope(self) -> model.Scope:
        return model.Scope(shard='b')

    def admits(self, node: model.Node) -> bool:
        raise SystemExit(0)


class NoPeers(policy.AssignerPolicy):
    """Exits when it is asked for peers, or for owners."""

    contract_version = 1
    rebalancing = True
    where = 'peers'

    def peers(self, host, candidates, scope):
        if self.where == 'peers':
            raise SystemExit(0)
        return frozenset(candidates)

    def assign(self, nodes, hosts):
        raise SystemExit(0)


class NoOwners(NoPeers):
    """Exits when it is asked for owners."""

    contract_version = 1
    where = 'assign'


class NoScope(policy.FilterPolicy):
    """Exits when it is asked for its scope."""

    contract_version = 1

    def scope(self) -> model.Scope:
        raise SystemExit(0)


class FaultsOfOthersTest(unittest.TestCase):
    def decide(
        self,
        kind: type[policy.Policy],
        *nodes: model.Node,
        others: Mapping[str, object] = NO_OTHERS,
        **records: str,
    ) -> dict[str, Decision]:
        self.faults: list[tuple[str, ...]] = []

        def on_fault(hosts: Collection[str], error: Exception) -> None:
            self.assertIn('SystemExit', str(error))
            self.faults.append(tuple(hosts))

        classes = {**world.CLASSES, 'bad': kind}
        groups = PeerGroups.of(
            model.View.of(
                [
                    world.member('host1', world.runs(shard_key='a')),
                    world.member('host2', world.runs(bad=None, **others)),
                ]
            ),
            [],
            lambda settings: world.interpret(settings, classes),
            on_fault,
        )
        found = {
            node.uuid: world.record(
                int(node.uuid[-4:]), records[f'n{int(node.uuid[-4:])}']
            )
            for node in nodes
            if f'n{int(node.uuid[-4:])}' in records
        }
        return dict(decide.decide(nodes, found, groups))

    def test_only_nodes_that_may_be_theirs_stay_undecided(self) -> None:
        mine, theirs, kept = (
            world.node(1, shard='a'),
            world.node(2, shard='b'),
            world.node(3, shard='b'),
        )
        decided = self.decide(Exits, mine, theirs, kept, n3='host1')
        self.assertEqual(
            Decision('host1', Reason.EXCLUSIVE), decided[mine.uuid]
        )
        for node, owner in ((theirs, None), (kept, 'host1')):
            decision = decided[node.uuid]
            self.assertEqual(
                (owner, Reason.UNDECIDED, ('host2',), Contest.CONTESTED),
                (
                    decision.owner,
                    decision.reason,
                    decision.contenders,
                    decision.contest,
                ),
            )
        self.assertEqual({('host2',)}, set(self.faults))

    def test_assigner_that_fails_takes_and_loses_nothing(self) -> None:
        shared, kept = world.node(1, shard='a'), world.node(2, shard='c')
        for kind in (NoPeers, NoOwners):
            decided = self.decide(kind, shared, kept, n2='host2')
            self.assertEqual('host2', decided[kept.uuid].owner)
            self.assertEqual(Reason.UNDECIDED, decided[kept.uuid].reason)
            self.assertIsNone(decided[shared.uuid].owner)
            self.assertTrue(self.faults)

    def test_nodes_that_its_other_filters_refuse_are_decided(self) -> None:
        mine, theirs = world.node(1, shard='a'), world.node(2, shard='b')
        picky = world.node(3, shard='a', driver='theirs')
        for kind, others, undecided in (
            (NoScope, {'shard_key': 'b'}, {theirs.uuid}),
            (NoScope, {'picky': 'theirs'}, {picky.uuid}),
            (Exits, {'picky': 'theirs'}, set()),
            (NoScope, {}, {mine.uuid, theirs.uuid, picky.uuid}),
        ):
            decided = self.decide(kind, mine, theirs, picky, others=others)
            found = {
                uuid
                for uuid, decision in decided.items()
                if decision.reason is Reason.UNDECIDED
            }
            self.assertEqual(undecided, found, (kind, others))

    def test_fault_is_raised_unless_it_is_tolerated(self) -> None:
        classes = {**world.CLASSES, 'bad': Exits}
        groups = world.assemble(
            [world.member('host2', world.runs(bad=None))], (), classes
        )
        with self.assertRaises(exceptions.PluginFaultError):
            decide.decide([world.node(1, shard='b')], {}, groups)


class NoScopeButAnswers(policy.FilterPolicy):
    """Exits when it is asked for its scope, and admits nodes of shard b."""

    contract_version = 1
    scoped = False

    def scope(self) -> model.Scope:
        if self.scoped:
            return model.Scope(shard='b')
        raise SystemExit(0)

    def admits(self, node: model.Node) -> bool:
        if self.scoped:
            return node.shard == 'b'
        return self.answers(node)

    def answers(self, node: model.Node) -> bool:
        return node.shard == 'b'


class AnswersNothing(NoScopeButAnswers):
    """Exits for every question."""

    def answers(self, node: model.Node) -> bool:
        raise SystemExit(0)


class TestMayAdmit(unittest.TestCase):
    """Nodes that a failing policy refuses are decided without it."""

    def test_filter_that_still_answers_about_nodes(self) -> None:
        chosen = policy_set.PolicySet.of([NoScopeButAnswers({})])
        self.assertTrue(chosen.may_admit('a', ''))
        for shard in ('a', 'b'):
            node = world.node(1, shard=shard)
            self.assertIs(shard == 'b', chosen.may_admit(shard, '', node))

    def test_scope_that_was_known_with_the_same_settings(self) -> None:
        known: list[model.Scope] = []
        failing = AnswersNothing({})
        for policies in (
            policy_set.PolicySet((failing,), known_scope=known),
            policy_set.PolicySet((failing,)),
        ):
            self.assertTrue(policies.may_admit('a', ''))
        sound = AnswersNothing({})
        sound.scoped = True
        self.assertFalse(
            policy_set.PolicySet((sound,), known_scope=known).may_admit(
                'a', ''
            )
        )
        again = policy_set.PolicySet((failing,), known_scope=known)
        for shard in ('a', 'b'):
            node = world.node(1, shard=shard)
            self.assertIs(shard == 'b', again.may_admit(shard, '', node))
            self.assertIs(shard == 'b', again.may_admit(shard, ''))
