"""Shards: proposed, carried out in Ironic and the records, and resumed."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import (
    HandOver,
    Move,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.contracts.refusals import UnfinishedMoveError
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import shards
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.shards import Conditions
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

ORDER = Move('req-plan', '', 'operator')
OWNERS = {'s1': 'a', 's2': 'b', 's3': 'c'}
EVEN = dict.fromkeys(OWNERS, 10)
RELEASE = SqlMoves.release


class ShardCase(move_case.ChangeCase):
    """``a`` owns 30 nodes in shard s1; ``b`` and ``c`` have empty shards.

    Every fifth node has an instance.
    """

    def setUp(self) -> None:
        super().setUp()
        self.epochs = {
            host: self.serve(host, world.runs(shard_key=shard))
            for shard, host in OWNERS.items()
        }
        self.claim('a', self.epochs['a'], *self.ironic.nodes.values())

    def node(self, number: int) -> model.Node:
        return world.node(
            number,
            shard='s1',
            conductor_group=f'g{number % 2}',
            properties={'rack': f'r{number // 6}'},
            instance_uuid=None if number % 5 else f'i{number}',
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

    def apply(self, **conditions: object) -> list[Proposal]:
        return self.operation.execute_all(self.propose(**conditions).moves)

    def unlabel(self) -> None:
        """Take the shards of all nodes away, and add an unowned node."""
        for uuid in list(self.ironic.nodes):
            self.change(uuid, shard=None)
        self.ironic.put(world.node(40, shard=None))

    def shards(self) -> dict[str | None, int]:
        return collections.Counter(n.shard for n in self.ironic.nodes.values())

    def owners(self) -> dict[str | None, int]:
        return collections.Counter(
            record.host for record in self.records.compute_nodes()
        )

    def assert_agrees(self, shards: dict[str, int] | None = None) -> None:
        """Prove that the owner of each node is the service of its shard."""
        for record in self.records.compute_nodes():
            node = self.ironic.nodes[record.uuid]
            self.assertEqual(OWNERS[node.shard or ''], record.host)
            self.assertEqual(node.instance_uuid, record.instance_uuid)
        if shards is not None:
            self.assertEqual(shards, self.shards())


class PlanTest(ShardCase):
    def test_proposal_writes_nothing(self) -> None:
        before = self.records.compute_nodes(), dict(self.ironic.nodes)
        found = self.propose()
        self.assertEqual(EVEN, dict(found.plan.after))
        self.assertEqual((20, 20), (len(found.plan.moves), found.plan.needed))
        self.assertEqual(
            [('b', 's2'), ('c', 's3')],
            [(one.order.destination, one.order.shard) for one in found.moves],
        )
        self.assertEqual([], [n for one in found.moves for n in one.refused])
        now = self.records.compute_nodes(), dict(self.ironic.nodes)
        self.assertEqual(before, now)
        self.assertEqual([], list(self.moves.moves()))

    def test_policies_of_other_services_that_fail_stop_no_plan(self) -> None:
        self.serve('bad', world.runs(picky=None))
        for name in ('fails', 'no_peers'):
            self.serve(name, world.runs(**{name: None}))
            self.serve(f'{name}9', world.runs(shard_key='s9', **{name: None}))
        found = self.propose()
        self.assertEqual(EVEN, {name: found.plan.after[name] for name in EVEN})
        self.assertEqual([], [n for one in found.moves for n in one.refused])

    def test_nodes_with_an_instance_stay_unless_they_may_move(self) -> None:
        self.apply(weights={'a': 0})
        self.assert_agrees({'s1': 6, 's2': 12, 's3': 12})
        found = self.propose(weights={'A': 0}, deployed=True)
        self.assertEqual(6, len(found.plan.moves))
        refused = [n for one in found.moves for n in one.refused]
        self.assertEqual(6, len(refused))
        self.records.set_service('a', actor='test', forced_down=True)
        self.apply(weights={'a': 0}, deployed=True)
        self.assert_agrees({'s2': 15, 's3': 15})
        self.assertEqual([], list(self.moves.separated()))

    def test_service_that_is_away_gets_nodes_only_if_it_is_named(self) -> None:
        ring = world.runs(shard_key='s2', peer_list=())
        self.serve('b', ring)
        for host, settings in (
            ('b-away', ring),
            ('a-away', world.runs(shard_key='s2')),
            ('d', world.runs(shard_key='s4')),
        ):
            epoch = self.records.register(host, settings)
            self.records.retire(host, epoch, grace=600)
        for weights, takers in (
            ({}, ['b', 'c']),
            # Their shard has one that lives.
            ({'b-away': 1, 'a-away': 1}, ['b', 'c']),
            ({'d': 1}, ['b', 'c', 'd']),
        ):
            moves = self.propose(weights=weights).moves
            self.assertEqual(
                takers, sorted(one.order.destination for one in moves)
            )

    def test_racks_and_groups_stay_together(self) -> None:
        # Their deployed nodes keep the racks where they are.
        found = self.propose(together=['properties.rack'])
        self.assertEqual({}, found.plan.moves)
        found = self.propose(spread=['conductor_group'])
        counts = collections.Counter(
            (found.plan.moves.get(uuid, 's1'), node.conductor_group)
            for uuid, node in self.ironic.nodes.items()
        )
        self.assertEqual({5}, set(counts.values()))

    def test_nodes_without_a_shard_are_counted_where_a_shard_is_set(
        self,
    ) -> None:
        self.operation = dataclasses.replace(
            self.operation, sharded=lambda: True
        )
        for counts in ([], [1]):
            self.assertEqual(counts, [*self.propose().left.values()])
            self.ironic.put(world.node(34, shard=None))

    def test_other_deployments_and_unknown_fields_are_left_alone(self) -> None:
        self.ironic.put(world.node(31, shard='elsewhere'))
        self.ironic.put(world.node(34, shard=None, instance_uuid='i34'))
        self.ironic.put(world.node(32, shard=None), world.node(33, shard='s3'))
        epoch = self.records.register('stopped', world.ALL)
        self.claim('stopped', epoch, self.ironic.nodes[world.uuid(33)])
        found = self.propose()
        self.assertEqual([1, 1, 1], [*found.left.values()])
        self.assertIn(world.uuid(32), found.plan.moves)
        for host, text in (('d', 'not known'), ('stopped', 'no shard')):
            with self.assertRaisesRegex(exceptions.NotFoundError, text):
                self.propose(weights={'a': 2, host: 2})
        for name in ('colour', 'driver_info', 'driver_info.ipmi_password'):
            with self.assertRaises(exceptions.NotFoundError):
                _ = Conditions(spread=[name]).fields
        wanted = Conditions(
            together=['extra.row', 'properties.rack'], spread=['owner']
        )
        self.assertEqual({'extra', 'owner'}, wanted.fields)


class ApplyTest(ShardCase):
    def test_shard_is_set_before_the_record_changes(self) -> None:
        # Its shard was set by hand, and takes its record along.
        self.change(world.uuid(1), shard='s2')
        seen = []
        carry_out = self.moves.carry_out

        def watched(request_id: str, nodes: object, **more: object) -> object:
            seen.append((self.shards()['s1'], self.owners()['a']))
            return carry_out(request_id, nodes, **more)  # type: ignore

        with mock.patch.object(SqlMoves, 'carry_out', side_effect=watched):
            self.apply()
        # Released by their live owner, they wait for the new one.
        self.assertEqual([(20, 20), (10, 10)], seen)
        self.assert_agrees(EVEN)
        # A second plan is empty.
        found = self.propose()
        self.assertEqual(({}, []), (found.plan.moves, list(found.moves)))

    def test_labels_nodes_that_keep_their_owner(self) -> None:
        self.unlabel()
        results = self.apply(limit=1)
        shard = self.ironic.nodes[world.uuid(40)].shard
        self.assertIn(shard, ('s2', 's3'))
        self.assertEqual({'s1': 30, shard: 1}, self.shards())
        states = {n.node.state.value for one in results for n in one.nodes}
        self.assertEqual({'unchanged'}, states)
        self.assertEqual({'a': 30}, self.owners())

    def test_interrupted_between_batches_it_resumes(self) -> None:
        calls = iter((False, False, True))
        with mock.patch.object(move_nodes, 'BATCH', 3):
            results = self.operation.execute_all(
                self.propose().moves, stopping=lambda: next(calls, True)
            )
        self.assertEqual(1, len(results))
        self.assertTrue(results[0].planned)
        partly = self.shards()
        self.assertTrue(0 < partly['s2'] < 10, partly)
        self.assert_agrees()
        (stored,) = self.unfinished()
        self.assertEqual('s2', stored.shard)
        self.resume()
        self.assert_agrees({'s1': 20, 's2': 10})

    def test_killed_between_ironic_and_the_records_it_resumes(self) -> None:
        found = self.propose()
        with (
            mock.patch.object(
                SqlMoves, 'carry_out', side_effect=KeyboardInterrupt
            ),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.operation.execute_all(found.moves)
        self.assertEqual((10, 0), (self.shards()['s2'], self.owners()['b']))
        self.ironic.calls.clear()
        self.resume()
        self.assertNotIn('set_shard', [name for name, _ in self.ironic.calls])
        self.assert_agrees({'s1': 20, 's2': 10})

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
        self.resume()
        self.apply()
        self.assert_agrees(EVEN)

    def test_node_that_is_refused_keeps_or_gets_back_its_shard(self) -> None:
        found = self.propose()
        busy, deployed = (n.uuid for n in found.moves[0].planned[:2])
        self.change(busy, reservation='conductor-1')
        self.change(deployed, instance_uuid='i99')
        result, _ = self.operation.execute_all(found.moves)
        self.assertEqual(
            {busy, deployed}, {n.node.uuid for n in result.refused}
        )
        self.assertEqual({'s1': 12, 's2': 8, 's3': 10}, self.shards())


class TrialTest(ShardCase):
    """``b`` and ``c`` refresh at each pause, unless they are frozen."""

    def setUp(self) -> None:
        super().setUp()
        self.refreshing = {'b', 'c'}
        self.seen: list[int] = []
        self.operation = dataclasses.replace(self.operation, pause=self.pause)

    def pause(self, seconds: float) -> None:
        self.seen.append(self.shards()['s1'])
        for host in self.refreshing:
            self.refreshes(host)

    def try_first(self, number: int, **conditions: object) -> list[Proposal]:
        return self.operation.execute_all(
            self.propose(trial=number, **conditions).moves
        )

    def assert_back(self) -> None:
        self.assert_agrees({'s1': 30})
        self.assertEqual({'a': 30}, self.owners())
        self.assertEqual([], list(self.unfinished()))

    def test_others_follow_the_nodes_of_all_trials(self) -> None:
        results = self.try_first(3)
        # At each release: of the trials, and then of the others.
        self.assertEqual([27, 24, 17, 10], self.seen)
        self.assert_agrees(EVEN)
        self.assertEqual([[], []], [list(one.findings) for one in results])

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
        self.refreshing = set()
        for kind, name in (
            (type(self.ironic), 'set_shard'),
            *((SqlMoves, name) for name in ('release', 'carry_out', 'refuse')),
        ):
            with (
                self.subTest(name),
                mock.patch.object(kind, name, self.dying(kind, name)),
                self.assertRaises(KeyboardInterrupt),
            ):
                self.try_first(3)
            self.resume()
            self.assert_back()

    def dying(self, kind: type, name: str) -> Callable[..., object]:
        """Return a method that ends the process at the second way back."""
        real, asked = getattr(kind, name), []

        def dies(*args: object, **more: object) -> object:
            (stored, *_) = [*self.unfinished(), None]
            nodes = self.moves.nodes(stored.request_id) if stored else ()
            if Trial.BACK in {node.trial for node in nodes}:
                asked.append(name)
                if len(asked) == 2:
                    raise KeyboardInterrupt
            return real(*args, **more)

        return dies

    def test_two_processes_give_the_same_nodes_back(self) -> None:
        self.refreshing = set()
        before = [self.stop, self.resume]

        def release(
            moves: SqlMoves, nodes: Sequence[NodeMove], hand_over: HandOver
        ) -> Mapping[str, str]:
            if hand_over.deployed and before:
                before.pop(0)()
            return RELEASE(moves, nodes, hand_over)

        with mock.patch.object(SqlMoves, 'release', release):
            with self.assertRaises(KeyboardInterrupt):
                self.try_first(3)
            # Another one gives all of them back before this one does.
            self.resume()
        self.assertEqual([], before)
        self.assert_back()

    def stop(self) -> None:
        raise KeyboardInterrupt

    def test_failure_on_the_way_back_names_the_move_to_resume(self) -> None:
        self.refreshing = set()
        found = self.propose(trial=2)
        last = found.moves[-1].order.request_id

        def failing(
            moves: SqlMoves, nodes: Sequence[NodeMove], hand_over: HandOver
        ) -> Mapping[str, str]:
            if hand_over.deployed and hand_over.request_id == last:
                raise exceptions.RecordsUnavailableError('down')
            return RELEASE(moves, nodes, hand_over)

        with (
            mock.patch.object(SqlMoves, 'release', failing),
            self.assertRaises(UnfinishedMoveError) as caught,
        ):
            self.operation.execute_all(found.moves)
        self.assertIn(f'move resume {last}"', caught.exception.hint)
        self.assertIn('move list --unfinished', caught.exception.hint)
        (left,) = self.unfinished()
        self.assertEqual(last, left.request_id)
        self.resume()
        self.assert_back()

    def test_busy_node_stays_with_the_shard_of_its_owner(self) -> None:
        self.refreshing = set()
        found = self.propose(trial=2)
        busy, taken = (node.uuid for node in found.moves[0].trial)

        def late(
            moves: SqlMoves, nodes: Sequence[NodeMove], hand_over: HandOver
        ) -> Mapping[str, str]:
            refused = RELEASE(moves, nodes, hand_over)
            if hand_over.deployed and taken in {n.uuid for n in nodes}:
                moves.end_release(hand_over.request_id, [taken])
                epoch = self.records.register('b', world.runs(shard_key='s2'))
                self.claim('b', epoch, self.ironic.nodes[taken])
                return {**refused, taken: 'it was taken'}
            return refused

        def reserve(seconds: float) -> None:
            if self.owners()['b'] == 2:
                self.change(busy, reservation='conductor-1')

        self.operation = dataclasses.replace(self.operation, pause=reserve)
        with mock.patch.object(SqlMoves, 'release', late):
            self.operation.execute_all(found.moves)
        self.assert_agrees({'s1': 28, 's2': 2})

    def test_nodes_that_keep_their_owner_are_in_no_trial(self) -> None:
        self.unlabel()
        found = self.propose(trial=2)
        self.assertEqual(
            {'s1': 0, 's2': 2, 's3': 2},
            {one.order.shard: len(one.trial) for one in found.moves},
        )
        self.assertEqual(
            {'a'}, {n.source for one in found.moves for n in one.trial}
        )
        self.operation.execute_all(found.moves)
        self.assertEqual([], list(self.unfinished()))
        self.assertEqual(31, sum(self.shards().values()))
        self.assertNotIn(None, self.shards())
