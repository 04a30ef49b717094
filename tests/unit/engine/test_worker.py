from __future__ import annotations

import sys
import threading
import unittest

from ironic_ownership.engine import conditions
from ironic_ownership.engine.worker import LOOP_ENDED, Scheduler, Worker

PATIENCE = 180.0


class Loop(Worker):
    """Waits until it is stopped, or does what a test wants."""

    def __init__(self, run=None) -> None:
        super().__post_init__()
        if run is not None:
            self.run = run

    def step(self) -> None:
        """Do nothing."""


class TestScheduler(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.conditions = conditions.Conditions()
        self.scheduler = Scheduler(self.conditions, lambda: self.now)

    def start(self, run=None) -> None:
        """Start a loop, and note the pauses until it is started again."""
        self.pauses: list[float] = []
        self.scheduler._stopping.wait = self.pauses.append
        self.scheduler.start('refresh', Loop(run))
        self.scheduler.join('refresh', PATIENCE)

    def test_wake_in_the_middle_of_a_step_makes_the_next_one_due(self) -> None:
        loop = Loop()
        loop.step = loop.wake
        loop.run_step()
        self.assertTrue(loop._wanted.is_set())

    def test_loop_that_ends_is_reported_and_started_again(self) -> None:
        errors = [SystemExit(0), KeyboardInterrupt(), BaseException('all')]

        def run() -> None:
            if errors:
                raise errors.pop(0)
            if len(self.pauses) > 3:
                self.scheduler.stop()

        with self.assertLogs(conditions.__name__, 'WARNING') as logs:
            self.start(run)
        self.assertEqual([1.0, 2.0, 4.0, 8.0], self.pauses)
        for text, record in zip(
            ('SystemExit: 0', 'KeyboardInterrupt', 'all', 'started again'),
            logs.records,
            strict=True,
        ):
            self.assertIn(text, record.getMessage())
        (condition,) = self.conditions.of_loops((), ())
        self.assertEqual(
            ('refresh', LOOP_ENDED), (condition.loop, condition.code)
        )

    def test_loop_that_ran_for_long_is_started_again_soon(self) -> None:
        lasts = [1.0, 1.0, 600.0, 1.0]

        def run() -> None:
            self.now += sum(self.pauses[-1:]) + lasts.pop(0)
            if not lasts:
                self.scheduler.stop()

        self.start(run)
        self.assertEqual([1.0, 2.0, 1.0], self.pauses)

    def test_dead_thread_is_one_that_should_run(self) -> None:
        release = threading.Event()
        self.scheduler._supervise = lambda *args: release.wait(PATIENCE)
        self.scheduler.start('epoch', Loop())
        self.assertEqual(frozenset(), self.scheduler.dead)
        release.set()
        self.scheduler.join('epoch', PATIENCE)
        self.assertEqual({'epoch'}, self.scheduler.dead)
        self.scheduler.stop()
        self.assertEqual(frozenset(), self.scheduler.dead)

    def test_loops_are_read_while_others_are_started(self) -> None:
        # The health of a process is read from its first moment on.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)
        over = threading.Event()
        self.addCleanup(over.set)
        found: set[str] = set()
        errors: list[BaseException] = []

        def read() -> None:
            try:
                while not over.is_set():
                    found.update(self.scheduler.dead)
                    self.scheduler.running_for(0)
            except BaseException as exc:  # noqa: BLE001 - asserted below
                errors.append(exc)

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(200):
            loop = Loop()
            self.addCleanup(loop.stop)
            self.scheduler.start(f'loop{number}', loop)
        over.set()
        reader.join(PATIENCE)
        self.assertEqual(([], set()), (errors, found))
        self.scheduler.stop()
