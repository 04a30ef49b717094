"""Standing orders: what is due, who does it, and what holds it back."""

from __future__ import annotations

import dataclasses
import unittest
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.conditions import Loop
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
SETTLED = Liveness(settled=True)
DEPLOYED = [number for number in NODES if number % 2]


def order(after: int = 0, to: str | None = None) -> StandingOrder:
    return StandingOrder(after, 'alice', 'on call', to)


class TestDecide(unittest.TestCase):
    dead = model.Service(
        'host1', 7, order=order(), settings=world.ALL, registered_at=1.0
    )
    noted = dataclasses.replace(
        dead, fenced=True, fence_epoch=7, fence_seen_at=1.0
    )
    due = dataclasses.replace(noted, order_due=True)

    def decide(
        self,
        row: model.Service,
        liveness: Liveness = SETTLED,
        **changed,
    ) -> tuple[list[str], list[str]]:
        row = dataclasses.replace(row, **changed)
        to_note, due = decide('host2', [row], liveness)
        return [r.host for r in to_note], [r.host for r in due]

    def test_fence_is_noted_before_anything_is_due(self) -> None:
        self.assertEqual((['host1'], []), self.decide(self.dead))
        self.assertEqual(([], []), self.decide(self.noted))
        self.assertEqual(([], ['host1']), self.decide(self.due))

    def test_note_counts_for_one_epoch_only(self) -> None:
        self.assertEqual((['host1'], []), self.decide(self.due, epoch=8))

    def test_nothing_happens_without_an_order(self) -> None:
        for row in (self.dead, self.due):
            self.assertEqual(([], []), self.decide(row, order=None))

    def test_service_that_may_be_alive_keeps_its_nodes(self) -> None:
        for liveness in (
            Liveness(),
            Liveness(True, present=frozenset({'host1'})),
            Liveness(True, suspect=frozenset({'host1'})),
        ):
            for row in (self.dead, self.due):
                self.assertEqual(([], []), self.decide(row, liveness))
            # The operator who forced it down knows more.
            self.assertEqual(
                ([], ['host1']),
                self.decide(self.due, liveness, forced_down=True),
            )

    def test_service_that_is_expected_back_keeps_its_nodes(self) -> None:
        for row in (self.dead, self.due):
            self.assertEqual(([], []), self.decide(row, away=True))

    def test_service_that_never_registered_is_not_known_to_be_dead(
        self,
    ) -> None:
        self.assertEqual(
            ([], []),
            self.decide(
                self.dead,
                registered_at=None,
                settings=model.MemberSettings(()),
            ),
        )

    def test_service_does_nothing_about_itself(self) -> None:
        self.assertEqual(([], []), self.decide(self.due, host='host2'))

    @hypothesis.given(
        st.builds(
            model.Service,
            host=st.sampled_from(('host1', 'host2')),
            epoch=st.integers(6, 8),
            fenced=st.booleans(),
            forced_down=st.booleans(),
            away=st.booleans(),
            order=st.sampled_from((None, order(5))),
            fence_epoch=st.sampled_from((None, 6, 7)),
            fence_seen_at=st.just(1.0),
            order_due=st.booleans(),
            registered_at=st.sampled_from((None, 1.0)),
        ),
        st.builds(
            Liveness,
            st.booleans(),
            *(st.frozensets(st.just('host1')) for _ in range(3)),
        ),
    )
    def test_nodes_move_only_from_a_noted_fence_of_one_that_is_gone(
        self, row: model.Service, liveness: Liveness
    ) -> None:
        to_note, due = decide('host2', [row], liveness)
        for one in due:
            self.assertIsNotNone(one.order)
            self.assertTrue(one.order_due and one.fenced)
            self.assertEqual(one.epoch, one.fence_epoch)
            self.assertFalse(one.away)
        for one in (*to_note, *due):
            self.assertTrue(one.forced_down or liveness.is_dead(one.host))
            self.assertEqual('host1', one.host)
        self.assertFalse({*map(id, due)} & {*map(id, to_note)})


class OrderCase(service.ServiceCase):
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
                sharded=False,
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

    def die(self) -> None:
        # The second time passes between its last heartbeat and the proof.
        self.settle(self.host, self.other)
        self.settle(self.host, self.other)
        for one in (self.host, self.other):
            one.beat()
            one.refresh()

    def step(self, *workers: StandingOrders) -> None:
        for one in workers or (self.worker(self.host),):
            self.assertEqual(60.0, one.run_step())

    def taken(self) -> set[int]:
        return {n for n in self.left if self.owners()[n] != 'host1'}

    def kinds(self) -> list[str]:
        found = self.records.events(EventFilter(), limit=1000)
        return [event.kind for event in found]


class TestOrders(OrderCase):
    def test_without_an_order_deployed_nodes_stay(self) -> None:
        self.die()
        before = self.state()
        self.step()
        self.assertEqual(before, self.state())

    def test_deployed_nodes_move_to_where_their_ring_says(self) -> None:
        self.give()
        self.die()
        self.step()
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
        self.give()
        self.die()
        self.dead.beat()
        self.assertTrue(self.host.member.liveness().is_dead('host1'))
        self.step()
        self.assertTrue(self.dead.context.fence.may_act)
        self.assertFalse(self.records.service('host1').fenced)

    def test_order_names_the_service_that_gets_them(self) -> None:
        self.give(to='host3')
        self.die()
        self.step()
        self.step()
        self.assertEqual(
            {'host3'}, {self.owners()[number] for number in self.left}
        )

    def test_nothing_moves_before_the_time_of_the_order(self) -> None:
        self.give(600)
        self.die()
        for _ in range(3):
            self.step()
        self.assertEqual(set(), self.taken())
        self.operator(
            'UPDATE services SET fence_seen_at = fence_seen_at - 600'
        )
        self.step()
        self.assertEqual(self.left, self.taken())

    def test_pause_holds_the_nodes_in_its_scope(self) -> None:
        self.give()
        self.die()
        self.step()
        self.records.begin_pause(OPERATOR, 600.0, 'cables')
        self.step()
        self.assertEqual((set(), []), (self.taken(), [*self.moves.moves()]))
        self.records.end_pauses(OPERATOR, ['req-order'])
        self.step()
        self.assertEqual(self.left, self.taken())

    def test_pause_holds_nodes_that_have_come_into_its_scope(self) -> None:
        self.give()
        self.die()
        self.step()
        # The dead service has not recorded where it is now.
        came = min(self.left)
        self.ironic.put(
            world.node(came, shard='a', instance_uuid=f'instance-{came}')
        )
        self.records.begin_pause(OPERATOR, 600.0, 'cables', shard='a')
        self.step()
        self.assertEqual(self.left - {came}, self.taken())
        self.records.end_pauses(OPERATOR, ['req-order'])
        self.step()
        self.assertEqual(self.left, self.taken())

    def hold_what_was_decided(self) -> None:
        """Let a pause begin between the decision and its transaction."""
        self.give()
        self.die()
        self.step()
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
        self.records.end_pauses(OPERATOR, ['req-order'])
        self.step()
        self.assertEqual(self.left, self.taken())
        self.assertEqual([], [*self.moves.moves(unfinished=True)])

    def test_many_newer_moves_do_not_hide_what_was_held(self) -> None:
        self.hold_what_was_decided()
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
        self.give()
        self.die()
        self.step()
        worker = self.worker(self.host)
        for state in (Enforcement.ABSENT, Enforcement.NO_RECORDS):
            self.ironic.middleware = state
            worker.run_step()
            (found,) = self.host.conditions.of_loops([Loop.ORDERS])
            self.assertEqual('not_enforced', found.code)
        self.assertEqual(set(), self.taken())
        self.ironic.middleware = Enforcement.ENFORCED
        # The one that failed let the other have the turn.
        self.step(self.worker(self.other))
        self.assertEqual(self.left, self.taken())
        self.step(worker)
        (found,) = self.host.conditions.of_loops([Loop.ORDERS])
        self.assertIsNone(found.code)

    def test_gate_keeps_a_node_and_the_service_says_so(self) -> None:
        self.give()
        self.die()
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
        (found,) = self.host.conditions.of_loops([Loop.ORDERS])
        self.assertEqual('order_refused', found.code)
        self.assertIn('no_operation_in_progress', found.error)
        self.ironic.put(world.node(busy, instance_uuid=f'instance-{busy}'))
        self.step(worker, worker)
        self.assertEqual(self.left, self.taken())
        (found,) = self.host.conditions.of_loops([Loop.ORDERS])
        self.assertIsNone(found.code)

    def test_one_service_at_a_time_carries_them_out(self) -> None:
        self.give()
        self.die()
        one, two = self.worker(self.host), self.worker(self.other)
        self.step(one, two, two)
        self.assertEqual(set(), self.taken())
        self.step(one)
        self.assertEqual(self.left, self.taken())

    def test_another_service_resumes_the_move_of_one_that_died(self) -> None:
        self.give(to='host3')
        self.die()
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
        self.step(heir)
        self.assertEqual(set(), self.taken())
        self.operator('UPDATE outbox SET sender_until = 0')
        self.step(heir)
        self.assertEqual(self.left, self.taken())
        (after,) = self.moves.moves()
        self.assertEqual(move.request_id, after.request_id)
        self.assertEqual([], [*self.moves.moves(unfinished=True)])

    def test_unfinished_move_waits_for_the_end_of_a_pause(self) -> None:
        self.hold_what_was_decided()
        with self.assertNoLogs(service.LOGGER, 'WARNING'):
            self.step()
        self.assertEqual(set(), self.taken())

    def test_rest_of_a_revoked_order_stays(self) -> None:
        self.hold_what_was_decided()
        self.records.end_pauses(OPERATOR, ['req-order'])
        self.records.give_order('host1', None, OPERATOR)
        self.step()
        self.assertEqual(set(), self.taken())
        self.assertEqual([], [*self.moves.moves(unfinished=True)])

    def test_sharded_service_lists_no_nodes_without_a_shard(self) -> None:
        self.give()
        self.die()
        worker = self.worker(self.host)
        self.step(worker)
        self.records.advertise(
            'host2', self.host.fence.epoch(), world.runs(shard_key='a')
        )
        self.ironic.calls.clear()
        self.step(worker)
        self.assertNotIn('scan', {name for name, _ in self.ironic.calls})
        self.assertTrue(worker.moves.sharded)

    def test_fenced_service_carries_nothing_out(self) -> None:
        self.give()
        self.die()
        self.host.fence.drop()
        before = self.state()
        self.step()
        self.assertEqual(before, self.state())

    def test_service_that_returns_says_what_it_lost(self) -> None:
        self.give()
        self.die()
        self.step()
        self.step()
        self.settle(self.host, self.other)
        back = self.start('host1', self.settings)
        self.settle(back, self.host, self.other)
        worker = self.worker(back)
        with self.assertLogs(service.LOGGER, 'WARNING') as logged:
            self.step(worker, worker)
        self.assertEqual(1, len(logged.output))
        (found,) = back.conditions.of_loops([Loop.ORDERS])
        self.assertEqual('nodes_taken', found.code)
        self.assertIn(f'{len(self.left)} deployed nodes moved', found.error)
        for one in (back, self.host) * 2:
            one.refresh()
        self.assertEqual(self.left, self.taken())
        self.give()
        self.step(worker)
        (found,) = back.conditions.of_loops([Loop.ORDERS])
        self.assertIsNone(found.code)

    def test_service_that_returned_in_time_lost_nothing(self) -> None:
        self.give(600)
        self.die()
        self.step()
        back = self.start('host1', self.settings)
        self.settle(back, self.host, self.other)
        self.step(self.worker(back))
        (found,) = back.conditions.of_loops([Loop.ORDERS])
        self.assertIsNone(found.code)

    def test_order_needs_a_key_and_the_middleware(self) -> None:
        for key, state in (('', Enforcement.ENFORCED), ('k', None)):
            self.ironic.middleware = state or Enforcement.OTHER_KEY
            with self.assertRaises(standing_orders.NotEnforcedError):
                standing_orders.require_enforcement(self.ironic, key)
