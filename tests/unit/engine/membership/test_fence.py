from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.membership import fence
from ironic_ownership_plugin_kit.fakes import FakeClock

TTL, MARGIN = 20.0, 1.0


class TestFence(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = FakeClock()
        self.fence = fence.Fence(TTL, MARGIN, self.clock)

    def assert_fenced(self) -> None:
        self.assertFalse(self.fence.may_act)
        self.assertRaises(exceptions.FencedError, self.fence.epoch)

    def test_right_lasts_until_start_of_the_beat_ttl_less_margin(self) -> None:
        started = self.clock()
        self.clock.elapse(15)  # until a late answer
        self.fence.open(started, 3)
        self.clock.elapse(TTL - MARGIN - 15.001)
        self.assertEqual(3, self.fence.epoch())
        self.assertTrue(self.fence.may_act)
        self.clock.elapse(0.001)
        self.assert_fenced()

    def test_dropped_right_ends_immediately(self) -> None:
        self.fence.open(self.clock(), 3)
        self.fence.drop()
        self.assert_fenced()

    def test_wait_misses_no_change_and_ends_in_time(self) -> None:
        changes = self.fence.changes

        def met() -> bool:
            self.clock.elapse(1)
            changes.notify()
            return changes.count == 3

        for timeout, is_met in ((2, False), (1, True)):
            self.assertIs(is_met, self.fence.wait_until(met, timeout))

    @given(
        st.lists(st.tuples(st.floats(0, 30), st.floats(0, 30)), max_size=20)
    )
    def test_right_never_outlives_the_membership(self, beats) -> None:
        """Members expire ``ttl`` after the beat, at the earliest."""
        for pause, duration in beats:
            self.clock.elapse(pause)
            started = self.clock()
            self.clock.elapse(duration)
            self.fence.open(started, 1)
            if self.clock() >= started + TTL:
                self.assertFalse(self.fence.may_act)
