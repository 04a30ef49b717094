from __future__ import annotations

import sys
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

    def test_loops_are_read_while_others_are_started(self) -> None:
        # The health of a process is read from its first moment on.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)
        release = threading.Event()
        self.addCleanup(release.set)
        self.addCleanup(self.stopping.set)
        found: set[str] = set()
        errors: list[BaseException] = []
        over = threading.Event()

        def read() -> None:
            try:
                while not over.is_set():
                    found.update(self.supervisor.dead)
                    self.supervisor.running_for(0)
            except BaseException as exc:  # noqa: BLE001 - asserted below
                errors.append(exc)

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(200):
            self.supervisor.start(f'loop{number}', release.wait)
        over.set()
        reader.join(PATIENCE)
        self.assertEqual([], errors)
        self.assertEqual(set(), found)


class TestTexts(unittest.TestCase):
    def test_text_that_raises_is_described(self) -> None:
        class UnspeakableError(Exception):
            def __str__(self) -> str:
                raise SystemExit

        self.assertEqual(
            'UnspeakableError: its text cannot be had: SystemExit',
            foreign_errors.described(UnspeakableError()),
        )
