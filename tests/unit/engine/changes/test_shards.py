"""Shards: proposed, carried out in Ironic and the records, and resumed."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from unittest import mock

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.moves import (
    HandOver,
    Move,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.contracts.records import Claim
from ironic_ownership.contracts.refusals import UnfinishedMoveError
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import ports
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import shards
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.shards import Conditions
from tests.contract.suites import fake_bare_metal
from tests.unit.db import sqlite
from tests.unit.engine import world

ORDER = Move('req-plan', '', 'operator')


class ShardCase(sqlite.SqliteCase):
    """``a`` owns 30 nodes in shard s1; ``b`` and ``c`` have empty shards.

    Every fifth node has an instance.
    """

    def setUp(self) -> None:
        super().setUp()
        database = self.open_with_schema()
        self.records, self.moves = SqlRecords(database), SqlMoves(database)
        self.ironic = fake_bare_metal.FakeBareMetal(
            world.node(
                number,
                shard='s1',
                conductor_group=f'g{number % 2}',
                properties={'rack': f'r{number // 6}'},
                instance_uuid=None if number % 5 else f'i{number}',
            )
            for number in range(1, 31)
        )
        self.backend = memory.MemoryBackend(
            {}, member_ttl=3600, call_timeout=5, store=memory.MemoryStore()
        )
        self.epochs = {
            host: self.serve(host, shard)
            for host, shard in (('a', 's1'), ('b', 's2'), ('c', 's3'))
        }
        self.claim('a', *self.ironic.nodes.values())
        self.operation = MoveNodes(
            ports.Ports(
                self.records, self.ironic, self.backend, world.interpret
            ),
            self.moves,
            sharded=False,
            permission_lifetime=0.0,
        )

    def serve(self, host: str, shard: str) -> int:
        settings = world.runs(shard_key=shard)
        epoch = self.records.register(host, settings)
        backend = memory.MemoryBackend(
            {}, member_ttl=3600, call_timeout=5, store=self.backend._store
        )
        backend.join(host, host, settings)
        return epoch

    def claim(self, host: str, *nodes: model.Node) -> None:
        self.records.apply(
            host,
            self.epochs[host],
            [Claim(node, reasons.Reason.EXCLUSIVE) for node in nodes],
        )

    def propose(
        self, *, trial: int = 0, **conditions: object
    ) -> shards.ShardProposal:
        return shards.propose(
            self.operation,
            Conditions(**conditions),  # type: ignore[arg-type]
            ORDER,
            trial=trial,
        )

    def execute(self, proposal: Proposal) -> Proposal:
        (result,) = self.operation.execute_all([proposal])
        return result

    def apply(self, **conditions: object) -> list[Proposal]:
        return self.operation.execute_all(self.propose(**conditions).moves)

    def shards(self) -> dict[str | None, int]:
        return collections.Counter(n.shard for n in self.ironic.nodes.values())

    def owners(self) -> dict[str | None, int]:
        return collections.Counter(
            record.host for record in self.records.compute_nodes()
        )

    def assert_agrees(self) -> None:
        """Prove that the owner of each node is the service of its shard."""
        owner = {'s1': 'a', 's2': 'b', 's3': 'c'}
        for record in self.records.compute_nodes():
            node = self.ironic.nodes[record.uuid]
            self.assertEqual(owner[node.shard or ''], record.host)
            self.assertEqual(node.instance_uuid, record.instance_uuid)


class PlanTest(ShardCase):
    def test_proposal_writes_nothing(self) -> None:
        before = self.records.compute_nodes(), dict(self.ironic.nodes)
        found = self.propose()
        self.assertEqual(
            {'s1': 10, 's2': 10, 's3': 10}, dict(found.plan.after)
        )
        self.assertEqual((20, 20), (len(found.plan.moves), found.plan.needed))
        self.assertEqual(
            [('b', 's2'), ('c', 's3')],
            [(one.order.destination, one.order.shard) for one in found.moves],
        )
        self.assertEqual([], [n for one in found.moves for n in one.refused])
        now = self.records.compute_nodes(), dict(self.ironic.nodes)
        self.assertEqual(before, now)
        self.assertEqual([], list(self.moves.moves()))

    def test_nodes_with_an_instance_stay_unless_they_may_move(self) -> None:
        self.apply(weights={'a': 0})
        self.assertEqual({'s1': 6, 's2': 12, 's3': 12}, self.shards())
        self.assert_agrees()
        found = self.propose(weights={'A': 0}, deployed=True)
        self.assertEqual(6, len(found.plan.moves))
        refused = [n for one in found.moves for n in one.refused]
        self.assertEqual(6, len(refused))
        self.records.set_service('a', actor='test', forced_down=True)
        self.apply(weights={'a': 0}, deployed=True)
        self.assertEqual({'s2': 15, 's3': 15}, self.shards())
        self.assert_agrees()
        self.assertEqual([], list(self.moves.separated()))

    def test_racks_and_groups_stay_together(self) -> None:
        self.apply(together=['properties.rack'])
        racks = collections.defaultdict(set)
        for node in self.ironic.nodes.values():
            racks[node.properties['rack']].add(node.shard)
        # Their deployed nodes keep them where they are.
        self.assertEqual({('s1',)}, set(map(tuple, racks.values())))
        found = self.propose(spread=['conductor_group'])
        now = self.ironic.nodes
        counts = collections.Counter(
            (found.plan.moves.get(uuid, 's1'), node.conductor_group)
            for uuid, node in now.items()
        )
        self.assertEqual({5}, set(counts.values()))

    def test_other_deployments_and_unknown_fields_are_left_alone(self) -> None:
        self.ironic.put(world.node(31, shard='elsewhere'))
        self.ironic.put(world.node(32, shard=None), world.node(33, shard='s3'))
        self.records.register('stopped', world.ALL)
        self.epochs['stopped'] = self.records.register('stopped', world.ALL)
        self.claim('stopped', self.ironic.nodes[world.uuid(33)])
        found = self.propose()
        self.assertEqual({1}, set(found.left.values()))
        self.assertEqual(2, len(found.left))
        self.assertIn(world.uuid(32), found.plan.moves)
        with self.assertRaises(exceptions.NotFoundError):
            self.propose(weights={'d': 2})
        for name in ('colour', 'driver_info', 'driver_info.ipmi_password'):
            with self.assertRaises(exceptions.NotFoundError):
                _ = Conditions(spread=[name]).fields
        self.assertEqual(
            {'extra', 'owner'},
            Conditions(
                together=['extra.row', 'properties.rack'], spread=['owner']
            ).fields,
        )

    def test_second_plan_is_empty(self) -> None:
        self.apply()
        found = self.propose()
        self.assertEqual(({}, []), (found.plan.moves, list(found.moves)))


class ApplyTest(ShardCase):
    def test_shard_is_set_before_the_record_changes(self) -> None:
        seen = []
        carry_out = self.moves.carry_out

        def watched(request_id: str, nodes: object, **more: object) -> object:
            seen.append((self.shards()['s1'], self.owners()['a']))
            return carry_out(request_id, nodes, **more)  # type: ignore

        with mock.patch.object(SqlMoves, 'carry_out', side_effect=watched):
            self.apply()
        # Released by their live owner, they wait for the new one.
        self.assertEqual([(20, 20), (10, 10)], seen)
        self.assert_agrees()

    def test_labels_nodes_that_keep_their_owner(self) -> None:
        for node in list(self.ironic.nodes.values()):
            self.ironic.put(dataclasses.replace(node, shard=None))
        new = world.node(40, shard=None)
        self.ironic.put(new)
        results = self.apply(limit=1)
        self.assertEqual(31, sum(self.shards().values()))
        self.assertEqual(
            {'s1': 30}, {s: n for s, n in self.shards().items() if s == 's1'}
        )
        self.assertIn(self.ironic.nodes[new.uuid].shard, ('s2', 's3'))
        states = {n.node.state.value for one in results for n in one.nodes}
        self.assertEqual({'unchanged'}, states)
        self.assertEqual({'a': 30}, self.owners())

    def test_interrupted_between_batches_it_resumes(self) -> None:
        with mock.patch.object(move_nodes, 'BATCH', 3):
            asked: list[bool] = []

            def stopping() -> bool:
                asked.append(True)
                return len(asked) > 2

            found = self.propose()
            results = self.operation.execute_all(
                found.moves, stopping=stopping
            )
        self.assertEqual(1, len(results))
        self.assertTrue(results[0].planned)
        partly = self.shards()
        self.assertTrue(0 < partly['s2'] < 10, partly)
        self.assert_agrees()
        (stored,) = self.moves.moves(unfinished=True)
        self.assertEqual('s2', stored.shard)
        rest = self.operation.propose_rest(stored, 'other')
        self.execute(rest)
        self.assertEqual(10, self.shards()['s2'])
        self.assert_agrees()
        self.apply()
        self.assertEqual({'s1': 10, 's2': 10, 's3': 10}, self.shards())
        self.assert_agrees()

    def test_killed_between_ironic_and_the_records_it_resumes(self) -> None:
        found = self.propose()
        with (
            mock.patch.object(
                SqlMoves, 'carry_out', side_effect=KeyboardInterrupt
            ),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.operation.execute_all(found.moves)
        self.assertEqual(10, self.shards()['s2'])
        self.assertEqual(0, self.owners()['b'])
        (stored,) = self.moves.moves(unfinished=True)
        self.ironic.calls.clear()
        self.execute(self.operation.propose_rest(stored, 'other'))
        self.assertEqual(
            [], [one for one in self.ironic.calls if one[0] == 'set_shard']
        )
        self.assertEqual(10, self.owners()['b'])
        self.assert_agrees()

    def test_shards_that_were_set_by_hand_take_their_records_along(
        self,
    ) -> None:
        node = self.ironic.nodes[world.uuid(1)]
        self.ironic.put(dataclasses.replace(node, shard='s2'))
        self.apply()
        self.assert_agrees()

    def test_failing_ironic_stops_and_the_rest_resumes(self) -> None:
        found = self.propose()
        set_shard, calls = self.ironic.set_shard, []

        def failing(uuid: str, shard: str) -> str | None:
            calls.append(uuid)
            if len(calls) == 5:
                raise exceptions.IronicUnavailableError('503')
            return set_shard(uuid, shard)

        with (
            mock.patch.object(self.ironic, 'set_shard', failing),
            self.assertRaises(UnfinishedMoveError),
        ):
            self.operation.execute_all(found.moves)
        self.assertEqual({'a': 30}, self.owners())
        (stored,) = self.moves.moves(unfinished=True)
        self.execute(self.operation.propose_rest(stored, 'other'))
        self.apply()
        self.assertEqual({'s1': 10, 's2': 10, 's3': 10}, self.shards())
        self.assert_agrees()

    def test_node_that_is_refused_keeps_or_gets_back_its_shard(self) -> None:
        found = self.propose()
        busy, deployed = (n.uuid for n in found.moves[0].planned[:2])
        for uuid, more in (
            (busy, {'reservation': 'conductor-1'}),
            (deployed, {'instance_uuid': 'i99'}),
        ):
            self.ironic.put(
                dataclasses.replace(self.ironic.nodes[uuid], **more)
            )
        result, _ = self.operation.execute_all(found.moves)
        refused = {n.node.uuid: n.node.detail for n in result.refused}
        self.assertEqual({busy, deployed}, set(refused))
        for uuid in (busy, deployed):
            self.assertEqual('s1', self.ironic.nodes[uuid].shard)
        self.assertEqual(8, self.shards()['s2'])


class TrialTest(ShardCase):
    """``b`` and ``c`` refresh at each pause, unless they are frozen."""

    def setUp(self) -> None:
        super().setUp()
        self.refreshing = {'b', 'c'}
        self.seen: list[tuple[dict[str | None, int], ...]] = []
        self.operation = dataclasses.replace(self.operation, pause=self.pause)

    def pause(self, seconds: float) -> None:
        self.seen.append((self.shards(), self.owners()))
        for host in self.refreshing:
            done = Condition(Loop.REFRESH.value, 60.0, took=1.0)
            self.records.report_conditions(
                host, 'one', [done], interval=10.0, at=0.0
            )

    def try_first(self, number: int, **conditions: object) -> list[Proposal]:
        return self.operation.execute_all(
            self.propose(trial=number, **conditions).moves
        )

    def assert_back(self) -> None:
        self.assertEqual({'s1': 30}, self.shards())
        self.assertEqual({'a': 30}, self.owners())
        self.assert_agrees()
        self.assertEqual([], list(self.moves.moves(unfinished=True)))

    def test_others_follow_the_nodes_of_all_trials(self) -> None:
        results = self.try_first(3)
        # At each release: of the trials, and then of the others.
        self.assertEqual(
            [27, 24, 17, 10], [shards['s1'] for shards, _ in self.seen]
        )
        self.assertEqual({'s1': 10, 's2': 10, 's3': 10}, self.shards())
        self.assertEqual([[], []], [list(one.findings) for one in results])
        self.assert_agrees()

    def test_one_that_fails_gives_all_shards_and_nodes_back(self) -> None:
        for deployed in (False, True):
            # Nodes with an instance move only from a service that is down.
            self.records.set_service('a', actor='x', forced_down=deployed)
            self.refreshing = {'b'}
            results = self.try_first(3, deployed=deployed)
            self.assert_back()
            for result in results:
                self.assertEqual(10, result.count(NodeState.REFUSED))
                self.assertIn('trial failed', str(result.findings))

    def test_interrupted_at_any_step_back_it_goes_on(self) -> None:
        for kind, name in (
            (type(self.ironic), 'set_shard'),
            (SqlMoves, 'release'),
            (SqlMoves, 'carry_out'),
            (SqlMoves, 'refuse'),
        ):
            self.refreshing = set()
            real, asked = getattr(kind, name), []

            def dies(
                *args: object,
                name: str = name,
                asked: list[object] = asked,
                real: Callable[..., object] = real,
                **more: object,
            ) -> object:
                (stored, *_) = [*self.moves.moves(unfinished=True), None]
                parts = {
                    node.trial
                    for node in (
                        self.moves.nodes(stored.request_id) if stored else ()
                    )
                }
                if Trial.BACK in parts:
                    asked.append(name)
                    if len(asked) == 2:
                        raise KeyboardInterrupt
                return real(*args, **more)

            with (
                self.subTest(name),
                mock.patch.object(kind, name, dies),
                self.assertRaises(KeyboardInterrupt),
            ):
                self.try_first(3)
            self.resume()
            self.assert_back()

    def test_two_processes_give_the_same_nodes_back(self) -> None:
        self.refreshing = set()
        real, before = SqlMoves.release, [self.stop, self.resume]

        def release(
            moves: SqlMoves, nodes: Sequence[NodeMove], hand_over: HandOver
        ) -> Mapping[str, str]:
            if hand_over.deployed and before:
                before.pop(0)()
            return real(moves, nodes, hand_over)

        with mock.patch.object(SqlMoves, 'release', release):
            with self.assertRaises(KeyboardInterrupt):
                self.try_first(3)
            # Another one gives all of them back before this one does.
            self.resume()
        self.assertEqual([], before)
        self.assert_back()

    def stop(self) -> None:
        raise KeyboardInterrupt

    def resume(self) -> None:
        """Propose the rest of all moves, then carry it out."""
        moves = self.moves.moves(unfinished=True)
        for rest in [self.operation.propose_rest(m, 'other') for m in moves]:
            self.execute(rest)

    def test_failure_on_the_way_back_names_the_move_to_resume(self) -> None:
        self.refreshing = set()
        found = self.propose(trial=2)
        last = found.moves[-1].order.request_id
        release = SqlMoves.release

        def failing(
            moves: SqlMoves, nodes: Sequence[NodeMove], hand_over: HandOver
        ) -> Mapping[str, str]:
            if hand_over.deployed and hand_over.request_id == last:
                raise exceptions.RecordsUnavailableError('down')
            return release(moves, nodes, hand_over)

        with (
            mock.patch.object(SqlMoves, 'release', failing),
            self.assertRaises(UnfinishedMoveError) as caught,
        ):
            self.operation.execute_all(found.moves)
        self.assertIn(f'move resume {last}"', caught.exception.hint)
        self.assertIn('move list --unfinished', caught.exception.hint)
        (left,) = self.moves.moves(unfinished=True)
        self.assertEqual(last, left.request_id)
        self.execute(self.operation.propose_rest(left, 'other'))
        self.assert_back()

    def test_busy_node_stays_with_the_shard_of_its_owner(self) -> None:
        self.refreshing = set()
        found = self.propose(trial=2)
        busy, taken = (node.uuid for node in found.moves[0].trial)
        release = SqlMoves.release

        def late(
            moves: SqlMoves, nodes: Sequence[NodeMove], hand_over: HandOver
        ) -> Mapping[str, str]:
            refused = release(moves, nodes, hand_over)
            if hand_over.deployed and taken in {n.uuid for n in nodes}:
                moves.end_release(hand_over.request_id, [taken])
                self.epochs['b'] = self.records.register(
                    'b', world.runs(shard_key='s2')
                )
                self.claim('b', self.ironic.nodes[taken])
                return {**refused, taken: 'it was taken'}
            return refused

        def reserve(seconds: float) -> None:
            node = self.ironic.nodes[busy]
            if self.owners()['b'] == 2:
                self.ironic.put(
                    dataclasses.replace(node, reservation='conductor-1')
                )

        self.operation = dataclasses.replace(self.operation, pause=reserve)
        with mock.patch.object(SqlMoves, 'release', late):
            self.operation.execute_all(found.moves)
        self.assertEqual({'s1': 28, 's2': 2}, +self.shards())
        self.assertEqual({'a': 28, 'b': 2}, +self.owners())
        self.assert_agrees()

    def test_nodes_that_keep_their_owner_are_in_no_trial(self) -> None:
        for node in list(self.ironic.nodes.values()):
            self.ironic.put(dataclasses.replace(node, shard=None))
        self.ironic.put(world.node(40, shard=None))
        found = self.propose(trial=2)
        self.assertEqual(
            {'s1': 0, 's2': 2, 's3': 2},
            {one.order.shard: len(one.trial) for one in found.moves},
        )
        self.assertEqual(
            {'a'}, {n.source for one in found.moves for n in one.trial}
        )
        self.operation.execute_all(found.moves)
        self.assertEqual([], list(self.moves.moves(unfinished=True)))
        self.assertEqual(31, sum(self.shards().values()))
        self.assertNotIn(None, self.shards())
