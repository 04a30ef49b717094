"""Policies of other services that fail leave only their nodes undecided."""

from __future__ import annotations

import unittest
from collections.abc import Collection

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.decision import Contest, Decision
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from tests.unit.engine import world


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


class FaultsOfOthersTest(unittest.TestCase):
    def decide(
        self, kind: type[policy.Policy], *nodes: model.Node, **records: str
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
                    world.member('host2', world.runs(bad=None)),
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

    def test_fault_is_raised_unless_it_is_tolerated(self) -> None:
        classes = {**world.CLASSES, 'bad': Exits}
        groups = world.assemble(
            [world.member('host2', world.runs(bad=None))], (), classes
        )
        with self.assertRaises(exceptions.PluginFaultError):
            decide.decide([world.node(1, shard='b')], {}, groups)
