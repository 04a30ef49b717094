"""Drains: the new owner of each node, and the moves to them."""

from __future__ import annotations

import collections
import unittest
from collections.abc import Mapping, Sequence
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model, moves
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import drain
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

SHARDS = ('a', 'b', None)


def services(**settings: model.MemberSettings) -> PeerGroups:
    return world.assemble(
        [world.member(host, its) for host, its in settings.items()]
    )


def plan(
    nodes: list[model.Node],
    peer_groups: PeerGroups,
    counts: dict[str | None, tuple[int, int]] | None = None,
    owned: list[str] | None = None,
) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
    if owned is None:
        owned = [node.uuid for node in nodes]
    return drain.plan('old', owned, nodes, peer_groups, counts or {})


def placed(found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the new owner of each node."""
    return {uuid: host for host, uuids in found.items() for uuid in uuids}


class TestDrain(unittest.TestCase):
    def test_node_goes_to_a_service_that_admits_it(self) -> None:
        one, two = world.node(1, shard='a'), world.node(2, shard='b')
        # Node 3 has another owner.
        found, unplaceable = plan(
            [one, two, world.node(3, shard='a')],
            services(
                one=world.runs(shard_key='a'), two=world.runs(shard_key='b')
            ),
            owned=[one.uuid, two.uuid],
        )
        self.assertEqual(
            {'one': [world.uuid(1)], 'two': [world.uuid(2)]}, found
        )
        self.assertEqual([], unplaceable)

    def test_source_takes_nothing_from_itself(self) -> None:
        made = plan([world.node(1)], services(old=world.ALL))
        self.assertEqual(({}, [world.uuid(1)]), made)

    def test_disabled_or_forced_down_service_takes_nothing(self) -> None:
        for flag in ('disabled', 'forced_down'):
            stopped = world.assemble(
                [world.member('one')],
                [model.Service('one', settings=world.ALL, **{flag: True})],
            )
            self.assertEqual({}, plan([world.node(1)], stopped)[0])

    def test_record_without_a_node_is_not_moved(self) -> None:
        made = plan([], services(one=world.ALL), owned=[world.uuid(1)])
        self.assertEqual(({}, []), made)

    def test_free_node_goes_where_its_assigner_would_put_it(self) -> None:
        # Elsewhere it would not stay.
        nodes = [world.node(number) for number in range(1, 21)]
        two = services(one=world.RING, two=world.RING)
        disabled = world.assemble(
            [world.member(host, world.RING) for host in ('old', 'one', 'two')],
            [model.Service('old', settings=world.RING, disabled=True)],
        )
        wanted = {
            uuid: one.owner
            for uuid, one in decide.decide(nodes, {}, two).items()
        }
        self.assertEqual({'one', 'two'}, set(wanted.values()))
        for peer_groups in (two, disabled):
            found, _ = plan(
                nodes, peer_groups, {'one': (90, 0), 'two': (0, 0)}
            )
            self.assertEqual(wanted, placed(found))

    def test_free_node_whose_assigner_needs_all_nodes_is_balanced(
        self,
    ) -> None:
        nodes = [world.node(number) for number in range(1, 5)]
        odd = world.runs(odd=None)
        found, _ = plan(nodes, services(one=odd, two=odd))
        self.assertEqual([2, 2], [*map(len, found.values())])

    def test_free_nodes_count_before_the_others_are_balanced(self) -> None:
        free = [world.node(number) for number in range(1, 9)]
        deployed = [
            world.node(number, instance_uuid=f'i{number}')
            for number in range(9, 17)
        ]
        found, _ = plan(
            [*deployed, *free], services(one=world.RING, two=world.RING)
        )
        self.assertEqual([8, 8], [*map(len, found.values())])

    def test_emptier_service_gets_more(self) -> None:
        nodes = [
            world.node(number, instance_uuid=f'i{number}')
            for number in range(1, 5)
        ]
        found, _ = plan(
            nodes,
            services(one=world.RING, two=world.RING),
            {'one': (2, 0), 'two': (0, 0), 'old': (4, 0)},
        )
        sizes = {host: len(uuids) for host, uuids in found.items()}
        self.assertEqual({'one': 1, 'two': 3}, sizes)

    @hypothesis.given(
        st.lists(st.sampled_from(SHARDS), max_size=30),
        st.lists(st.integers(0, 9), min_size=3, max_size=3),
    )
    def test_every_node_is_placed_once_or_named(
        self, shards: list[str | None], loads: list[int]
    ) -> None:
        nodes = [
            world.node(n, shard=s, instance_uuid=f'i{n}')
            for n, s in enumerate(shards)
        ]
        hosts = services(
            a1=world.runs(shard_key='a', peer_list=()),
            a2=world.runs(shard_key='a', peer_list=()),
            b=world.runs(shard_key='b'),
        )
        before = dict(zip(('a1', 'a2', 'b'), loads, strict=True))
        counts = {host: (load, 0) for host, load in before.items()}
        made = moves_found, unplaceable = plan(nodes, hosts, counts)
        found = placed(moves_found)
        self.assertEqual(
            sorted(node.uuid for node in nodes),
            sorted([*found, *unplaceable]),
        )
        for node in nodes:
            taker = found.get(node.uuid)
            self.assertEqual(node.shard, taker[0] if taker else None)
        got = collections.Counter(found.values())
        after = {host: before[host] + got[host] for host in ('a1', 'a2')}
        if got['a1'] and got['a2']:
            self.assertLessEqual(abs(after['a1'] - after['a2']), 1)
        self.assertEqual(made, plan(nodes[::-1], hosts, counts))


UUIDS = [world.uuid(number) for number in range(1, 31)]
MOVED, UNCHANGED = moves.NodeState.MOVED, moves.NodeState.UNCHANGED


class DrainServiceTest(move_case.MoveCase):
    """``in-a`` takes the 15 nodes of one shard, ``new`` only the others."""

    settings = world.runs(shard_key='b')

    def setUp(self) -> None:
        super().setUp()
        settings = world.runs(shard_key='a')
        self.records.register('in-a', settings)
        self.backend.join('in-a', 'one', settings)

    def drain(
        self, host: str = 'old', *, trial: int = 0, **more
    ) -> drain.DrainProposal:
        order = moves.Move('req-drain', '', 'operator', **more)
        return drain.propose(self.operation, host, order, trial=trial)

    def test_proposal_writes_nothing(self) -> None:
        before = self.everything()
        proposal = self.drain(' OLD')
        self.assertEqual(
            ['in-a', 'new'], [m.order.destination for m in proposal.moves]
        )
        planned = sum(len(move.planned) for move in proposal.moves)
        self.assertEqual((30, []), (planned, proposal.unplaceable))
        self.assertEqual(before, self.everything())

    def test_proposal_reads_every_node_once(self) -> None:
        self.drain()
        shards = [('scan', model.Scope(shard=shard)) for shard in 'ab']
        self.assertEqual(shards, self.ironic.calls)

    def test_moved_nodes_are_compared_with_one_list(self) -> None:
        proposal = self.drain()
        self.ironic.calls.clear()
        del self.ironic.nodes[world.uuid(1)], self.ironic.nodes[world.uuid(2)]
        for result, uuid in zip(
            self.operation.execute_all(proposal.moves), UUIDS[:2], strict=True
        ):
            (found,) = result.findings
            self.assertIn(f'{uuid}: Ironic does not have it', found)
        shards = [('scan', model.Scope(shard=shard)) for shard in 'ab']
        gone = [('get', uuid) for uuid in UUIDS[:2]]
        self.assertEqual([*shards, *gone], self.ironic.calls)

    def test_node_that_went_to_its_destination_by_itself_is_unchanged(
        self,
    ) -> None:
        proposal = self.drain()
        self.execute(self.propose(uuids=[world.uuid(2)]))
        results = self.operation.execute_all(proposal.moves)
        self.assertEqual([15, 14], [r.count(MOVED) for r in results])
        self.assertEqual([0, 1], [r.count(UNCHANGED) for r in results])

    def test_each_destination_has_a_move_of_its_own(self) -> None:
        reported = []
        results = self.operation.execute_all(
            self.drain(reason='new rack').moves,
            progress=lambda *now: reported.append(now),
        )
        self.assertEqual([15, 15], [r.count(MOVED) for r in results])
        self.assertEqual((30, 30), reported[-1])
        stored = self.moves.moves()
        self.assertEqual(2, len(stored))
        self.assertEqual(
            {'drain of old: new rack'}, {move.reason for move in stored}
        )

    def test_node_without_a_destination_is_skipped(self) -> None:
        self.ironic.put(world.node(1, shard='c'))
        del self.ironic.nodes[world.uuid(2)]
        proposal = self.drain()
        self.assertEqual(
            {
                world.uuid(1): 'destination_admits',
                world.uuid(2): 'node_exists',
            },
            {n.node.uuid: n.gates[0].gate for n in proposal.unplaceable},
        )
        results = self.operation.execute_all(proposal.moves)
        self.assertEqual([14, 14], [r.count(MOVED) for r in results])

    def test_stopped_drain_starts_no_further_move(self) -> None:
        answers = iter((False, True))
        results = self.operation.execute_all(
            self.drain().moves, stopping=lambda: next(answers)
        )
        self.assertEqual(1, len(results))
        self.assertEqual(1, len(self.moves.moves()))

    def test_failure_tells_how_to_move_the_rest(self) -> None:
        proposal = self.drain()
        broken = exceptions.RecordsUnavailableError('no answer')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=broken),
            self.assertRaises(exceptions.OwnershipError) as caught,
        ):
            self.operation.execute_all(proposal.moves)
        (stored,) = self.moves.moves()
        for text in (f'move resume {stored.request_id}', 'same drain again'):
            self.assertIn(text, str(caught.exception))
        self.execute(self.operation.propose_rest(stored, 'test'))
        self.operation.execute_all(self.drain().moves)
        owners = {r.host for r in self.records.compute_nodes()}
        self.assertNotIn('old', owners)
