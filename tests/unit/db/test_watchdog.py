from __future__ import annotations

import os
import threading
import unittest
from unittest import mock

from ironic_ownership.db import watchdog

FOREVER = 3600.0


class TestWatchdog(unittest.TestCase):
    def setUp(self) -> None:
        self.watchdog = watchdog.Watchdog()
        self.expired = threading.Event()

    def test_call_that_takes_too_long_is_ended(self) -> None:
        with self.watchdog.within(0.01, self.expired.set):
            self.assertTrue(self.expired.wait(60))

    def test_shorter_call_is_ended_while_a_longer_one_runs(self) -> None:
        with (
            self.watchdog.within(FOREVER, self.fail),
            self.watchdog.within(0.01, self.expired.set),
        ):
            self.assertTrue(self.expired.wait(60))

    def test_call_that_has_ended_is_left_alone(self) -> None:
        for _ in range(100):
            with self.watchdog.within(0.001, self.expired.set):
                pass
            self.expired.clear()
            with self.watchdog.within(0.01, threading.Event().set):
                self.assertFalse(self.expired.wait(0.002))

    def test_thread_that_cannot_be_started_is_started_by_the_next_call(
        self,
    ) -> None:
        ended, innocent = threading.Event(), threading.Event()
        full = RuntimeError("can't start new thread")
        with (
            mock.patch.object(threading.Thread, 'start', side_effect=full),
            self.assertRaises(RuntimeError),
            self.watchdog.within(0.0, innocent.set),
        ):
            self.fail('the call would have no bound')
        with self.watchdog.within(0.0, ended.set):
            self.assertTrue(ended.wait(60))
        self.assertFalse(innocent.is_set())

    def test_child_of_a_fork_has_a_thread_of_its_own(self) -> None:
        with self.watchdog.within(FOREVER, self.fail):
            child = os.fork()
            if child == 0:
                self.watchdog.reset()
                with self.watchdog.within(0.01, self.expired.set):
                    os._exit(0 if self.expired.wait(60) else 1)
            _, status = os.waitpid(child, 0)
        self.assertEqual(0, status)
