from __future__ import annotations

import unittest

from ironic_ownership.contracts.conditions import ConditionReport


def report(age: float) -> ConditionReport:
    return ConditionReport('host1', 'one', 60.0, reported_at=1e9, age=age)


class TestClockThatIsSetBack(unittest.TestCase):
    def test_report_from_before_lets_another_process_report(self) -> None:
        self.assertFalse(report(-1.0).is_overdue)
        self.assertTrue(report(-3600.0).is_overdue)

    def test_report_from_before_is_no_missing_one(self) -> None:
        """Its process reports again within an interval."""
        self.assertFalse(report(-3600.0).is_outdated)
