"""Calls that may not return."""

from __future__ import annotations

import threading
import unittest
from unittest import mock

from ironic_ownership.contracts.calls import (
    KeyedCalls,
    LimitedCalls,
    PendingCalls,
    UnfinishedError,
)


class TestKeyedCalls(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.calls: KeyedCalls[int] = KeyedCalls()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)

    def work(self) -> int:
        self.begun.set()
        self.go_on.wait()
        return 1

    def test_caller_waits_for_the_call_of_another_thread(self) -> None:
        first = threading.Thread(
            target=self.calls.result, args=('key', self.work, 60)
        )
        first.start()
        self.begun.wait(60)
        threading.Timer(0.1, self.go_on.set).start()
        # 2 if the first one has ended by now.
        self.assertIn(self.calls.result('key', lambda: 2, 60), (1, 2))
        first.join(60)
        self.assertEqual(3, self.calls.result('key', lambda: 3, 60))

    def test_call_that_is_late_is_not_waited_for_again(self) -> None:
        for seconds in (0.05, 3600):
            with self.assertRaises(UnfinishedError):
                self.calls.result('key', self.work, seconds)
        self.assertEqual(2, self.calls.result('other', lambda: 2, 60))


class TestLimitedCalls(unittest.TestCase):
    def test_too_many_hanging_calls_are_refused_immediately(self) -> None:
        calls, go_on = LimitedCalls(2), threading.Event()
        self.addCleanup(go_on.set)
        for _ in range(2):
            with self.assertRaisesRegex(TimeoutError, 'within 0.05 s'):
                calls.within(0.05, go_on.wait)
        before = {*threading.enumerate()}
        with self.assertRaisesRegex(TimeoutError, '2 earlier calls'):
            calls.within(60, go_on.wait)
        # Those of other tests may end at any time.
        self.assertLessEqual({*threading.enumerate()}, before)
        go_on.set()
        while True:  # their threads are about to make room
            try:
                self.assertEqual(3, calls.within(60, lambda: 3))
                return
            except TimeoutError:
                continue

    def test_call_that_fails_makes_room(self) -> None:
        calls, full = LimitedCalls(1), RuntimeError("can't start new thread")
        for _ in range(3):
            with self.assertRaises(KeyError):
                calls.within(60, lambda: {}['missing'])
        for _ in range(3):
            with (
                mock.patch.object(threading.Thread, 'start', side_effect=full),
                self.assertRaises(RuntimeError),
            ):
                calls.within(60, lambda: 3)
        self.assertEqual(3, calls.within(60, lambda: 3))


class TestPendingCalls(unittest.TestCase):
    def test_longest_call_of_each_server_counts(self) -> None:
        now = [0.0]
        calls = PendingCalls(lambda: now[0])
        with calls.to('database'):
            now[0] = 2.0
            with calls.to('Ironic'), calls.to('database'):
                now[0] = 5.0
                self.assertEqual(
                    {'database': 5.0, 'Ironic': 3.0}, calls.durations()
                )
            self.assertEqual({'database': 5.0}, calls.durations())
        self.assertEqual({}, calls.durations())

    def test_call_that_fails_is_no_longer_pending(self) -> None:
        calls = PendingCalls()
        with self.assertRaises(KeyError), calls.to('Ironic'):
            raise KeyError
        self.assertEqual({}, calls.durations())
