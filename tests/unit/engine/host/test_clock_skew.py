from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host.clock_skew import ClockSkew


class TestClockSkew(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conditions = Conditions()
        self.detector = ClockSkew('host2', 1.0, self.conditions)

    def observe(self, **ahead: float) -> str | None:
        return self.detector.observe(model.View(ahead=ahead))

    def test_tolerated_skew_is_not_reported(self) -> None:
        with self.assertNoLogs(level='WARNING'):
            self.assertIsNone(self.observe(host1=1.0))
        self.assertEqual({}, self.conditions.standing)

    def test_larger_skew_is_reported_once_until_it_changes(self) -> None:
        text = 'that of host1 is 30.2 s ahead of that of host2'
        with self.assertLogs(level='WARNING') as logs:
            self.assertEqual(text, self.observe(host1=30.2, host3=0.5))
            self.assertEqual(text, self.observe(host1=29.9))
        self.assertEqual(1, len(logs.output))
        self.assertIn(text, logs.output[0])
        self.assertIn('5.0 s ahead', self.observe(host1=5.0) or '')

    def test_end_is_logged(self) -> None:
        self.observe(host1=30.2)
        with self.assertLogs(level='INFO') as logs:
            self.assertIsNone(self.observe())
        self.assertIn('agree again', logs.output[0])
