"""The schedule of the nemesis depends on nothing but its settings."""

from __future__ import annotations

import testtools

from benchmarks.nemesis import schedule
from benchmarks.nemesis.settings import Settings

KINDS = (schedule.Kind('a', 1, 1, 5), schedule.Kind('b', 2))


class ScheduleTest(testtools.TestCase):
    def test_same_seed_gives_the_same_faults(self) -> None:
        first, second, other = (
            schedule.of_round(Settings(seed, 1), 3, KINDS)
            for seed in (7, 7, 8)
        )
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_rounds_differ(self) -> None:
        settings = Settings(7, 1)
        self.assertNotEqual(
            schedule.of_round(settings, 0, KINDS),
            schedule.of_round(settings, 1, KINDS),
        )

    def test_faults_are_in_order_and_within_the_storm(self) -> None:
        planned = schedule.of_round(Settings(7, 1, storm=30), 0, KINDS)
        times = [one.at for one in planned]
        self.assertEqual(sorted(times), times)
        self.assertLess(times[-1], 30)

    def test_slower_run_has_the_same_faults_with_longer_times(self) -> None:
        settings = Settings(7, 1)
        normal, slow = (
            schedule.of_round(one, 0, KINDS)
            for one in (settings, settings.slower(2))
        )
        self.assertEqual(
            [(2 * p.at, p.kind, 2 * p.duration, p.draws) for p in normal],
            [(p.at, p.kind, p.duration, p.draws) for p in slow],
        )
