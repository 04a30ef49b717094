from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import exceptions, refusals
from ironic_ownership.engine.reservations import candidates
from tests.unit.engine import world
from tests.unit.engine.reservations import reserver_case
from tests.unit.engine.reservations.reserver_case import CLOSED, DELETING


class TestRelease(reserver_case.ReservingCase):
    def setUp(self) -> None:
        super().setUp()
        self.held = self.create()
        self.allocations.calls.clear()

    def test_release_by_another_process_is_left_alone(self) -> None:
        self.reservations.begin_deletion(self.held.id, 'another process')
        found = self.lifecycle().release(self.held, 'late')
        self.assertEqual(
            (DELETING, 'another process'), (found.state, found.detail)
        )
        self.assertEqual([], self.allocations.calls)

    def test_nothing_is_sent_to_ironic_without_the_right_to_act(self) -> None:
        for answers in (0, 1):
            rights = iter([self.host.fence.epoch()] * answers)

            def epoch(rights=rights) -> int:  # type: ignore[no-untyped-def]
                for right in rights:
                    return right
                raise exceptions.FencedError('too late')

            with self.assertRaises(exceptions.FencedError):
                self.lifecycle(epoch=epoch).release(self.held, 'x')
        self.assertEqual([], self.allocations.calls)

    def test_release_by_another_process_is_waited_for(self) -> None:
        begun = self.reservations.begin_deletion(self.held.id, 'x')

        def another_process(seconds: float) -> None:
            self.slept.append(seconds)
            if len(self.slept) == 3:
                self.reservations.close(begun.id, 'done')

        waiting = self.lifecycle(sleep=another_process)
        self.assertIs(CLOSED, waiting.await_release(begun).state)
        self.assertEqual(3, len(self.slept))
        self.assertEqual([], self.allocations.calls)


class TestLeftOver(reserver_case.ReservingCase):
    def test_node_allocated_after_the_release_is_freed(self) -> None:
        create = self.allocations.create

        def late(*args: Any, **values: Any) -> Any:
            (pending,) = self.reservations.reservations()
            self.reservations.close(pending.id, 'released')
            made = create(*args, **values)
            for number in range(1, 5):
                if world.uuid(number) != made.node_uuid:
                    self.ironic.put(
                        reserver_case.node(number, maintenance=True)
                    )
            # The cached snapshot of the nodes is out of date.
            self.shared.clock.elapse(candidates.LONGEST_AGE + 1)
            self.allocations.create = create  # type: ignore[method-assign]
            return made

        self.allocations.create = late  # type: ignore[method-assign]
        with self.assertRaises(refusals.NoMatchError):
            self.create()
        self.assert_nothing_is_held()
