"""Fences on Galera: the order of the commits, not that of the answers."""

from __future__ import annotations

import unittest

from benchmarks import galera
from tests.functional.support import databases, survived


class TestFencesOnGalera(unittest.TestCase):
    """Services that write through different nodes of one cluster."""

    def test_random_transactions_break_no_law(self) -> None:
        explorer = galera.Explorer(
            databases.GALERA.server, 'random_transactions', seed=12
        )
        result = explorer.run(seconds=20)
        survived.note(
            'transactions through several Galera nodes at once',
            faults=result.rounds,
            events=result.report.transactions,
            violations=len(result.report.violations),
        )
        self.assertEqual([], result.report.violations)
        failed = [o for _, o in result.outcomes if o.startswith('failed')]
        self.assertEqual([], failed)
        self.assertLess(0, result.count('applied'))
