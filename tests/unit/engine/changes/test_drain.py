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

UUIDS = list(map(world.uuid, move_case.NUMBERS))
MOVED, UNCHANGED = moves.NodeState.MOVED, moves.NodeState.UNCHANGED


def services(**settings: model.MemberSettings) -> PeerGroups:
    return world.assemble(
        [world.member(host, its) for host, its in settings.items()]
    )


def nodes(*numbers: int, deployed: bool = False) -> list[model.Node]:
    return [
        world.node(number, instance_uuid=f'i{number}' if deployed else None)
        for number in numbers
    ]


def plan(
    found: list[model.Node],
    peer_groups: PeerGroups,
    counts: dict[str | None, tuple[int, int]] | None = None,
) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
    return drain.plan('old', found, peer_groups, counts or {})


def placed(found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the new owner of each node."""
    return {uuid: host for host, uuids in found.items() for uuid in uuids}


class TestDrain(unittest.TestCase):
    def test_no_node_moves_to_a_service_that_is_stopped(self) -> None:
        (node,) = nodes(1)
        live = services(old=world.ALL, one=world.ALL)
        self.assertEqual(({'one': [node.uuid]}, []), plan([node], live))
        stopped = [
            world.assemble(
                [world.member('one')],
                [model.Service('one', settings=world.ALL, **{flag: True})],
            )
            for flag in ('disabled', 'forced_down')
        ]
        away = model.Service('one', settings=world.ALL, away=True)
        stopped.append(world.assemble([], [away]))
        for none in (services(old=world.ALL), *stopped):
            self.assertEqual(({}, [node.uuid]), plan([node], none))

    def test_free_node_goes_where_its_assigner_would_put_it(self) -> None:
        # Elsewhere it would not stay.
        free = nodes(*range(1, 21))
        two = services(one=world.RING, two=world.RING)
        disabled = world.assemble(
            [world.member(host, world.RING) for host in ('old', 'one', 'two')],
            [model.Service('old', settings=world.RING, disabled=True)],
        )
        wanted = {
            uuid: one.owner
            for uuid, one in decide.decide(free, {}, two).items()
        }
        self.assertEqual({'one', 'two'}, set(wanted.values()))
        for peer_groups in (two, disabled):
            found, _ = plan(free, peer_groups, {'one': (90, 0), 'two': (0, 0)})
            self.assertEqual(wanted, placed(found))

    def test_other_nodes_are_balanced(self) -> None:
        odd = world.runs(odd=None)
        for settings, some, loads, sizes in (
            # An assigner that needs all nodes is not asked.
            (odd, nodes(*range(1, 5)), (0, 0), (2, 2)),
            # Free nodes count before the others are balanced.
            (
                world.RING,
                [
                    *nodes(*range(9, 17), deployed=True),
                    *nodes(*range(1, 9)),
                ],
                (0, 0),
                (8, 8),
            ),
            # The service with fewer nodes gets more.
            (world.RING, nodes(1, 2, 3, 4, deployed=True), (2, 0), (1, 3)),
        ):
            counts = {
                host: (load, 0)
                for host, load in zip(('one', 'two'), loads, strict=True)
            }
            peers = services(one=settings, two=settings)
            found, _ = plan(some, peers, {**counts, 'old': (4, 0)})
            found_sizes = len(found['one']), len(found['two'])
            self.assertEqual(sizes, found_sizes)

    @hypothesis.given(
        st.lists(st.sampled_from(('a', 'b', None)), max_size=30),
        st.lists(st.integers(0, 9), min_size=3, max_size=3),
    )
    def test_every_node_is_placed_once_or_named(
        self, shards: list[str | None], loads: list[int]
    ) -> None:
        deployed = [
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
        made = moves_found, unplaceable = plan(deployed, hosts, counts)
        found = placed(moves_found)
        self.assertEqual(
            sorted(node.uuid for node in deployed),
            sorted([*found, *unplaceable]),
        )
        for node in deployed:
            taker = found.get(node.uuid)
            self.assertEqual(node.shard, taker[0] if taker else None)
        got = collections.Counter(found.values())
        after = {host: before[host] + got[host] for host in ('a1', 'a2')}
        if got['a1'] and got['a2']:
            self.assertLessEqual(abs(after['a1'] - after['a2']), 1)
        self.assertEqual(made, plan(deployed[::-1], hosts, counts))


class DrainServiceTest(move_case.MoveCase):
    """``in-a`` takes the 15 nodes of one shard, ``new`` only the others."""

    settings = world.runs(shard_key='b')

    def setUp(self) -> None:
        super().setUp()
        self.serve('in-a', world.runs(shard_key='a'))

    def drain(self, host: str = 'old', **more) -> drain.DrainProposal:
        order = moves.Move('req-drain', '', 'operator', **more)
        return drain.propose(self.operation, host, order)

    def test_proposal_reads_every_node_once_and_writes_nothing(self) -> None:
        before = self.everything()
        proposal = self.drain(' OLD')
        self.assertEqual(
            {'in-a': 15, 'new': 15},
            {m.order.destination: len(m.planned) for m in proposal.moves},
        )
        self.assertEqual([], proposal.unplaceable)
        self.assertEqual(before, self.everything())
        shards = [('scan', model.Scope(shard=shard)) for shard in 'ab']
        self.assertEqual(shards, self.ironic.calls)

    def test_each_destination_has_a_move_and_all_are_compared(self) -> None:
        reason = 'new rack' * 31
        proposal = self.drain(reason=reason)
        self.ironic.calls.clear()
        gone = UUIDS[:2]
        for uuid in gone:
            del self.ironic.nodes[uuid]
        reported: list[tuple[int, int]] = []
        results = self.operation.execute_all(
            proposal.moves, progress=lambda *now: reported.append(now)
        )
        self.assertEqual([15, 15], [r.count(MOVED) for r in results])
        self.assertEqual((30, 30), reported[-1])
        # As much of it as the records have room for.
        self.assertEqual(
            [f'drain of old: {reason}'[:255]] * 2,
            [move.reason for move in self.moves.moves()],
        )
        for result, uuid in zip(results, gone, strict=True):
            (found,) = result.findings
            self.assertIn(f'{uuid}: Ironic does not have it', found)
        # By one list of each shard.
        shards = [('scan', model.Scope(shard=shard)) for shard in 'ab']
        self.assertEqual(
            [*shards, *(('get', uuid) for uuid in gone)], self.ironic.calls
        )

    def test_node_that_has_moved_or_has_no_destination_is_skipped(
        self,
    ) -> None:
        self.ironic.put(world.node(1, shard='c'))
        del self.ironic.nodes[UUIDS[1]]
        proposal = self.drain()
        self.assertEqual(
            {UUIDS[0]: 'destination_admits', UUIDS[1]: 'node_exists'},
            {n.node.uuid: n.gates[0].gate for n in proposal.unplaceable},
        )
        self.execute(self.propose(uuids=[UUIDS[3]]))
        results = self.operation.execute_all(proposal.moves)
        self.assertEqual([14, 13], [r.count(MOVED) for r in results])
        self.assertEqual([0, 1], [r.count(UNCHANGED) for r in results])

    def test_order_whose_service_cannot_take_a_node_names_it(self) -> None:
        order = moves.Move('req-drain', '', 'operator', automatic=True)
        for to, placed in (('in-a', 5), ('gone', 0)):
            found = drain.propose(self.operation, 'old', order, to=to)
            self.assertEqual(placed, sum(len(m.nodes) for m in found.moves))
            self.assertEqual(10 - placed, len(found.unplaceable))
            self.assertEqual(
                f'destination_admits: {to}, which the order names, is not '
                'live and enabled, or does not admit it',
                found.unplaceable[0].node.detail,
            )

    def test_policy_of_another_service_fails(self) -> None:
        # It lacks its option.
        self.serve('bad', world.runs(picky=None))
        self.serve('worse', world.runs(no_peers=None))
        proposal = self.drain()
        self.assertEqual(
            {'in-a': 15, 'new': 15},
            {m.order.destination: len(m.planned) for m in proposal.moves},
        )

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
        for text in (f'move resume {stored.request_id}', 'same command again'):
            self.assertIn(text, str(caught.exception))
        self.resume()
        self.operation.execute_all(self.drain().moves)
        owners = {r.host for r in self.records.compute_nodes()}
        self.assertNotIn('old', owners)
