from __future__ import annotations

import threading
import unittest
from collections.abc import Callable, Mapping

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.placement import loop
from ironic_ownership_plugin_kit.fakes import FakeClock as Clock
from tests.unit.engine import world

LOGGER = 'ironic_ownership.engine'
PATIENCE = 180.0
DOWN = exceptions.PlacementUnavailableError('down')


class Reporter:
    """Answers one after the other, the last one forever."""

    def __init__(self) -> None:
        self.answers: list[Exception | None] = [None]
        self.reports: list[refresh_result.RefreshResult] = []
        self.done = threading.Semaphore(0)
        self.interruptions: list[bool] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.withdrawn: list[str] = []

    def report(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        self.reports.append(seen)
        self.meanwhile()
        self.interruptions.append(interrupted())
        first = self.answers[0]
        answer = self.answers.pop(0) if len(self.answers) > 1 else first
        self.done.release()
        if answer is not None:
            raise answer

    def withdraw(self, uuid: str) -> None:
        self.withdrawn.append(uuid)

    def listed(self, nodes: Mapping[str, model.Node]) -> None:
        self.withdrawn = [u for u in self.withdrawn if u not in nodes]


class TestLoop(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.reporter = Reporter()
        self.clock = Clock()
        self.conditions = conditions.Conditions(self.clock)
        self.loop = loop.PlacementLoop(self.conditions, None, self.reporter)
        self.seen = refresh_result.RefreshResult({})

    def run_loop(self) -> threading.Thread:
        thread = threading.Thread(target=self.loop.run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, PATIENCE)
        self.addCleanup(self.loop.stop)
        return thread

    def wait_for_reports(self, number: int) -> None:
        for _ in range(number):
            self.assertTrue(self.reporter.done.acquire(timeout=PATIENCE))

    def test_each_refresh_is_reported_until_it_is_stopped(self) -> None:
        thread = self.run_loop()
        for _ in range(2):
            self.loop.refreshed(self.seen)
            self.wait_for_reports(1)
        self.loop.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertEqual([self.seen] * 2, self.reporter.reports)

    def test_other_errors_wait_for_the_next_refresh(self) -> None:
        # There is nothing to report before the first one.
        self.assertIsNone(self.loop.step())
        self.assertEqual([], self.reporter.reports)
        self.loop.refreshed(self.seen)
        for error, level in (
            (exceptions.FencedError('fenced'), None),
            (exceptions.RecordsUnavailableError('down'), None),
            (RuntimeError('a bug'), 'ERROR'),
        ):
            self.reporter.answers = [error]
            with (
                self.assertLogs(LOGGER, level)
                if level
                else self.assertNoLogs(LOGGER, 'INFO')
            ):
                self.assertIsNone(self.loop.step())

    def test_newer_refresh_interrupts_an_older_one(self) -> None:
        self.loop._seen = self.seen
        self.loop.step()
        self.reporter.meanwhile = lambda: self.loop.refreshed(self.seen)
        self.loop.step()
        self.assertEqual([False, True], self.reporter.interruptions)

    def test_outage_is_logged_once_and_retried_without_a_refresh(self) -> None:
        self.reporter.answers = [DOWN] * 9 + [None, DOWN, None]
        with self.assertLogs(LOGGER, 'INFO') as logs:
            pauses = self.pauses(9)
            (found,) = self.conditions.of_loops({Loop.PLACEMENT})
            self.assertEqual('placement_unavailable', found.code)
            pauses += self.pauses(1)
        self.assertEqual(
            {('placement', 'placement_unavailable'): 9},
            self.conditions.errors,
        )
        self.assertEqual(
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, None], pauses
        )
        self.assertEqual(
            ['WARNING', 'INFO'], [r.levelname for r in logs.records]
        )
        # Short again after a success.
        self.assertEqual([1.0, None], self.pauses(2))

    def pauses(self, reports: int) -> list[float | None]:
        """Report so often, while refreshes come; return the pauses."""
        found = []
        for _ in range(reports):
            self.loop.refreshed(self.seen)
            pause = self.loop.run_step()
            found.append(pause)
            if pause is not None:
                # No refresh cuts it short.
                self.clock.elapse(pause / 2)
                self.loop.refreshed(self.seen)
                self.assertEqual(pause / 2, self.loop.run_step())
                self.clock.elapse(pause / 2)
        return found

    def test_withdrawal_is_forwarded_immediately(self) -> None:
        self.loop.withdraw('a node')
        self.assertEqual(['a node'], self.reporter.withdrawn)
        # Before any report, so that an earlier one ends no withdrawal.
        nodes = {'a node': world.node(1)}
        self.loop.refreshed(refresh_result.RefreshResult(nodes))
        self.assertEqual([], self.reporter.withdrawn)
