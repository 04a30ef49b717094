from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.reservations import free_node_cache, release
from tests.unit.engine import world
from tests.unit.engine.reservations import reserver_case
from tests.unit.engine.reservations.reserver_case import CLOSED, DELETING


class TestEnding(reserver_case.ReservingCase):
    def setUp(self) -> None:
        super().setUp()
        self.held = self.create()
        self.allocations.calls.clear()

    def ending(self, **values: Any) -> release.Ending:
        return release.Ending(
            self.reservations,
            lambda _: self.allocations,
            self.patience(),
            **values,
        )

    def test_who_comes_second_keeps_his_hands_off(self) -> None:
        self.reservations.begin_deletion(self.held.id, 'somebody else')
        found = self.ending().end(self.held, 'late')
        self.assertEqual(
            (DELETING, 'somebody else'), (found.state, found.detail)
        )
        self.assertEqual([], self.allocations.calls)

    def test_who_was_confirmed_meanwhile_does_not_expire(self) -> None:
        self.reservations.confirm(self.held.id)
        self.assert_reserved(self.ending().end(self.held, 'expired'))

    def test_without_a_right_ironic_is_not_asked(self) -> None:
        def may_act() -> None:
            raise exceptions.FencedError('too late')

        with self.assertRaises(exceptions.FencedError):
            self.ending(may_act=may_act).end(self.held, 'x')
        self.assertEqual([], self.allocations.calls)

    def test_end_that_somebody_else_brings_about_is_waited_for(self) -> None:
        begun = self.reservations.begin_deletion(self.held.id, 'x')

        def somebody_else(seconds: float) -> None:
            self.slept.append(seconds)
            if len(self.slept) == 3:
                self.reservations.close(begun.id, 'done')

        ending = self.ending()
        ending._patience.sleep = somebody_else
        self.assertIs(CLOSED, ending.wait(begun).state)
        self.assertEqual(3, len(self.slept))
        self.assertEqual([], self.allocations.calls)


class TestLeftOver(reserver_case.ReservingCase):
    def test_node_that_came_after_its_reservation_was_given_up_is_given_back(
        self,
    ) -> None:
        create = self.allocations.create

        def late(*args: Any, **values: Any) -> Any:
            (pending,) = self.reservations.reservations()
            self.reservations.close(pending.id, 'given up')
            made = create(*args, **values)
            for number in range(1, 5):
                if world.uuid(number) != made.node_uuid:
                    self.ironic.put(
                        reserver_case.node(number, maintenance=True)
                    )
            # Nobody has seen the nodes as they were any more.
            self.shared.clock.elapse(free_node_cache.LONGEST_AGE + 1)
            self.allocations.create = create  # type: ignore[method-assign]
            return made

        self.allocations.create = late  # type: ignore[method-assign]
        with self.assertRaises(exceptions.NoMatchError):
            self.create()
        self.assert_nothing_is_held()
