from __future__ import annotations

import collections
import unittest
import uuid as uuid_

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.engine.placement import schedule
from ironic_ownership_plugin_kit.fakes import FakeClock

UUIDS = [str(uuid_.UUID(int=number)) for number in range(1000)]


class TestStaggeredSchedule(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = FakeClock()
        self.schedule = schedule.StaggeredSchedule(600.0, self.clock)

    @hypothesis.given(
        st.lists(st.floats(0.5, 250), min_size=1, max_size=30),
        st.floats(0, 1e6),
    )
    def test_each_uuid_is_due_once_per_interval(
        self, pauses: list[float], start: float
    ) -> None:
        now = FakeClock(start)
        chosen = schedule.StaggeredSchedule(600.0, now)
        counted: collections.Counter[str] = collections.Counter()
        for pause in pauses:
            now.elapse(pause)
            for uuid in chosen.due(UUIDS[:20]):
                counted[uuid] += 1
                chosen.done(uuid)
        whole = sum(pauses) // 600
        for uuid in UUIDS[:20]:
            self.assertIn(counted[uuid], (whole, whole + 1))

    def test_due_times_are_spread_over_the_interval(self) -> None:
        for _ in range(10):
            self.clock.elapse(60.0)
            due = self.schedule.due(UUIDS)
            self.assertTrue(60 < len(due) < 140, len(due))
            for uuid in due:
                self.schedule.done(uuid)

    def test_uuid_stays_due_until_it_is_done(self) -> None:
        self.clock.elapse(600.0)
        self.assertEqual({'a', 'b'}, self.schedule.due(['a', 'b']))
        self.schedule.done('a')
        self.assertEqual({'b'}, self.schedule.due(['a', 'b']))
        self.assertEqual(frozenset(), self.schedule.due(['a']))

    def test_nothing_is_due_without_an_interval(self) -> None:
        never = schedule.StaggeredSchedule(0.0, self.clock)
        self.clock.elapse(1e9)
        self.assertEqual(frozenset(), never.due(UUIDS))
