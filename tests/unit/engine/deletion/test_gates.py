from __future__ import annotations

import unittest
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine.deletion import gates, missing_nodes
from ironic_ownership.engine.gates import Found, Outcome, codes, refusals

CODES = codes(gates.GATES)
RECORD = model.ComputeNode('u')
PASSED = {code: gates.fact(True, 'seen') for code in CODES}


def failed(found: Mapping[str, Found]) -> list[str]:
    return [one.gate for one in refusals(gates.evaluate(RECORD, found))]


class TestGates(unittest.TestCase):
    def test_record_of_a_node_that_is_gone_passes(self) -> None:
        self.assertEqual([], failed(PASSED))

    def test_each_gate_alone_stops_the_deletion(self) -> None:
        for code in CODES:
            for outcome in (Outcome.FAILED, Outcome.UNKNOWN):
                found = {**PASSED, code: Found(outcome, 'seen')}
                self.assertEqual([code], failed(found))

    def test_refusal_names_every_obstacle(self) -> None:
        self.assertEqual(CODES, failed({}))
        for result in gates.evaluate(RECORD, {}):
            self.assertIs(Outcome.UNKNOWN, result.outcome)
            self.assertEqual('not known', result.detail)


def limits(share: float, floor: int) -> missing_nodes.Limits:
    return missing_nodes.Limits(1.0, share, floor)


class TestMassLoss(unittest.TestCase):
    def test_share_is_the_greatest_that_may_be_missing(self) -> None:
        for missing, owned, lost in (
            *((25, 100, False), (26, 100, True), (100, 100, True)),
            # Few nodes are never a mass loss.
            *((3, 4, False), (4, 4, True)),
        ):
            self.assertIs(lost, limits(0.25, 3).is_mass_loss(missing, owned))

    @given(st.integers(0, 1000), st.floats(0, 1), st.integers(0, 10))
    def test_nothing_missing_is_no_loss(self, owned, share, floor) -> None:
        self.assertFalse(limits(share, floor).is_mass_loss(0, owned))

    def test_share_of_one_believes_everything(self) -> None:
        self.assertFalse(limits(1.0, 0).is_mass_loss(100, 100))


class TestExpected(unittest.TestCase):
    COUNTS = {None: 3, 'a': 2}

    def test_everything_is_the_sum_of_the_shards(self) -> None:
        self.assertEqual(5, missing_nodes.expected(self.COUNTS, None))

    def test_shard_is_compared_with_its_own_count(self) -> None:
        self.assertEqual(2, missing_nodes.expected(self.COUNTS, 'a'))

    def test_shard_that_ironic_does_not_know_is_empty(self) -> None:
        self.assertEqual(0, missing_nodes.expected(self.COUNTS, 'b'))
