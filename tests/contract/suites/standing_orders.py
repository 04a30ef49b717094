"""Laws of standing orders, for every implementation of the records."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventFilter, EventKind, Origin
from ironic_ownership.contracts.moves import (
    Move,
    NodeMove,
    NodeState,
    StandingOrder,
)
from tests.contract.suites import moves, records

OPERATOR = Origin('operator', 'req-order')
DUE, LATER = (
    StandingOrder(after, 'operator', 'on call', 'host2') for after in (0, 600)
)


class StandingOrderContract(moves.MoveCase):
    """``host1`` is dead and enabled; ``host2`` serves."""

    def setUp(self) -> None:
        super().setUp()
        self.set_service('host1', disabled=False)
        self.epoch2 = self.service('host2').epoch

    def give(self, order: StandingOrder | None) -> model.Service:
        found = self.records.give_order('host1', order, OPERATOR)
        self.assertEqual(found, self.service('host1'))
        return found

    def note(self, seen: model.Service | None = None) -> bool:
        return self.records.note_fence(
            'host2', self.epoch2, seen or self.service('host1')
        )

    def move(self, *numbers: int, automatic: bool = True) -> list[NodeState]:
        """Move nodes as if their gates had passed; return the states."""
        nodes = [self.seen(number) for number in numbers]
        self.number = getattr(self, 'number', 0) + 1
        order = Move(
            f'req-{self.number}', 'host2', 'host2', automatic=automatic
        )
        self.moves.plan(order, nodes)
        return self.carry_out(order.request_id, nodes)

    def carry_out(
        self, request_id: str, nodes: list[NodeMove]
    ) -> list[NodeState]:
        found = self.moves.carry_out(request_id, nodes)
        return [node.state for node in found]

    def reasons(self, kind: EventKind) -> list[tuple[Any, ...]]:
        found = self.records.events(EventFilter(kinds=(kind.value,)))
        return [(e.actor, e.from_host, e.reason, e.request_id) for e in found]

    def test_order_is_stored_until_it_is_revoked(self) -> None:
        found = self.give(LATER)
        self.assertEqual((LATER, None), (found.order, found.order_due_at))
        self.assertIsNone(self.give(None).order)
        self.assertEqual(
            [
                (
                    *('operator', 'host1'),
                    'take_over_deployed_after=none',
                    'req-order',
                ),
                (
                    *('operator', 'host1'),
                    'take_over_deployed_after=600 to host2; on call',
                    'req-order',
                ),
            ],
            self.reasons(EventKind.SERVICE_CHANGED)[:2],
        )
        with self.assertRaises(exceptions.NotFoundError):
            self.records.give_order('host9', LATER, OPERATOR)

    def test_same_order_changes_nothing_before_its_time_runs(self) -> None:
        self.give(LATER)
        before = self.state()
        self.give(LATER)
        self.assertEqual(before, self.state())
        self.note()
        self.assertIsNone(self.give(LATER).fence_seen_at)

    def test_dead_service_is_fenced_when_its_fence_is_noted(self) -> None:
        self.give(LATER)
        self.assertTrue(self.note())
        found = self.service('host1')
        self.assertEqual(
            (True, self.epoch + 1, False),
            (found.fenced, found.epoch, found.order_due),
        )
        self.assertTrue(found.fence_is_noted)
        self.assertEqual(
            [('host2', 'host1', 'it died; standing order of operator', None)],
            self.reasons(EventKind.SERVICE_FENCED),
        )
        with self.assertRaises(exceptions.FencedError):
            self.apply('host1', self.epoch, records.claim(9))
        before = self.state()
        self.assertFalse(self.note())
        self.assertEqual(before, self.state())

    def test_fence_of_another_cause_keeps_its_epoch(self) -> None:
        self.give(DUE)
        self.set_service('host1', forced_down=True)
        epoch = self.service('host1').epoch
        self.assertTrue(self.note())
        found = self.service('host1')
        self.assertEqual((epoch, True), (found.epoch, found.order_due))

    def test_nothing_is_noted_of_a_service_that_has_changed(self) -> None:
        self.assertFalse(self.note())
        seen = self.give(DUE)
        self.register('host1')
        before = self.state()
        self.assertFalse(self.note(seen))
        self.assertEqual(before, self.state())

    def test_fenced_service_notes_nothing(self) -> None:
        self.give(DUE)
        self.set_service('host2', forced_down=True)
        before = self.state()
        with self.assertRaises(exceptions.FencedError):
            self.note()
        self.assertEqual(before, self.state())

    def test_service_on_leave_is_not_fenced_for_an_order(self) -> None:
        self.give(DUE)
        self.records.retire('host1', self.epoch, grace=600.0)
        self.assertFalse(self.note())
        self.assertFalse(self.service('host1').order_due)

    def test_nodes_move_when_the_order_is_due(self) -> None:
        self.give(DUE)
        self.note()
        since = self.service('host1').fence_seen_at or 0.0
        self.assertEqual([NodeState.MOVED] * 2, self.move(1, 2))
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            ('host2', self.instances[1]), (found.host, found.instance_uuid)
        )
        taken = [records.uuid(1), records.uuid(2)]
        self.assertEqual(taken, self.moves.taken_from('host1', since))
        self.assertEqual([], self.moves.taken_from('host1', since + 600))
        self.assertEqual([], self.moves.taken_from('host3', since))
        (move,) = self.moves.moves()
        self.assertTrue(move.automatic)

    def test_no_node_moves_before_the_order_is_due(self) -> None:
        self.give(DUE)
        self.assertEqual([NodeState.REFUSED], self.move(1))
        self.give(LATER)
        self.note()
        self.assertEqual([NodeState.REFUSED], self.move(1))
        self.assertEqual('host1', getattr(self.find(1), 'host', None))

    def test_service_that_returned_keeps_its_nodes(self) -> None:
        self.give(DUE)
        self.note()
        seen = self.seen(1)
        order = Move('req-1', 'host2', 'host2', automatic=True)
        self.moves.plan(order, [seen])
        self.register('host1')
        self.assertEqual([NodeState.REFUSED], self.carry_out('req-1', [seen]))
        # Another fence is another wait, under another epoch.
        self.note()
        order = dataclasses.replace(order, request_id='req-2')
        self.moves.plan(order, [seen])
        self.assertEqual([NodeState.REFUSED], self.carry_out('req-2', [seen]))
        self.assertEqual('host1', getattr(self.find(1), 'host', None))

    def test_revoked_order_moves_nothing(self) -> None:
        self.give(DUE)
        self.note()
        self.give(None)
        self.assertEqual([NodeState.REFUSED], self.move(1))

    def test_order_does_not_help_the_move_of_an_operator(self) -> None:
        self.give(DUE)
        self.note()
        self.assertEqual([NodeState.REFUSED], self.move(1, automatic=False))

    def test_pause_holds_automatic_moves_only(self) -> None:
        self.give(DUE)
        self.note()
        pause = self.records.begin_pause(OPERATOR, 600.0, 'cables')
        self.assertEqual([NodeState.PLANNED], self.move(1))
        self.set_service('host1', forced_down=True)
        self.assertEqual([NodeState.MOVED], self.move(2, automatic=False))
        self.set_service('host1', forced_down=False)
        self.assertTrue(self.note())
        self.records.end_pauses(OPERATOR, [pause.request_id])
        rest = [
            dataclasses.replace(node, source_epoch=self.service('host1').epoch)
            for node in self.moves.nodes('req-1', state=NodeState.PLANNED)
        ]
        self.assertEqual([NodeState.MOVED], self.carry_out('req-1', rest))

    def test_pause_of_another_scope_holds_nothing(self) -> None:
        self.give(DUE)
        self.note()
        self.records.begin_pause(OPERATOR, 600.0, 'x', shard='another')
        self.assertEqual([NodeState.MOVED], self.move(1))
