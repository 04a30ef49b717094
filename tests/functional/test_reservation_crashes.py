"""A reservation that ends at any step is settled by the next refresh.

A child process does what an operator does, and dies by SIGKILL at one step
after the other: before each commit, and before and after each request.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator

from ironic_ownership.cmd import cli
from ironic_ownership.contracts import events, exceptions
from tests.functional.support import reservation_case, steps

_FORK = multiprocessing.get_context('fork')
_MOST_STEPS = 100
_TRIES = 10


class CrashTest(reservation_case.ReservingTestCase):
    def setUp(self) -> None:
        super().setUp()
        # It beats only when it refreshes, and has to live in between.
        self.service = self.begin('rack1')

    def run_child(self, words: list[str], last: int) -> int | None:
        """Run a command in a child that dies at a step; return its status."""

        def work() -> None:
            os.close(2)
            os.open(os.devnull, os.O_WRONLY)
            counted = steps.Steps(last, steps.die)
            counted.count_commits()
            counted.count_requests()
            with contextlib.redirect_stdout(io.StringIO()):
                code = cli.main(
                    ['--config-file', str(self.lab.config), *words]
                )
            os._exit(code)

        child = _FORK.Process(target=work)
        child.start()
        child.join(180)
        return child.exitcode

    def each_step(
        self,
        words: Callable[[], list[str]],
    ) -> Iterator[int]:
        """Yield after a death at each step, until there is none."""
        for last in range(1, _MOST_STEPS):
            status = self.run_child(words(), last)
            # "Not finished" is what a machine that starves makes of it.
            self.assertIn(status, (0, 4, -signal.SIGKILL))
            self.wait_for_ironic()
            yield last
            self.give_back()
            if status == 0:
                self.assertGreater(last, 8)
                return
        self.fail('never came to its end')

    def give_back(self) -> None:
        for one in self.reservations.reservations():
            self.end(one.id)
        self.assert_sound()

    def end(self, key: str) -> None:
        """Delete a reservation, again while Ironic is too busy to answer."""
        reserver = self.service.wired.new_reserver()
        for _ in range(_TRIES):
            self.age()
            with contextlib.suppress(exceptions.ReservationUnfinishedError):
                reserver.delete(key, origin=events.Origin('another client'))
                return

    def settle(self) -> None:
        """Let the take-over time pass, and refresh."""
        for _ in range(_TRIES):
            self.age()
            self.service.refresh()
            if (
                'reservations'
                not in self.service.host.context.conditions.standing
            ):
                break  # Ironic has answered
        self.assert_sound()

    def create_words(self) -> list[str]:
        self.instance = reservation_case.instance()
        return ['reservation', 'create', *self.options(self.instance)]

    def delete_words(self) -> list[str]:
        made = reservation_case.result(
            self.create(reservation_case.instance())
        )
        return ['reservation', 'delete', made['id'], '--yes']

    def test_creation_killed_at_any_step(self) -> None:
        ends = set()
        for _ in self.each_step(self.create_words):
            self.settle()
            ends.add(len(self.held_by_ironic()))
        self.assertEqual({0, 1}, ends)

    def test_deletion_killed_at_any_step(self) -> None:
        ends = set()
        for _ in self.each_step(self.delete_words):
            self.settle()
            ends.add(len(self.held_by_ironic()))
        self.assertEqual({0, 1}, ends)
