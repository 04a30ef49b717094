"""The suite that every implementation of the moves passes.

Usage::

    class TestMoves(move_records.MoveContract):
        def make_records(self):
            return MyRecords(...)

        def make_moves(self):
            return MyMoves(...)
"""

from __future__ import annotations

import dataclasses
import uuid as uuid_
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model, moves
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Delete, Release, Update
from ironic_ownership.db.moves import SqlMoves
from tests.contract.suites import records

PLANNED, MOVED = moves.NodeState.PLANNED, moves.NodeState.MOVED
UNCHANGED, REFUSED = moves.NodeState.UNCHANGED, moves.NodeState.REFUSED


class MoveCase(records.RecordsContract):
    """``host1``, dead and disabled, owns four nodes, two with an instance."""

    def make_moves(self) -> SqlMoves:
        """Return an access to the moves of this test's records."""
        raise NotImplementedError

    def lose_service(self, host: str) -> None:
        """Delete the row of a service, as the restore of a backup does."""
        raise NotImplementedError

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
        self.assert_applied(
            'host1',
            self.epoch,
            *(
                records.claim(n, instance_uuid=self.instances.get(n))
                for n in range(1, 5)
            ),
        )
        self.set_service('host1', disabled=True)

    def seen(self, number: int, **changed: Any) -> moves.NodeMove:
        """Return what a gate sees of a node now."""
        found = self.find(number)
        assert found is not None
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
    ) -> list[moves.NodeMove]:
        """Plan and carry out; check that the stored results are the same."""
        request_id = self.planned(*nodes, **options)
        results = list(self.moves.carry_out(request_id, nodes))
        self.assertEqual(results, list(self.moves.nodes(request_id)))
        self.assertEqual([], list(self.moves.separated()))
        return results

    def assert_refused_node(
        self, node: moves.NodeMove, code: str, **options: Any
    ) -> None:
        """Move a node that has to stay, for the reason of this code."""
        before = self.state()
        (result,) = self.move(node, **options)
        self.assertEqual(REFUSED, result.state)
        assert result.detail is not None
        self.assertTrue(result.detail.startswith(f'{code}: '), result.detail)
        self.assertEqual(before, self.state())

    def assert_last_event(
        self, number: int, *expected: str | None
    ) -> model.Event:
        """Check kind, source, destination and request of the last event."""
        of_node = EventFilter(node_uuid=records.uuid(number))
        event = self.records.events(of_node)[0]
        seen = event.kind, event.from_host, event.to_host, event.request_id
        self.assertEqual(expected, seen)
        self.assertEqual(('operator', 'because'), (event.actor, event.reason))
        return event


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
        move = self.moves.find(request_id)
        assert move is not None
        self.assertEqual(
            ('host2', 'operator', 'because', ('a', 'b')),
            (move.destination, move.actor, move.reason, move.overrides),
        )
        self.assertEqual({PLANNED: 1, UNCHANGED: 1, REFUSED: 1}, move.counts)
        self.assertEqual(moves.MoveState.UNFINISHED, move.state)
        assert move.created_at is not None

    def test_plan_without_a_reason_or_source(self) -> None:
        request_id = f'req-{uuid_.uuid4()}'
        self.moves.plan(
            moves.Move(request_id, 'host2', 'operator'),
            [moves.NodeMove(records.uuid(9), None)],
        )
        move = self.moves.find(request_id)
        assert move is not None
        self.assertEqual((None, ()), (move.reason, move.overrides))

    def test_node_and_instance_move_together(self) -> None:
        results = self.move(self.seen(1), self.seen(3))
        self.assertEqual([MOVED, MOVED], [r.state for r in results])
        self.assertEqual(
            ['host2', 'host1', 'host2', 'host1'],
            [self.owner(n) for n in range(1, 5)],
        )
        self.assertEqual(self.instances[1], self.instance(1))
        self.assertEqual('moved', self.find(1).reason.value)  # type: ignore[union-attr]

    def test_identity_and_attributes_stay(self) -> None:
        before = self.find(1)
        self.move(self.seen(1))
        after = self.find(1)
        assert before is not None
        assert after is not None
        self.assertEqual(
            before,
            dataclasses.replace(
                after,
                host=before.host,
                reason=before.reason,
                updated_at=before.updated_at,
            ),
        )

    def test_each_moved_node_leaves_one_event(self) -> None:
        request_id = self.planned(self.seen(1))
        self.moves.carry_out(request_id, [self.seen(1)])
        event = self.assert_last_event(
            1, 'node_moved', 'host1', 'host2', request_id
        )
        self.assertEqual(self.instances[1], event.instance_uuid)
        self.assertEqual(1, self.kinds(1).count('node_moved'))

    def test_source_can_write_nothing_after_the_move(self) -> None:
        self.move(self.seen(1))
        self.assertTrue(self.service('host1').fenced)
        self.assertGreater(self.service('host1').epoch, self.epoch)
        before = self.state()
        for epoch in (self.epoch, self.epoch + 1):
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', epoch, [Update(records.node(3))])
        self.assertEqual(before, self.state())

    def test_source_that_registers_again_has_lost_what_was_moved(
        self,
    ) -> None:
        self.move(self.seen(1))
        epoch = self.register('host1')
        self.assert_refused('host1', epoch, Update(records.node(1)))
        self.assert_refused('host1', epoch, Release(records.uuid(1)))

    def test_source_is_fenced_once_in_several_batches(self) -> None:
        request_id = self.planned(self.seen(1), self.seen(2))
        for number in (1, 2):
            self.moves.carry_out(request_id, [self.seen(number)])
        self.assertEqual(self.epoch + 1, self.service('host1').epoch)
        kinds = [e.kind for e in self.records.events()]
        self.assertEqual(1, kinds.count('service_fenced'))

    def test_move_in_batches_is_done_after_the_last(self) -> None:
        request_id = self.planned(self.seen(1), self.seen(2))
        self.moves.carry_out(request_id, [self.seen(1)])
        self.assertEqual(
            [request_id],
            [m.request_id for m in self.moves.moves(unfinished=True)],
        )
        self.moves.carry_out(request_id, [self.seen(2)])
        self.assertEqual([], list(self.moves.moves(unfinished=True)))
        move = self.moves.find(request_id)
        assert move is not None
        self.assertEqual(moves.MoveState.DONE, move.state)
        self.assertEqual({MOVED: 2}, move.counts)

    def test_repeated_batch_changes_nothing(self) -> None:
        request_id = self.planned(self.seen(1))
        node = self.seen(1)
        first = self.moves.carry_out(request_id, [node])
        before = self.state()
        self.assertEqual(first, self.moves.carry_out(request_id, [node]))
        self.assertEqual(before, self.state())

    def test_node_at_the_destination_is_unchanged(self) -> None:
        node = self.seen(1)
        self.move(node)
        before = self.state()
        (result,) = self.move(node)
        self.assertEqual(UNCHANGED, result.state)
        self.assertEqual(before, self.state())

    def test_node_that_another_move_took_stays_there(self) -> None:
        node = self.seen(1)
        self.move(node)
        self.assert_refused_node(node, 'owner_changed', to='host3')

    def test_node_whose_instance_changed_stays(self) -> None:
        for seen in (None, str(uuid_.uuid4())):
            self.assert_refused_node(
                self.seen(1, instance_uuid=seen), 'instance_changed'
            )
        self.assert_refused_node(
            self.seen(3, instance_uuid=str(uuid_.uuid4())),
            'instance_changed',
        )

    def test_node_without_a_record_is_refused(self) -> None:
        self.assert_refused_node(
            moves.NodeMove(records.uuid(9), 'host1'), 'record_exists'
        )

    def test_node_that_was_deleted_while_it_was_unowned_is_refused(
        self,
    ) -> None:
        self.assert_applied('host1', self.epoch, Delete(records.uuid(3)))
        # The row stays, without an owner.
        unowned = moves.NodeMove(records.uuid(3), None)
        self.assert_refused_node(unowned, 'record_exists')

    def test_source_that_is_not_stopped_any_more_keeps_its_nodes(
        self,
    ) -> None:
        node = self.seen(1)
        self.set_service('host1', disabled=False)
        self.assert_refused_node(node, 'source_stopped')

    def test_disabled_source_keeps_its_nodes_once_it_registers(self) -> None:
        node = self.seen(1)
        self.register('host1')
        self.assert_refused_node(node, 'source_stopped')

    def test_source_that_lost_its_row_is_stopped_until_it_registers(
        self,
    ) -> None:
        nodes = [self.seen(1), self.seen(2)]
        self.lose_service('host1')
        self.assertEqual([MOVED], [n.state for n in self.move(nodes[0])])
        self.assertEqual(
            {'host2', 'host3'}, {s.host for s in self.records.services()}
        )
        self.register('host1')
        self.assert_refused_node(nodes[1], 'source_stopped')

    def test_source_whose_epoch_the_move_raised_is_moved_on(self) -> None:
        nodes = [self.seen(1), self.seen(2)]
        request_id = self.planned(*nodes)
        for node in nodes:
            (result,) = self.moves.carry_out(request_id, [node])
            self.assertEqual(MOVED, result.state)

    def test_destination_that_closed_meanwhile_gets_nothing(self) -> None:
        for values in ({'disabled': True}, {'forced_down': True}):
            self.set_service('host2', disabled=False, forced_down=False)
            self.set_service('host2', **values)
            self.assert_refused_node(self.seen(1), 'destination_enabled')

    def test_closed_destination_can_be_overridden(self) -> None:
        self.set_service('host2', disabled=True)
        (result,) = self.move(self.seen(1), overrides=('destination_enabled',))
        self.assertEqual(MOVED, result.state)

    def test_more_gates_of_a_stored_move_can_be_overridden(self) -> None:
        request_id = self.planned(self.seen(1), overrides=('node_exists',))
        self.moves.override(request_id, ['destination_enabled'], 'CHG-42')
        self.records.set_service('host2', actor='x', disabled=True)
        (result,) = self.moves.carry_out(request_id, [self.seen(1)])
        self.assertEqual(MOVED, result.state)
        move = self.moves.find(request_id)
        assert move is not None
        self.assertEqual(
            (('destination_enabled', 'node_exists'), 'CHG-42'),
            (move.overrides, move.reason),
        )
        with self.assertRaises(exceptions.NotFoundError):
            self.moves.override('req-none', ['node_exists'], None)

    def test_destination_that_does_not_exist_gets_nothing(self) -> None:
        self.assert_refused_node(
            self.seen(1),
            'destination_exists',
            to='host9',
            overrides=('destination_enabled',),
        )

    def test_refused_node_does_not_keep_the_others(self) -> None:
        results = self.move(
            self.seen(1, instance_uuid=None), self.seen(2), self.seen(3)
        )
        self.assertEqual([REFUSED, MOVED, MOVED], [r.state for r in results])

    def test_unowned_node_can_be_moved(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, Release(records.uuid(3)))
        (result,) = self.move(self.seen(3))
        self.assertEqual((MOVED, 'host2'), (result.state, self.owner(3)))
        self.assertFalse(self.service('host1').fenced)

    def test_planned_node_can_be_given_up(self) -> None:
        request_id = self.planned(self.seen(1), self.seen(2))
        self.moves.carry_out(request_id, [self.seen(2)])
        self.moves.refuse(
            request_id, {records.uuid(n): 'no more' for n in (1, 2)}
        )
        states = [n.state for n in self.moves.nodes(request_id)]
        self.assertEqual([REFUSED, MOVED], states)
        (result,) = self.moves.carry_out(request_id, [self.seen(1)])
        self.assertEqual('no more', result.detail)
        self.assertEqual('host1', self.owner(1))

    def test_moves_are_listed_newest_first(self) -> None:
        ids = [self.planned(self.seen(n)) for n in (1, 2, 3)]
        listed = [m.request_id for m in self.moves.moves()]
        self.assertEqual(ids[::-1], listed)
        self.assertEqual(
            ids[:0:-1], [m.request_id for m in self.moves.moves(limit=2)]
        )

    def test_moves_are_listed_after_a_marker(self) -> None:
        ids = [self.planned(self.seen(n)) for n in (1, 2, 3)]
        for unfinished in (False, True):
            found = self.moves.moves(unfinished=unfinished, marker=ids[2])
            self.assertEqual(ids[1::-1], [m.request_id for m in found])
        with self.assertRaises(exceptions.NotFoundError):
            self.moves.moves(marker='req-none')

    def test_unknown_move_is_none_and_cannot_be_carried_out(self) -> None:
        self.assertIsNone(self.moves.find('req-none'))
        self.assertEqual([], list(self.moves.nodes('req-none')))
        with self.assertRaises(exceptions.NotFoundError):
            self.moves.carry_out('req-none', [self.seen(1)])

    def test_node_outside_of_the_plan_is_refused(self) -> None:
        request_id = self.planned(self.seen(1))
        (result,) = self.moves.carry_out(request_id, [self.seen(2)])
        self.assertEqual(REFUSED, result.state)
        self.assertEqual('host1', self.owner(2))

    def test_open_instances_are_listed_by_node(self) -> None:
        found = self.moves.open_instances(
            [records.uuid(n) for n in range(1, 9)]
        )
        self.assertEqual(
            {records.uuid(n): [i] for n, i in self.instances.items()},
            {uuid: list(some) for uuid, some in found.items()},
        )
        self.move(self.seen(1))
        self.assertEqual(
            {records.uuid(1): [self.instances[1]]},
            {
                uuid: list(some)
                for uuid, some in self.moves.open_instances(
                    [records.uuid(1)]
                ).items()
            },
        )
