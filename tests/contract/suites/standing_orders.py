"""Laws of standing orders, for every implementation of the records."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.moves import (
    Move,
    NodeMove,
    NodeState,
    StandingOrder,
)
from tests.contract.suites.moves import MOVED, PLANNED, REFUSED, MoveCase
from tests.contract.suites.records import uuid

OPERATOR = Origin('operator', 'req-order')
DUE, LATER = (
    StandingOrder(after, 'operator', 'on call', 'host2') for after in (0, 600)
)


class StandingOrderContract(MoveCase):
    """``host1`` is dead and enabled; ``host2`` serves."""

    moved = 0

    def setUp(self) -> None:
        super().setUp()
        self.set_service('host1', disabled=False)

    def give(self, order: StandingOrder | None) -> model.Service:
        found = self.records.give_order('host1', order, OPERATOR)
        self.assertEqual(found, self.service('host1'))
        return found

    def note(self, seen: model.Service | None = None) -> bool:
        seen = seen or self.service('host1')
        return self.records.note_fence('host2', self.epochs['host2'], seen)

    def assert_not_noted(self, seen: model.Service | None = None) -> None:
        before = self.state()
        self.assertFalse(self.note(seen))
        self.assertEqual(before, self.state())

    def move_nodes(
        self, *nodes: NodeMove, automatic: bool = True
    ) -> list[NodeState]:
        """Move nodes as if their gates had passed; return the states."""
        self.moved += 1
        request_id = f'req-{self.moved}'
        order = Move(request_id, 'host2', 'host2', automatic=automatic)
        self.moves.plan(order, nodes)
        found = self.moves.carry_out(request_id, nodes)
        return [node.state for node in found]

    def test_order_is_stored_until_it_is_revoked(self) -> None:
        self.assert_has(self.give(LATER), order=LATER, order_due_at=None)
        before = self.state()
        self.give(LATER)
        self.assertEqual(before, self.state())
        self.note()
        # Its time starts again.
        self.assertIsNone(self.give(LATER).fence_seen_at)
        self.assertIsNone(self.give(None).order)
        given = 'take_over_deployed_after=600 to host2; on call'
        for event, reason in zip(
            self.events(actor='operator', request_id='req-order'),
            ('take_over_deployed_after=none', given, given),
            strict=True,
        ):
            self.assert_has(
                event,
                kind='service_changed',
                from_host='host1',
                reason=reason,
            )

    def test_dead_service_is_fenced_when_its_fence_is_noted(self) -> None:
        self.give(LATER)
        self.assertTrue(self.note())
        self.assert_has(
            self.service('host1'),
            fenced=True,
            epoch=self.epoch + 1,
            order_due=False,
            fence_is_noted=True,
        )
        (event,) = self.events('service_fenced')
        self.assert_has(
            event,
            actor='host2',
            from_host='host1',
            reason='it died; standing order of operator',
            request_id=None,
        )
        self.assert_fenced('host1', self.epoch)
        self.assert_not_noted()

    def test_fence_of_another_cause_keeps_its_epoch(self) -> None:
        self.give(DUE)
        self.set_service('host1', forced_down=True)
        epoch = self.service('host1').epoch
        self.assertTrue(self.note())
        self.assert_has(self.service('host1'), epoch=epoch, order_due=True)

    def test_nothing_is_noted_of_a_service_that_has_changed(self) -> None:
        self.assert_not_noted()
        seen = self.give(DUE)
        epoch = self.register('host1')
        self.assert_not_noted(seen)
        # On leave it is not fenced for an order.
        self.records.retire('host1', epoch, grace=600.0)
        self.assert_not_noted()
        self.assertFalse(self.service('host1').order_due)

    def test_fenced_service_notes_nothing(self) -> None:
        self.give(DUE)
        self.set_service('host2', forced_down=True)
        before = self.state()
        with self.assertRaises(exceptions.FencedError):
            self.note()
        self.assertEqual(before, self.state())

    def test_nodes_move_when_the_order_is_due(self) -> None:
        self.give(DUE)
        self.note()
        since = self.service('host1').fence_seen_at or 0.0
        seen = self.seen(1), self.seen(2)
        self.assertEqual([MOVED] * 2, self.move_nodes(*seen))
        self.assert_has(
            self.record(1), host='host2', instance_uuid=self.instances[1]
        )
        for host, after, taken in (
            ('host1', since, [uuid(1), uuid(2)]),
            ('host1', self.record(1).updated_at, [uuid(1), uuid(2)]),
            ('host1', since + 600, []),
            ('host3', since, []),
        ):
            self.assertEqual(taken, self.moves.taken_from(host, after))
        (move,) = self.moves.moves()
        self.assertTrue(move.automatic)

    def test_no_node_moves_unless_the_order_is_due(self) -> None:
        self.give(DUE)
        self.assertEqual([REFUSED], self.move_nodes(self.seen(1)))
        self.give(LATER)
        self.note()
        self.assertEqual([REFUSED], self.move_nodes(self.seen(1)))
        self.give(DUE)
        self.note()
        # It does not help the move of an operator.
        self.assertEqual(
            [REFUSED], self.move_nodes(self.seen(1), automatic=False)
        )
        self.give(None)
        self.assertEqual([REFUSED], self.move_nodes(self.seen(1)))
        self.assertEqual('host1', self.owner(1))

    def test_service_that_returned_keeps_its_nodes(self) -> None:
        self.give(DUE)
        self.note()
        seen = self.seen(1)
        self.register('host1')
        self.assertEqual([REFUSED], self.move_nodes(seen))
        # Another fence is another wait, under another epoch.
        self.note()
        self.assertEqual([REFUSED], self.move_nodes(seen))
        self.assertEqual('host1', self.owner(1))

    def test_pause_holds_automatic_moves_only(self) -> None:
        self.give(DUE)
        self.note()
        pause = self.records.begin_pause(OPERATOR, 600.0, 'cables')
        self.assertEqual([PLANNED], self.move_nodes(self.seen(1)))
        self.set_service('host1', forced_down=True)
        self.assertEqual(
            [MOVED], self.move_nodes(self.seen(2), automatic=False)
        )
        self.set_service('host1', forced_down=False)
        self.assertTrue(self.note())
        self.records.end_pauses(OPERATOR, [pause.request_id])
        self.records.begin_pause(OPERATOR, 600.0, 'x', shard='another')
        rest = [
            dataclasses.replace(node, source_epoch=self.service('host1').epoch)
            for node in self.moves.nodes('req-1', state=PLANNED)
        ]
        (moved,) = self.moves.carry_out('req-1', rest)
        self.assertEqual(MOVED, moved.state)
