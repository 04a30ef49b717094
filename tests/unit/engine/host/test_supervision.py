from __future__ import annotations

import threading
import unittest

from ironic_ownership.contracts import foreign_errors
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import supervision

PATIENCE = 180.0
LOGGER = 'ironic_ownership.engine.conditions'


class TestSupervisor(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conditions = conditions.Conditions()
        self.stopping = threading.Event()
        self.pauses: list[float] = []
        self.supervisor = supervision.Supervisor(
            self.conditions, self.stopping
        )
        self.stopping.wait = self.pause  # type: ignore[method-assign]

    def pause(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        return self.stopping.is_set()

    def run_until_stopped(self, errors: list[BaseException | None]) -> None:
        def target() -> None:
            if not errors:
                self.stopping.set()
                return
            error = errors.pop(0)
            if error is not None:
                raise error

        with self.assertLogs(LOGGER, 'WARNING') as logs:
            thread = self.supervisor.start('refresh', target)
            thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.logged = [record.getMessage() for record in logs.records]

    def test_loop_that_ends_is_reported_and_started_again(self) -> None:
        self.run_until_stopped(
            [SystemExit(0), KeyboardInterrupt(), BaseException('all'), None]
        )
        self.assertEqual([1.0, 2.0, 4.0, 8.0], self.pauses)
        for text, logged in zip(
            ('SystemExit: 0', 'KeyboardInterrupt', 'all', 'started again'),
            self.logged,
            strict=True,
        ):
            self.assertIn(text, logged)
        (condition,) = self.conditions.of_loops((), ())
        self.assertEqual(
            ('refresh', supervision.LOOP_ENDED),
            (condition.loop, condition.code),
        )

    def test_dead_thread_is_one_that_should_run(self) -> None:
        release = threading.Event()
        self.supervisor._run = lambda *args: release.wait(PATIENCE)
        thread = self.supervisor.start('epoch', release.set)
        self.assertEqual(frozenset(), self.supervisor.dead)
        release.set()
        thread.join(PATIENCE)
        self.assertEqual({'epoch'}, self.supervisor.dead)
        self.stopping.set()
        self.assertEqual(frozenset(), self.supervisor.dead)


class TestTexts(unittest.TestCase):
    def test_text_that_raises_is_described(self) -> None:
        class UnspeakableError(Exception):
            def __str__(self) -> str:
                raise SystemExit

        self.assertEqual(
            'UnspeakableError: its text cannot be had: SystemExit',
            foreign_errors.described(UnspeakableError()),
        )
