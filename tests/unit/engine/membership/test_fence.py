from __future__ import annotations

import time
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import monotonic
from ironic_ownership.engine.membership import fence
from ironic_ownership_plugin_kit.fakes import FakeClock

TTL, MARGIN = 20.0, 1.0


class TestFence(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = FakeClock()
        self.fence = fence.Fence(TTL, MARGIN, self.clock)

    def assert_fenced(self) -> None:
        self.assertFalse(self.fence.may_act)
        with self.assertRaises(exceptions.FencedError):
            self.fence.epoch()

    def test_right_lasts_until_start_of_the_beat_ttl_less_margin(self) -> None:
        self.fence.open(self.clock(), 3)
        self.clock.elapse(TTL - MARGIN - 0.001)
        self.assertEqual(3, self.fence.epoch())
        self.assertTrue(self.fence.may_act)
        self.clock.elapse(0.001)
        self.assert_fenced()

    def test_late_answer_does_not_count_from_its_end(self) -> None:
        started = self.clock()
        self.clock.elapse(15)
        self.fence.open(started, 3)
        self.clock.elapse(4)
        self.assert_fenced()

    def test_answer_that_comes_too_late_gives_no_right_at_all(self) -> None:
        started = self.clock()
        self.clock.elapse(TTL)
        self.fence.open(started, 3)
        self.assert_fenced()

    def test_dropped_right_ends_immediately(self) -> None:
        self.fence.open(self.clock(), 3)
        self.fence.drop()
        self.assert_fenced()

    @given(
        st.lists(st.tuples(st.floats(0, 30), st.floats(0, 30)), max_size=20)
    )
    def test_right_never_outlives_the_membership(self, beats) -> None:
        """Members expire ``ttl`` after the beat, at the earliest."""
        dead_at = float('-inf')
        for pause, duration in beats:
            self.clock.elapse(pause)
            started = self.clock()
            self.clock.elapse(duration)
            self.fence.open(started, 1)
            dead_at = started + TTL
            if self.clock() >= dead_at:
                self.assertFalse(self.fence.may_act)

    def test_default_clock_runs_forward(self) -> None:
        first = monotonic()
        self.assertLessEqual(first, monotonic())
        self.assertGreaterEqual(first, time.monotonic() - 60)
