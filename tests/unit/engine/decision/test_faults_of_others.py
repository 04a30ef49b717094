"""Policies of other services that fail leave only their nodes undecided."""

from __future__ import annotations

import unittest
from collections.abc import Collection
from typing import Any

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.reasons import Contest, Decision, Reason
from ironic_ownership.engine.decision import decide
from tests.unit.engine import world


def exits(self: policy.Policy, *asked: object) -> Any:
    raise SystemExit(0)


class Asked(policy.FilterPolicy):
    """Limits itself to shard b, and exits for each node."""

    contract_version = 1
    admits = exits

    def scope(self) -> model.Scope:
        return model.Scope(shard='b')


class NoScope(policy.FilterPolicy):
    contract_version = 1
    scope = exits


class NoOwners(policy.AssignerPolicy):
    contract_version = 1
    rebalancing = True
    assign = exits

    def peers(self, host, candidates, scope):
        return frozenset(candidates)


class NoPeers(NoOwners):
    peers = exits


MINE, THEIRS = world.node(1, shard='a'), world.node(2, shard='b')
PICKY = world.node(3, shard='a', driver='theirs')


class FaultsOfOthersTest(unittest.TestCase):
    def decide(
        self,
        kind: type[policy.Policy],
        *records: model.ComputeNode,
        failing: str = 'host2',
        **others: object,
    ) -> dict[str, Decision]:
        """Decide all nodes; one host has the policy, and others."""
        faults: set[tuple[str, ...]] = set()

        def on_fault(hosts: Collection[str], error: Exception) -> None:
            self.assertIn('SystemExit', str(error))
            faults.add(tuple(hosts))

        groups = world.assemble(
            [
                world.member('host1', world.runs(shard_key='a')),
                world.member(failing, world.runs(bad=None, **others)),
            ],
            (),
            {**world.CLASSES, 'bad': kind},
            on_fault,
        )
        found = {record.uuid: record for record in records}
        decided = decide.decide((MINE, THEIRS, PICKY), found, groups)
        self.assertEqual({(failing,)}, faults)
        return dict(decided)

    def test_only_nodes_that_may_be_theirs_stay_undecided(self) -> None:
        for owner, filtered in (
            *((None, False), ('host1', True)),
            # It is not known whether its policies still admit the node.
            ('host2', False),
        ):
            decided = self.decide(Asked, world.record(2, owner))
            theirs = decided.pop(THEIRS.uuid)
            self.assertEqual(
                [Decision('host1', Reason.EXCLUSIVE)] * 2, [*decided.values()]
            )
            self.assertEqual(
                Decision(
                    *(owner, Reason.UNDECIDED, ('host2',), Contest.CONTESTED),
                    filtered=filtered,
                ),
                theirs,
            )

    def test_assigner_that_fails_takes_and_loses_nothing(self) -> None:
        for kind in (NoPeers, NoOwners):
            decided = self.decide(kind, world.record(2, 'host2'))
            kept = decided[THEIRS.uuid]
            self.assertEqual(
                ('host2', Reason.UNDECIDED), (kept.owner, kept.reason)
            )
            self.assertIsNone(decided[MINE.uuid].owner)

    def test_nodes_that_its_other_filters_refuse_are_decided(self) -> None:
        for kind, others, undecided in (
            (NoScope, {'shard_key': 'b'}, [THEIRS]),
            (NoScope, {'picky': 'theirs'}, [PICKY]),
            (Asked, {'picky': 'theirs'}, []),
            (NoScope, {}, [MINE, THEIRS, PICKY]),
        ):
            found = [
                uuid
                for uuid, decision in self.decide(kind, **others).items()
                if decision.reason is Reason.UNDECIDED
            ]
            uuids = [node.uuid for node in undecided]
            self.assertCountEqual(uuids, found, (kind, others))
        # Those that follow are asked as well.
        decided = self.decide(NoScope, failing='host0')
        self.assertEqual(('host0', 'host1'), decided[MINE.uuid].contenders)

    def test_fault_is_raised_unless_it_is_tolerated(self) -> None:
        for kind in (Asked, NoScope, NoOwners, NoPeers):
            alive = [world.member('host2', world.runs(bad=None))]
            with self.assertRaises(exceptions.PluginFaultError):
                groups = world.assemble(alive, (), {'bad': kind})
                decide.decide([THEIRS], {}, groups)
