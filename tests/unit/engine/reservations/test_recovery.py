from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ironic_ownership.contracts import exceptions, reservations
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.reservations import lifecycle
from tests.unit.engine import world
from tests.unit.engine.reservations import reserver_case
from tests.unit.engine.reservations.reserver_case import (
    CLOSED,
    DELETING,
    DOWN,
    ORIGIN,
    PENDING,
    RESERVING,
    instance,
    node,
    request,
)

LONG = lifecycle.TAKE_OVER_AFTER + 1
_PORT = ('begin', 'activate', 'confirm', 'begin_deletion', 'keep', 'close')
_IRONIC = ('create', 'get', 'delete')


class PowerCut(BaseException):
    """The process ends here; nothing in it runs any more."""


class Steps:
    """Ends a process before or after one of its steps.

    :param last: number of the step, from 1.
    """

    def __init__(self, last: int) -> None:
        self.last = last
        self.taken = 0

    def wrap(self, target: Any, names: tuple[str, ...]) -> Any:
        """Return the target, with these methods counted."""
        steps = self

        class Counted:
            def __getattr__(self, name: str) -> Any:
                found = getattr(target, name)
                return steps._counted(found) if name in names else found

        return Counted()

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **values: Any) -> Any:
            self._step()
            answer = call(*args, **values)
            self._step()
            return answer

        return counted

    def _step(self) -> None:
        self.taken += 1
        if self.taken == self.last:
            raise PowerCut


class TestClockSetBack(reserver_case.ReservingCase):
    def test_what_was_unfinished_before_is_settled(self) -> None:
        """Its age counts from when it was first seen, not from its time."""
        self.leave_pending()
        self.age(-3600)
        self.host.refresh()
        found = self.recovery(self.host)
        found.conditions = conditions.Conditions(self.shared.clock)
        seen = refresh_result.RefreshResult(
            dict(self.ironic.nodes), world.interpret(RESERVING)
        )
        for seconds, open_ones in ((0, 1), (LONG - 2, 1), (2, 0)):
            self.shared.clock.elapse(seconds)
            self.host.beat()
            found.recover(seen)
            self.assertEqual(
                open_ones, len(self.reservations.reservations()), seconds
            )


class TestPowerCuts(reserver_case.ReservingCase):
    def cut(self, last: int, act: Callable[[Any], object]) -> bool:
        """Let a process die at a step; tell whether it came that far."""
        steps = Steps(last)
        reserver = self.build(
            steps.wrap(self.client(), _IRONIC),
            steps.wrap(self.reservations, _PORT),
        )
        try:
            act(reserver)
        except PowerCut:
            return True
        return False

    def forget(self) -> None:
        """Start again with the same nodes."""
        for held in list(self.reservations.reservations()):
            self.reserver.delete(held.id, origin=ORIGIN)
        self.assert_nothing_is_held()

    def each_step(
        self, prepare: Callable[[], object], act: Callable[[Any], object]
    ) -> Any:
        """Yield after a death at each step; there have to be some."""
        for last in range(1, 50):
            prepare()
            if not self.cut(last, act):
                self.assertGreater(last, 4)
                self.forget()
                return
            yield last
            self.forget()
        self.fail('never came to its end')

    def create_one(self, reserver: Any) -> None:
        reserver.create(request(), origin=ORIGIN)

    def delete_one(self, reserver: Any) -> None:
        reserver.delete(instance(), origin=ORIGIN)

    def test_creation_cut_at_any_step_is_settled_by_the_next_refresh(
        self,
    ) -> None:
        ends = set()
        for _ in self.each_step(lambda: None, self.create_one):
            self.recover(after=LONG)
            self.assert_sound()
            ends.add(len(self.made))
        self.assertEqual({0, 1}, ends)

    def test_what_was_cut_at_any_step_goes_on_when_it_is_repeated(
        self,
    ) -> None:
        for prepare, act, after in (
            (lambda: None, self.create_one, 0.0),
            (self.create, self.delete_one, LONG),
        ):
            for _ in self.each_step(prepare, act):
                self.age(after)
                self.assert_reserved(self.create())
                self.assert_sound()

    def test_deletion_cut_at_any_step_is_settled_by_the_next_refresh(
        self,
    ) -> None:
        for last in self.each_step(self.create, self.delete_one):
            self.recover(after=LONG)
            self.assert_sound()
            self.assertEqual(last == 1, bool(self.made))

    def test_recovery_cut_at_any_step_is_done_by_the_next_one(self) -> None:
        def leave() -> None:
            self.assertTrue(self.cut(4, self.create_one))

        def recover(reserver: Any) -> None:
            kept = self.reservations, self.allocations
            self.reservations = reserver.lifecycle.reservations
            self.allocations = reserver.lifecycle.allocations_of()
            try:
                self.recover(after=LONG)
            finally:
                self.reservations, self.allocations = kept

        for _ in self.each_step(leave, recover):
            self.recover(after=LONG)
            self.assert_sound()


class TestRecovery(reserver_case.ReservingCase):
    def test_reservation_in_progress_is_left_alone(self) -> None:
        self.leave_pending()
        self.recover(after=1)
        self.assertEqual([PENDING], [r.state for r in self.everything()])
        self.recover(after=LONG)
        self.assertEqual([CLOSED], [r.state for r in self.everything()])

    def test_node_that_ironic_still_looks_for_is_waited_for(self) -> None:
        self.leave_pending()
        looking = reservations.Allocation(
            instance(), reservations.AllocationState.ALLOCATING
        )
        self.allocations.get = lambda _: looking  # type: ignore
        self.recover(after=LONG)
        self.assertEqual([PENDING], [r.state for r in self.everything()])

    def test_what_ironic_does_not_hold_any_more_is_closed(self) -> None:
        made = self.create()
        # The instance was destroyed, and its allocation went with it.
        self.ironic.put(node(int(str(made.node_uuid)[-4:])))
        self.recover()
        self.assert_nothing_is_held()
        (closed,) = self.everything()
        self.assertIn('Ironic no longer holds', str(closed.detail))

    def test_allocation_without_a_record_is_released(self) -> None:
        self.allocate(2)
        self.allocate(3, of=2, owner='host2')
        self.recover()
        self.assertEqual([instance(2)], list(self.made))

    def test_reservation_that_was_moved_is_not_given_back(self) -> None:
        made = self.create()
        other = self.start('host2', RESERVING)
        for table in ('reservations', 'compute_nodes', 'instances'):
            self.operator(f"UPDATE {table} SET host = 'host2'")
        self.recover(after=1)
        self.recover(other, after=1)
        self.assert_reserved(dataclasses.replace(made, host='host2'))
        self.assert_sound()

    def test_unconfirmed_one_expires_and_a_confirmed_one_does_not(
        self,
    ) -> None:
        first, second = self.create(1), self.create(2)
        self.reserver.confirm(second.id)
        self.recover(after=3599 - 60)
        self.assertEqual(2, len(self.made))
        self.recover(after=120)
        self.assertEqual([second.instance_uuid], list(self.made))
        self.assertIn('expired', str(self.reserver.find(first.id).detail))
        self.assert_sound()

    def test_node_that_is_used_confirms_its_reservation(self) -> None:
        for state in ('deploying', 'active'):
            made = self.create()
            self.put_reserved(made, provision_state=state)
            self.recover(after=7200)
            found = self.reserver.find(made.id)
            self.assertTrue(found.confirmed, state)
            self.assert_reserved(found)

    def test_node_that_is_used_since_the_list_does_not_expire(self) -> None:
        made = self.create()
        listed = list(self.ironic.nodes.values())
        self.put_reserved(made, provision_state='active')
        self.age(7200)
        self.repair_only(listed)
        self.assertNotIn(
            'delete', [name for name, _ in self.allocations.calls]
        )
        found = self.reserver.find(made.id)
        self.assertTrue(found.confirmed)
        self.assert_reserved(found)

    def test_service_that_was_disabled_is_given_nothing(self) -> None:
        activate = self.reservations.activate
        self.before(self.reservations, 'activate', self._power_cut)
        with self.assertRaises(PowerCut):
            self.create()
        self.reservations.activate = activate  # type: ignore
        self.records.set_service('host1', actor='x', disabled=True)
        self.recover(after=LONG)
        self.assert_nothing_is_held()

    @staticmethod
    def _power_cut() -> None:
        raise PowerCut

    def test_service_without_a_right_settles_nothing(self) -> None:
        made = self.create()
        self.reservations.begin_deletion(made.id, 'x')
        nodes = list(self.ironic.nodes.values())
        self.host.refresh()
        self.records.set_service('host1', actor='x', forced_down=True)
        self.allocations.calls.clear()
        for drop in (lambda: None, self.host.fence.drop):
            drop()
            with self.assertRaises(exceptions.FencedError):
                self.repair_only(nodes)
        self.assertNotIn(
            'delete', [name for name, _ in self.allocations.calls]
        )

    def repair_only(self, nodes: list[Any]) -> None:
        self.age(LONG)
        seen = refresh_result.RefreshResult({n.uuid: n for n in nodes})
        self.recovery(self.host).recover(seen)

    def test_outage_is_logged_once_and_caught_up_with(self) -> None:
        made = self.create()
        self.reservations.begin_deletion(made.id, 'x')
        self.allocations.fail_with = DOWN
        for _ in range(2):
            self.recover(after=LONG)
        self.assertIn('reservations', self.host.conditions.standing)
        self.assertIs(DELETING, self.reserver.find(made.id).state)
        self.allocations.fail_with = None
        self.recover(after=LONG)
        self.assertNotIn('reservations', self.host.conditions.standing)
        self.assert_nothing_is_held()

    def leave_deletions(self, count: int) -> list[str]:
        """Begin deletions that no process finishes; return their ids."""
        self.ironic.put(*map(node, range(5, count + 1)))
        made = [self.create(number).id for number in range(1, count + 1)]
        for one in made:
            self.reservations.begin_deletion(one, 'x')
        return made

    def test_refresh_waits_for_few_reservations_in_an_outage(self) -> None:
        self.leave_deletions(12)
        self.allocations.failures['delete'] = DOWN
        self.recover(after=LONG)
        self.assertLessEqual(sum(self.slept), 4 * sum(lifecycle.PAUSES))
        said = self.host.conditions.standing['reservations']
        self.assertLess(len(said), 1000)

    def test_those_that_fail_are_tried_after_all_others(self) -> None:
        made = self.leave_deletions(12)
        delete = self.allocations.delete
        stuck = {self.reserver.find(one).instance_uuid for one in made[:10]}

        def refuse(instance_uuid: str) -> bool:
            if instance_uuid in stuck:
                raise DOWN
            return delete(instance_uuid)

        self.allocations.delete = refuse  # type: ignore[method-assign]
        for _ in range(4):
            self.recover(after=LONG)
        found = {one.id: one.state for one in self.everything()}
        self.assertEqual({CLOSED}, {found[one] for one in made[10:]})
        self.assertEqual({DELETING}, {found[one] for one in made[:10]})

    def test_without_the_policy_old_reservations_are_still_settled(
        self,
    ) -> None:
        made = self.create()
        self.reservations.begin_deletion(made.id, 'x')
        self.recover(after=LONG, settings=world.ALL)
        self.assert_nothing_is_held()
        self.allocations.calls.clear()
        self.recover(after=LONG, settings=world.ALL)
        self.assertEqual([], self.allocations.calls)

    def test_what_is_in_order_is_left_as_it_is(self) -> None:
        made = self.create()
        self.recover(after=1)
        before = self.state()
        self.allocations.calls.clear()
        self.recover(after=1)
        self.assertEqual(before, self.state())
        self.assertEqual([('mine', 'host1')], self.allocations.calls)
        self.assert_reserved(made)
