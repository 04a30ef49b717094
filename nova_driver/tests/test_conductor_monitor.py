from __future__ import annotations

import threading
import unittest

from ironic_ownership_nova.conductor_monitor import ConductorMonitor


class MonitorTest(unittest.TestCase):
    def setUp(self) -> None:
        self.failing = False
        self.calls: list[str] = []
        self.monitor = ConductorMonitor(
            self.ping,
            lambda: self.calls.append('resign'),
            lambda: self.calls.append('rejoin'),
            10,
            3,
        )

    def ping(self) -> None:
        if self.failing:
            raise OSError('no answer')

    def check(self, times: int) -> None:
        for _ in range(times):
            self.monitor.ask()
            self.monitor.check()

    def test_one_success_begins_the_count_again(self) -> None:
        for _ in range(3):
            self.failing = True
            self.check(2)
            self.failing = False
            self.check(1)
        self.assertEqual([], self.calls)

    def test_request_that_never_ends_counts_as_none(self) -> None:
        # So it is while the message bus cannot be reached.
        resigned, end = threading.Event(), threading.Event()
        self.addCleanup(end.set)
        monitor = ConductorMonitor(
            end.wait, resigned.set, self.fail, interval=0.01, limit=3
        )
        self.addCleanup(monitor.stop)
        monitor.start()
        self.assertTrue(resigned.wait(60))

    def test_without_a_limit_nothing_is_asked(self) -> None:
        monitor = ConductorMonitor(
            self.fail, self.fail, self.fail, interval=0.01, limit=0
        )
        before = {*threading.enumerate()}
        monitor.start()
        # Those of other tests may end at any time.
        self.assertLessEqual({*threading.enumerate()}, before)

    def test_failures_in_a_row_resign_once_until_a_success(self) -> None:
        self.failing = True
        self.check(2)
        self.assertEqual([], self.calls)
        self.check(5)
        self.assertEqual(['resign'], self.calls)
        self.failing = False

        def fail() -> None:
            raise ValueError

        self.monitor.rejoin = fail
        with self.assertLogs(level='ERROR'):
            self.check(1)
        self.monitor.rejoin = lambda: self.calls.append('rejoin')
        self.check(1)
        self.assertEqual(['resign', 'rejoin'], self.calls)
