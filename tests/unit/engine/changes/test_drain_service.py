"""The operation drain: propose, execute, stop, skip refused nodes."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.contracts import exceptions, model, moves
from ironic_ownership.contracts.events import Origin
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import drain
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

CALLER = Origin('operator', 'req-drain')
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

    def drain(self, host: str = 'old', **more) -> drain.DrainProposal:
        return drain.propose(self.operation, host, CALLER, **more)

    def test_proposal_writes_nothing(self) -> None:
        before = self.everything()
        proposal = self.drain(' OLD')
        self.assertEqual(
            ['in-a', 'new'], [m.order.destination for m in proposal.moves]
        )
        planned = sum(len(move.planned) for move in proposal.moves)
        self.assertEqual((30, False), (planned, proposal.refused))
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
        self.operation.execute(self.propose(uuids=[world.uuid(2)]))
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
        self.operation.execute(self.operation.propose_rest(stored, 'test'))
        self.operation.execute_all(self.drain().moves)
        owners = {r.host for r in self.records.compute_nodes()}
        self.assertNotIn('old', owners)
