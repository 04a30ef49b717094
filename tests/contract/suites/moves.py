"""The suite that every implementation of the moves passes."""

from __future__ import annotations

import dataclasses
import uuid as uuid_
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, moves
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid

PLANNED, MOVED = moves.NodeState.PLANNED, moves.NodeState.MOVED
UNCHANGED, REFUSED = moves.NodeState.UNCHANGED, moves.NodeState.REFUSED


class MoveCase(RecordsContract):
    """``host1``, dead and disabled, owns four nodes, two with an instance."""

    def set_service(self, host: str, **values: Any) -> None:
        """Let an operator disable a service or force it down."""
        self.records.set_service(host, actor='operator', **values)

    def setUp(self) -> None:
        super().setUp()
        self.moves = self.make_moves()
        self.epoch = self.register('host1')
        for host in ('host2', 'host3'):
            self.register(host)
        self.instances = {1: str(uuid_.uuid4()), 2: str(uuid_.uuid4())}
        self.applied(
            'host1',
            *(
                claim(n, instance_uuid=self.instances.get(n))
                for n in range(1, 5)
            ),
        )
        self.set_service('host1', disabled=True)

    def seen(self, number: int, **changed: Any) -> moves.NodeMove:
        """Return what a gate sees of a node now."""
        found = self.record(number)
        epoch = self.service(found.host).epoch if found.host else None
        return dataclasses.replace(
            moves.NodeMove(found.uuid, found.host, epoch, found.instance_uuid),
            **changed,
        )

    def planned(
        self,
        *nodes: moves.NodeMove,
        to: str = 'host2',
        overrides: tuple[str, ...] = (),
    ) -> str:
        """Store a plan and return its request id."""
        request_id = f'req-{uuid_.uuid4()}'
        self.moves.plan(
            moves.Move(request_id, to, 'operator', 'because', overrides),
            nodes,
        )
        return request_id

    def move(
        self, *nodes: moves.NodeMove, **options: Any
    ) -> list[moves.NodeState]:
        """Plan and carry out; check that the stored results are the same."""
        request_id = self.planned(*nodes, **options)
        results = list(self.moves.carry_out(request_id, nodes))
        self.assertEqual(results, list(self.moves.nodes(request_id)))
        self.assertEqual([], list(self.moves.separated()))
        return [result.state for result in results]

    def assert_refused_node(
        self, node: moves.NodeMove, code: str, **options: Any
    ) -> None:
        """Move a node that has to stay, for the reason of this code.

        :param code: or the whole reason.
        """
        before = self.state()
        request_id = self.planned(node, **options)
        (result,) = self.moves.carry_out(request_id, [node])
        self.assertEqual(REFUSED, result.state)
        self.assertRegex(str(result.detail), f'^{code}(: |$)')
        self.assertEqual([result], list(self.moves.nodes(request_id)))
        self.assertEqual(before, self.state())

    def stored_move(self, request_id: str) -> moves.Move:
        """Return a move on record."""
        found = self.moves.find(request_id)
        assert found is not None
        return found

    def ids(self, **chosen: Any) -> list[str]:
        """Return the requests of the listed moves."""
        return [move.request_id for move in self.moves.moves(**chosen)]


class MoveContract(MoveCase):
    """Nodes of a service that is dead or disabled."""

    def test_without_nodes_no_transaction_begins(self) -> None:
        begun: list[sa.Connection] = []
        engine = self.moves._database.engine
        sa.event.listen(engine, 'begin', begun.append)
        self.assertEqual((), self.moves.carry_out('req-1', ()))
        hand_over = moves.HandOver('req-1', 'operator')
        self.assertEqual({}, self.moves.release((), hand_over))
        self.assertEqual([], begun)

    def test_plan_is_stored_in_its_order_and_moves_nothing(self) -> None:
        nodes = [
            self.seen(3),
            self.seen(1, state=UNCHANGED),
            self.seen(2, state=REFUSED, detail='source_stopped: no'),
        ]
        before = self.state()
        request_id = self.planned(*nodes, overrides=('a', 'b'))
        self.assertEqual(before, self.state())
        self.assertEqual(nodes, list(self.moves.nodes(request_id)))
        self.assertEqual(
            nodes[:1], list(self.moves.nodes(request_id, state=PLANNED))
        )
        move = self.stored_move(request_id)
        self.assert_has(
            move,
            destination='host2',
            actor='operator',
            reason='because',
            overrides=('a', 'b'),
            counts={PLANNED: 1, UNCHANGED: 1, REFUSED: 1},
            state=moves.MoveState.UNFINISHED,
        )
        self.assertIsNotNone(move.created_at)
        # One without a reason, of a node without an owner.
        unowned = [moves.NodeMove(uuid(9), None)]
        self.moves.plan(moves.Move('req-1', 'host2', 'operator'), unowned)
        self.assert_has(self.stored_move('req-1'), reason=None, overrides=())

    def test_node_and_instance_move_together(self) -> None:
        before = self.record(1)
        nodes = [self.seen(1), self.seen(3)]
        request_id = self.planned(*nodes)
        self.moves.carry_out(request_id, nodes)
        self.assertEqual(
            ['host2', 'host1', 'host2', 'host1'],
            [self.owner(n) for n in range(1, 5)],
        )
        after = self.record(1)
        self.assertEqual('moved', after.reason.value)
        unchanged = {
            name: getattr(before, name)
            for name in ('host', 'reason', 'updated_at')
        }
        self.assertEqual(before, dataclasses.replace(after, **unchanged))
        for number in (1, 3):
            self.assert_event(
                number,
                kind='node_moved',
                actor='operator',
                from_host='host1',
                to_host='host2',
                instance_uuid=self.instances.get(number),
                request_id=request_id,
                reason='because',
            )
        self.assertEqual(2, len(self.events('node_moved')))

    def test_source_can_write_nothing_after_the_move(self) -> None:
        self.move(self.seen(1))
        self.assertTrue(self.service('host1').fenced)
        self.assert_fenced('host1', self.epoch, self.epoch + 1)
        self.register('host1')
        self.refused('host1', Update(node(1)))
        self.refused('host1', Release(uuid(1)))
        self.applied('host1', Update(node(3)))

    def test_move_in_batches_is_done_after_the_last(self) -> None:
        # The first batch raises the epoch that the second one has seen.
        nodes = [self.seen(1), self.seen(2)]
        request_id = self.planned(*nodes)
        first = self.moves.carry_out(request_id, nodes[:1])
        self.assertEqual([request_id], self.ids(unfinished=True))
        before = self.state()
        self.assertEqual(first, self.moves.carry_out(request_id, nodes[:1]))
        self.assertEqual(before, self.state())
        self.moves.carry_out(request_id, nodes[1:])
        self.assertEqual([], self.ids(unfinished=True))
        self.assert_has(
            self.stored_move(request_id),
            state=moves.MoveState.DONE,
            counts={MOVED: 2},
        )
        self.assertEqual(self.epoch + 1, self.service('host1').epoch)
        self.assertEqual(1, len(self.events('service_fenced')))

    def test_node_that_another_move_took_stays_there(self) -> None:
        node = self.seen(1)
        self.move(node)
        other = 'owner_changed: its owner is host2, and no longer host1'
        self.assert_refused_node(node, other, to='host3')
        before = self.state()
        self.assertEqual([UNCHANGED], self.move(node))
        self.assertEqual(before, self.state())

    def test_node_that_is_not_as_it_was_seen_is_refused(self) -> None:
        other = str(uuid_.uuid4())
        self.applied('host1', Delete(uuid(4)))
        changed = 'instance_changed: its instance is'
        for seen, code in (
            (
                self.seen(1, instance_uuid=None),
                f'{changed} {self.instances[1]}, and no longer none',
            ),
            (self.seen(1, instance_uuid=other), 'instance_changed'),
            (
                self.seen(3, instance_uuid=other),
                f'{changed} none, and no longer {other}',
            ),
            (
                self.seen(3, source=None),
                'owner_changed: its owner is host1, and no longer no service',
            ),
            (moves.NodeMove(uuid(9), 'host1'), 'record_exists'),
            # The row of a deleted one stays, without an owner.
            (moves.NodeMove(uuid(4), None), 'record_exists'),
        ):
            with self.subTest(seen=seen):
                self.assert_refused_node(seen, code)
        nodes = self.seen(1, instance_uuid=None), self.seen(2), self.seen(3)
        self.assertEqual([REFUSED, MOVED, MOVED], self.move(*nodes))

    def test_source_that_is_not_stopped_any_more_keeps_its_nodes(
        self,
    ) -> None:
        node = self.seen(1)
        self.set_service('host1', disabled=False)
        self.assert_refused_node(node, 'source_stopped')
        self.set_service('host1', disabled=True)
        self.register('host1')
        self.assert_refused_node(node, 'source_stopped')

    def test_source_that_lost_its_row_is_stopped_until_it_registers(
        self,
    ) -> None:
        nodes = [self.seen(1), self.seen(2)]
        self.lose_service('host1')
        self.assertEqual([MOVED], self.move(nodes[0]))
        self.assertEqual(
            {'host2', 'host3'}, {s.host for s in self.records.services()}
        )
        self.register('host1')
        self.assert_refused_node(nodes[1], 'source_stopped')

    def test_destination_that_closed_meanwhile_gets_nothing(self) -> None:
        override = {'overrides': ('destination_enabled',)}
        missing = {'to': 'host9', **override}
        self.assert_refused_node(self.seen(1), 'destination_exists', **missing)
        for values in ({'forced_down': True}, {'disabled': True}):
            self.set_service('host2', disabled=False, forced_down=False)
            self.set_service('host2', **values)
            self.assert_refused_node(self.seen(1), 'destination_enabled')
        self.assertEqual([MOVED], self.move(self.seen(1), **override))

    def test_more_gates_of_a_stored_move_can_be_overridden(self) -> None:
        request_id = self.planned(self.seen(1), overrides=('node_exists',))
        self.moves.override(request_id, ['destination_enabled'], 'CHG-42')
        self.set_service('host2', disabled=True)
        (result,) = self.moves.carry_out(request_id, [self.seen(1)])
        self.assertEqual(MOVED, result.state)
        self.assert_has(
            self.stored_move(request_id),
            overrides=('destination_enabled', 'node_exists'),
            reason='CHG-42',
        )

    def test_unowned_node_can_be_moved(self) -> None:
        self.register('host1')
        self.applied('host1', Release(uuid(3)))
        self.assertEqual([MOVED], self.move(self.seen(3)))
        self.assertEqual('host2', self.owner(3))
        self.assertFalse(self.service('host1').fenced)

    def test_planned_node_can_be_given_up(self) -> None:
        request_id = self.planned(self.seen(1), self.seen(2))
        self.moves.carry_out(request_id, [self.seen(2)])
        self.moves.refuse(request_id, {uuid(n): 'no more' for n in (1, 2)})
        states = [n.state for n in self.moves.nodes(request_id)]
        self.assertEqual([REFUSED, MOVED], states)
        (result,) = self.moves.carry_out(request_id, [self.seen(1)])
        self.assertEqual('no more', result.detail)
        self.assertEqual('host1', self.owner(1))

    def test_moves_are_listed_newest_first(self) -> None:
        ids = [self.planned(self.seen(n)) for n in (1, 2, 3)]
        self.assertEqual(ids[::-1], self.ids())
        self.assertEqual(ids[:0:-1], self.ids(limit=2))
        for unfinished in (False, True):
            found = self.ids(unfinished=unfinished, marker=ids[2])
            self.assertEqual(ids[1::-1], found)

    def test_unknown_move_and_node_are_left_alone(self) -> None:
        self.assertIsNone(self.moves.find('req-none'))
        self.assertEqual([], list(self.moves.nodes('req-none')))
        calls: tuple[Callable[[], object], ...] = (
            lambda: self.moves.carry_out('req-none', [self.seen(1)]),
            lambda: self.moves.override('req-none', ['node_exists'], None),
            lambda: self.moves.moves(marker='req-none'),
        )
        for call in calls:
            self.assertRaises(exceptions.NotFoundError, call)
        request_id = self.planned(self.seen(1))
        (result,) = self.moves.carry_out(request_id, [self.seen(2)])
        self.assertEqual(REFUSED, result.state)
        self.assertEqual('host1', self.owner(2))

    def test_open_instances_are_listed_by_node(self) -> None:
        expected = {uuid(n): [i] for n, i in self.instances.items()}
        for _ in range(2):
            found = self.moves.open_instances([uuid(n) for n in range(1, 9)])
            self.assertEqual(expected, {u: [*i] for u, i in found.items()})
            self.move(self.seen(1))
