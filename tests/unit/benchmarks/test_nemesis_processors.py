"""Use of processors by the processes of a run."""

from __future__ import annotations

import unittest

from benchmarks import processor_time
from benchmarks.processor_time import Stat


class TestProcessors(unittest.TestCase):
    def test_name_of_a_process_may_have_any_characters(self) -> None:
        numbers = [*range(4, 23)]
        text = f'71 (a) (b c) S 1 {" ".join(map(str, numbers))}'
        found = processor_time.parsed(text)
        self.assertEqual((71, 'a) (b c', 1), found[:3])
        self.assertEqual((13 + 14, 15 + 16, 21), found[3:])

    def test_tree_of_a_child_counts_as_the_child(self) -> None:
        found = processor_time.totals(
            1,
            [
                Stat(2, 'postgres', 1, 10, 5, 0),
                Stat(3, 'postgres', 2, 3, 0, 0),
                Stat(4, 'postgres', 3, 1, 1, 0),
                Stat(5, 'etcd', 1, 7, 0, 0),
                Stat(6, 'other', 9, 100, 0, 0),
            ],
        )
        self.assertEqual(
            {2: 20, 5: 7}, {one.pid: ticks for one, ticks in found}
        )
