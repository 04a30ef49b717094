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
