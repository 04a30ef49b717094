"""Sums of reports of the nemesis."""

from __future__ import annotations

import unittest
from typing import Any

from benchmarks.nemesis import sums


def report(records: str = 'galera', **changes: Any) -> dict[str, Any]:
    return {
        'settings': {
            'records': records,
            'members': 'etcd-cluster',
            'broken': changes.pop('broken', ''),
        },
        'seconds': 1800.0,
        'rounds': 20,
        'faults': {'kill': 3, 'cut': 4},
        'permissions_checked': 100,
        'violations': [],
        'violations_not_listed': 0,
        'longest': {'free_node_unserved': changes.pop('unserved', 3.0)},
        'processors': 0.25,
        **changes,
    }


class TestSums(unittest.TestCase):
    def test_runs_of_one_mix_are_added(self) -> None:
        (found,) = sums.sums([report(), report(unserved=9.5)])
        self.assertEqual(
            'galera etcd-cluster 2 1.00 40 14 200 0 0 9.5 0.25',
            ' '.join(found.line()),
        )

    def test_each_mix_has_a_line(self) -> None:
        found = sums.sums([report(), report('mariadb')])
        self.assertEqual(['galera', 'mariadb'], [one.records for one in found])

    def test_violations_that_are_not_listed_count(self) -> None:
        one = report(
            violations=[{'law': 'law 1 (guard)'}], violations_not_listed=4
        )
        self.assertEqual([5], [s.violations for s in sums.sums([one])])

    def test_what_is_late_is_no_violation_of_a_law(self) -> None:
        laws = ('quiet', 'epochs', 'law 7', 'convergence', 'guard')
        one = report(violations=[{'law': law} for law in laws])
        (found,) = sums.sums([one])
        self.assertEqual((3, 2), (found.violations, found.others))

    def test_runs_that_were_broken_on_purpose_are_left_out(self) -> None:
        self.assertEqual([], sums.sums([report(broken='fence')]))
