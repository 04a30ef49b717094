from __future__ import annotations

import unittest
from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.engine.deletion import gates, missing_nodes
from ironic_ownership.engine.gates import Found, Outcome, codes, refusals

CODES = codes(gates.GATES)
RECORD = model.ComputeNode('u')
PASSED = {code: gates.fact(True, 'seen') for code in CODES}


def failed(found: Mapping[str, Found]) -> list[str]:
    return [one.gate for one in refusals(gates.evaluate(RECORD, found))]


class TestGates(unittest.TestCase):
    def test_each_gate_alone_stops_the_deletion(self) -> None:
        self.assertEqual([], failed(PASSED))
        for code in CODES:
            for outcome in (Outcome.FAILED, Outcome.UNKNOWN):
                found = {**PASSED, code: Found(outcome, 'seen')}
                self.assertEqual([code], failed(found))

    def test_refusal_names_every_obstacle(self) -> None:
        self.assertEqual(CODES, failed({}))
        for result in gates.evaluate(RECORD, {}):
            self.assertIs(Outcome.UNKNOWN, result.outcome)
            self.assertEqual('not known', result.detail)


class TestMassLoss(unittest.TestCase):
    def test_share_is_the_greatest_that_may_be_missing(self) -> None:
        for share, floor, missing, owned, lost in (
            *((0.25, 3, 25, 100, False), (0.25, 3, 26, 100, True)),
            (0.25, 3, 100, 100, True),
            # Few nodes are never a mass loss.
            *((0.25, 3, 3, 4, False), (0.25, 3, 4, 4, True)),
            # A share of one believes everything; nothing is no loss.
            *((1.0, 0, 100, 100, False), (0.0, 0, 0, 100, False)),
            (0.0, 0, 0, 0, False),
        ):
            limits = missing_nodes.Limits(1.0, share, floor)
            self.assertIs(lost, limits.is_mass_loss(missing, owned))


class TestExpected(unittest.TestCase):
    def test_shard_is_compared_with_its_count_or_with_the_sum(self) -> None:
        # Ironic does not know an empty shard.
        for shard, number in ((None, 5), ('a', 2), ('b', 0)):
            counts = {None: 3, 'a': 2}
            self.assertEqual(number, missing_nodes.expected(counts, shard))
