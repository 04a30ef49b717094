"""Pending calls: named by server, with the longest wait of each."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts import pending_calls


class TestPendingCalls(unittest.TestCase):
    def test_longest_call_of_each_server_counts(self) -> None:
        now = [0.0]
        calls = pending_calls.PendingCalls(lambda: now[0])
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
        calls = pending_calls.PendingCalls()
        with self.assertRaises(KeyError), calls.to('Ironic'):
            raise KeyError
        self.assertEqual({}, calls.durations())
