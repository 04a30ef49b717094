"""Standing orders: what is due, who does it, and what holds it back."""

from __future__ import annotations

import dataclasses
import itertools
import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.events import EventFilter, EventKind, Origin
from ironic_ownership.contracts.moves import Move, NodeMove, StandingOrder
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.outbox import SqlOrderTurn
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import standing_orders
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.standing_orders import (
    StandingOrders,
    decide,
)
from ironic_ownership.engine.membership.failure_detector import Liveness
from tests.unit.engine import service, world

OPERATOR = Origin('alice', 'req-order')
NODES = range(1, 16)
DEPLOYED = [number for number in NODES if number % 2]


def order(after: int = 0, to: str | None = None) -> StandingOrder:
    return StandingOrder(after, 'alice', 'on call', to)


SIGNS = world.advertised(world.ALL, 15.0)
NOTHING, NOTE, MOVE = ([], []), (['host1'], []), ([], ['host1'])
LIVES = {
    'unsettled': Liveness(),
    'present': Liveness(True, present=frozenset({'host1'})),
    'suspect': Liveness(True, suspect=frozenset({'host1'})),
    'dead': Liveness(True),
}
FLAGS = ('ordered', 'away', 'down', 'signs', 'fenced', 'noted', 'due')


class TestDecide(unittest.TestCase):
    def test_nodes_move_only_from_a_noted_fence_of_one_that_is_gone(
        self,
    ) -> None:
        for life, *values in itertools.product(
            LIVES, *[(False, True)] * len(FLAGS)
        ):
            flags = dict(zip(FLAGS, values, strict=True))
            row = model.Service(
                'host1',
                7,
                order=order() if flags['ordered'] else None,
                away=flags['away'],
                forced_down=flags['down'],
                settings=SIGNS if flags['signs'] else world.ALL,
                fenced=flags['fenced'],
                fence_epoch=7 if flags['noted'] else 6,
                order_due=flags['due'],
            )
            # The operator who forces it down knows more than the members,
            # and Ironic can't refuse one whose release does not sign.
            gone = flags['down'] or (life == 'dead' and flags['signs'])
            expected = NOTHING
            if flags['ordered'] and gone and not flags['away']:
                # A note counts for one epoch only.
                expected = NOTE
                if flags['fenced'] and flags['noted']:
                    expected = MOVE if flags['due'] else NOTHING
            with self.subTest(life=life, **flags):
                self.assertEqual(expected, self.decide(row, life))
                own = dataclasses.replace(row, host='host2')
                self.assertEqual(NOTHING, self.decide(own, life))

    def decide(
        self, row: model.Service, life: str
    ) -> tuple[list[str], list[str]]:
        to_note, due = decide('host2', [row], LIVES[life])
        return [one.host for one in to_note], [one.host for one in due]


class TestOrders(service.ServiceCase):
    """Three services share nodes, half of them deployed; host1 dies."""

    settings = world.RING

    def setUp(self) -> None:
        super().setUp()
        self.moves = SqlMoves(self.database)
        self.ironic.middleware = Enforcement.ENFORCED
        self.ironic.put(*map(world.node, NODES))
        self.services = [
            self.start(host, self.settings)
            for host in ('host1', 'host2', 'host3')
        ]
        self.dead, self.host, self.other = self.services
        for one in self.services * 3:
            one.beat()
            one.refresh()
        for number in DEPLOYED:
            self.ironic.put(
                world.node(number, instance_uuid=f'instance-{number}')
            )
        for one in self.services:
            one.refresh()
        self.settle(*self.services)
        self.left = {n for n, o in self.owners().items() if o == 'host1'}
        self.left &= {*DEPLOYED}
        assert len(self.left) > 1

    def worker(self, of: service.Service) -> StandingOrders:
        context = of.context
        return StandingOrders(
            context,
            MoveNodes(
                context.ports,
                self.moves,
                sharded=lambda: False,
                permission_lifetime=0.0,
            ),
            SqlOrderTurn(self.database),
            of.host,
            of.member.liveness,
            'k' * 32,
            lambda: 60.0,
        )

    def give(self, after: int = 0, to: str | None = None) -> None:
        self.records.give_order('host1', order(after, to), OPERATOR)

    def give_and_die(self, after: int = 0, to: str | None = None) -> None:
        self.give(after, to)
        # The second time passes between its last heartbeat and the proof.
        self.settle(self.host, self.other)
        self.settle(self.host, self.other)
        for one in (self.host, self.other):
            one.beat()
            one.refresh()

    def note(self, after: int = 0, to: str | None = None) -> None:
        """Give the order, and note the fence after the death."""
        self.give_and_die(after, to)
        self.step()

    def step(self, *workers: StandingOrders) -> None:
        for one in workers or (self.worker(self.host),):
            self.assertEqual(60.0, one.run_step())

    def taken(self) -> set[int]:
        return {n for n in self.left if self.owners()[n] != 'host1'}

    def condition(self, of: service.Service) -> Condition:
        (found,) = of.conditions.of_loops([Loop.ORDERS])
        return found

    def test_deployed_nodes_move_to_where_their_ring_says(self) -> None:
        self.note()
        self.assertEqual(set(), self.taken())
        instances = self.instances()
        self.step()
        self.assertEqual(self.left, self.taken())
        self.assertEqual(instances, self.instances())
        for number in self.left:
            # Freed, they stay where they are.
            self.ironic.put(world.node(number))
        owners = self.owners()
        for one in (self.host, self.other) * 2:
            one.refresh()
        self.assertEqual(owners, self.owners())
        moved = self.records.events(
            EventFilter(kinds=(EventKind.NODE_MOVED.value,))
        )
        self.assertEqual(len(self.left), len(moved))
        self.assertEqual(
            {('host2', 'standing order of alice for host1: on call')},
            {(event.actor, event.reason) for event in moved},
        )
        before = self.state()
        self.step()
        self.assertEqual(before, self.state())

    def test_service_that_came_back_unseen_is_not_fenced(self) -> None:
        """The members were read before it did, and its row after that."""
        self.give_and_die()
        self.dead.beat()
        self.assertTrue(self.host.member.liveness().is_dead('host1'))
        self.step()
        self.assertTrue(self.dead.context.fence.may_act)
        self.assertFalse(self.records.service('host1').fenced)

    def test_pause_holds_the_nodes_in_its_scope(self) -> None:
        self.note()
        # The dead service has not recorded where it is now.
        came = min(self.left)
        self.ironic.put(
            world.node(came, shard='a', instance_uuid=f'instance-{came}')
        )
        for scope, moved in (
            ({}, set()),
            ({'shard': 'a'}, self.left - {came}),
        ):
            self.records.begin_pause(OPERATOR, 600.0, 'cables', **scope)
            self.step()
            self.assertEqual(moved, self.taken())
            self.assertEqual(bool(moved), bool(self.moves.moves()))
            self.records.end_pauses(OPERATOR, ['req-order'])
        self.step()
        self.assertEqual(self.left, self.taken())

    def hold_what_was_decided(self) -> None:
        """Let a pause begin between the decision and its transaction."""
        self.note()
        read, begin = self.records.pauses, self.records.begin_pause

        def pauses() -> object:
            found = read()
            begin(OPERATOR, 600.0, 'cables')
            return found

        with mock.patch.object(self.records, 'pauses', pauses):
            self.step()
        self.assertEqual(set(), self.taken())

    def test_pause_that_begins_later_holds_what_was_decided(self) -> None:
        self.hold_what_was_decided()
        with self.assertNoLogs(service.LOGGER, 'WARNING'):
            self.step()
        self.assertEqual(set(), self.taken())
        # Many newer moves do not hide it.
        planned = [NodeMove('no-such-node', None, None, None)]
        for number in range(100):
            move = Move(f'req-{number}', 'new', 'operator', None)
            self.moves.plan(move, planned)
        self.records.end_pauses(OPERATOR, ['req-order'])
        self.step()
        self.assertEqual(self.left, self.taken())
        left = self.moves.moves(unfinished=True, limit=None)
        self.assertEqual(100, len(left))

    def test_nothing_moves_while_ironic_does_not_enforce(self) -> None:
        self.note()
        worker = self.worker(self.host)
        for state in (Enforcement.ABSENT, Enforcement.NO_RECORDS):
            self.ironic.middleware = state
            worker.run_step()
            self.assertEqual('not_enforced', self.condition(self.host).code)
        self.assertEqual(set(), self.taken())
        self.ironic.middleware = Enforcement.ENFORCED
        # The one that failed let the other have the turn.
        self.step(self.worker(self.other))
        self.assertEqual(self.left, self.taken())
        self.step(worker)
        self.assertIsNone(self.condition(self.host).code)

    def test_gate_keeps_a_node_and_the_service_says_so(self) -> None:
        self.give_and_die()
        busy = min(self.left)
        self.ironic.put(
            world.node(
                busy,
                instance_uuid=f'instance-{busy}',
                target_power_state='rebooting',
            )
        )
        worker = self.worker(self.host)
        self.step(worker, worker)
        self.assertEqual(self.left - {busy}, self.taken())
        found = self.condition(self.host)
        self.assertEqual('order_refused', found.code)
        self.assertIn('no_operation_in_progress', found.error)
        self.ironic.put(world.node(busy, instance_uuid=f'instance-{busy}'))
        self.step(worker, worker)
        self.assertEqual(self.left, self.taken())
        self.assertIsNone(self.condition(self.host).code)

    def test_another_service_resumes_the_move_of_one_that_died(self) -> None:
        self.give_and_die(to='host3')
        worker = self.worker(self.host)
        self.step(worker)
        with (
            mock.patch.object(move_nodes, 'BATCH', 1),
            mock.patch.object(
                SqlMoves,
                'carry_out',
                side_effect=[(), SystemExit('killed')],
                autospec=True,
            ),
            self.assertRaises(SystemExit),
        ):
            worker.run_step()
        (move,) = self.moves.moves(unfinished=True)
        heir = self.worker(self.other)
        # One service at a time carries the orders out.
        self.step(heir)
        self.assertEqual(set(), self.taken())
        self.operator('UPDATE outbox SET sender_until = 0')
        self.step(heir)
        owners = self.owners()
        self.assertEqual({'host3'}, {owners[number] for number in self.left})
        (after,) = self.moves.moves()
        self.assertEqual(move.request_id, after.request_id)
        self.assertEqual([], [*self.moves.moves(unfinished=True)])

    def test_rest_of_a_revoked_order_stays(self) -> None:
        self.hold_what_was_decided()
        self.records.end_pauses(OPERATOR, ['req-order'])
        self.records.give_order('host1', None, OPERATOR)
        self.step()
        self.assertEqual(set(), self.taken())
        self.assertEqual([], [*self.moves.moves(unfinished=True)])

    def test_sharded_service_lists_no_nodes_without_a_shard(self) -> None:
        self.give_and_die()
        worker = self.worker(self.host)
        self.step(worker)
        self.assertFalse(worker.moves.sharded())
        for settings in (world.runs(shard_key='a'), world.NEWER):
            self.records.advertise('host2', self.host.fence.epoch(), settings)
            self.ironic.calls.clear()
            self.step(worker)
            self.assertNotIn('scan', {name for name, _ in self.ironic.calls})
            self.assertTrue(worker.moves.sharded())

    def test_fenced_service_carries_nothing_out(self) -> None:
        self.give_and_die()
        worker = self.worker(self.host)
        down = exceptions.RecordsUnavailableError('down')
        with mock.patch.object(SqlOrderTurn, 'claim', side_effect=down):
            worker.run_step()
        self.host.fence.drop()
        before = self.state()
        self.step(worker)
        self.assertEqual(before, self.state())
        # That is no success.
        self.assertEqual(down.code, self.condition(self.host).code)

    def test_service_that_returns_says_what_it_lost(self) -> None:
        self.note()
        self.step()
        self.settle(self.host, self.other)
        back = self.start('host1', self.settings)
        self.settle(back, self.host, self.other)
        worker = self.worker(back)
        with self.assertLogs(service.LOGGER, 'WARNING') as logged:
            self.step(worker, worker)
        self.assertEqual(1, len(logged.output))
        found = self.condition(back)
        self.assertEqual('nodes_taken', found.code)
        self.assertIn(f'{len(self.left)} deployed nodes moved', found.error)
        first = world.uuid(min(self.left))
        self.assertIn(f'among them {first};', found.error)
        for one in (back, self.host) * 2:
            one.refresh()
        self.assertEqual(self.left, self.taken())
        self.give()
        self.step(worker)
        self.assertIsNone(self.condition(back).code)

    def test_service_that_returned_in_time_lost_nothing(self) -> None:
        self.note(600)
        back = self.start('host1', self.settings)
        self.settle(back, self.host, self.other)
        self.step(self.worker(back))
        self.assertIsNone(self.condition(back).code)

    def test_order_needs_a_key_and_the_middleware(self) -> None:
        for key, state in (('', Enforcement.ENFORCED), ('k', None)):
            self.ironic.middleware = state or Enforcement.OTHER_KEY
            with self.assertRaises(standing_orders.NotEnforcedError):
                standing_orders.require_enforcement(self.ironic, key)
