"""Lists are kept for those who walk over them, and not for ever."""

from __future__ import annotations

import unittest

from ironic_ownership.api import page_cache
from ironic_ownership_plugin_kit import fakes


class KeepingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = fakes.FakeClock()
        self.kept = page_cache.PageCache(60, self.clock)

    def test_kept_until_its_time_is_over(self) -> None:
        self.kept.put('a', 1)
        self.clock.elapse(59)
        self.assertEqual(1, self.kept.get('a'))
        self.clock.elapse(1)
        self.assertIsNone(self.kept.get('a'))

    def test_oldest_make_place(self) -> None:
        for number in range(page_cache.MAX_LISTS + 2):
            self.kept.put(number, number)
        found = [self.kept.get(n) for n in range(page_cache.MAX_LISTS + 2)]
        self.assertEqual(
            [None, None, *range(2, page_cache.MAX_LISTS + 2)], found
        )

    def test_newer_list_takes_the_place_of_the_same(self) -> None:
        self.kept.put('a', 1)
        self.kept.put('a', 2)
        self.assertEqual(2, self.kept.get('a'))

    def test_nothing_is_kept_for_no_time(self) -> None:
        kept = page_cache.PageCache(0, self.clock)
        kept.put('a', 1)
        self.assertIsNone(kept.get('a'))
