from __future__ import annotations

import itertools
import unittest

from ironic_ownership.contracts import sources
from ironic_ownership_plugin_kit import source_snapshot


class TestRead(unittest.TestCase):
    def test_equal_snapshots_are_one(self) -> None:
        sound = sources.Source('racks', lambda given: ('r1', 'r2'), 'Racks.')
        self.assertEqual((('r1', 'r2'), ''), source_snapshot.read(sound, {}))

    def test_source_that_differs_from_read_to_read_is_a_fault(self) -> None:
        numbers = itertools.count()
        flaps = sources.Source('racks', lambda given: next(numbers), 'Racks.')
        _, error = source_snapshot.read(flaps, {})
        self.assertIn('two reads', error)
