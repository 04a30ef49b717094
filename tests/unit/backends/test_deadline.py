from __future__ import annotations

import threading
import unittest

from ironic_ownership.backends import deadline


class TestCallWithin(unittest.TestCase):
    def test_result_comes_back(self) -> None:
        self.assertEqual(3, deadline.call_within(10, lambda: 3))

    def test_error_comes_back(self) -> None:
        with self.assertRaises(KeyError):
            deadline.call_within(10, lambda: {}['missing'])

    def test_call_that_hangs_is_abandoned(self) -> None:
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        with self.assertRaises(TimeoutError):
            deadline.call_within(0.05, go_on.wait)


class TestCalls(unittest.TestCase):
    def test_too_many_hanging_calls_are_refused_immediately(self) -> None:
        calls, go_on = deadline.Calls(2), threading.Event()
        self.addCleanup(go_on.set)
        for _ in range(2):
            with self.assertRaises(TimeoutError):
                calls.within(0.05, go_on.wait)
        before = {*threading.enumerate()}
        with self.assertRaisesRegex(TimeoutError, '2 earlier calls'):
            calls.within(60, go_on.wait)
        # Those of other tests may end at any time.
        self.assertLessEqual({*threading.enumerate()}, before)

    def test_one_that_ended_makes_room(self) -> None:
        calls, go_on = deadline.Calls(1), threading.Event()
        ended = threading.Event()
        with self.assertRaises(TimeoutError):
            calls.within(0.05, lambda: go_on.wait() and ended.set())
        go_on.set()
        ended.wait(60)
        while True:  # its thread is about to make room
            try:
                self.assertEqual(3, calls.within(60, lambda: 3))
                return
            except TimeoutError:
                continue

    def test_error_makes_room_too(self) -> None:
        calls = deadline.Calls(1)
        for _ in range(3):
            with self.assertRaises(KeyError):
                calls.within(60, lambda: {}['missing'])
