from __future__ import annotations

import dataclasses
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.gates import Outcome, codes, refusals

PASSED = gates.Evidence(
    node_is_gone=True,
    consumers=frozenset(),
    still_owner=True,
    mass_loss=False,
    sees_all_nodes=True,
)


def failed(evidence: gates.Evidence) -> list[str]:
    return [result.gate for result in refusals(gates.evaluate(evidence))]


class TestGates(unittest.TestCase):
    def test_record_of_a_node_that_is_gone_passes(self) -> None:
        self.assertEqual([], failed(PASSED))

    def test_each_gate_alone_stops_the_deletion(self) -> None:
        for gate, values in (
            ('node_is_gone', {'node_is_gone': False}),
            ('no_instance', {'instance_uuid': 'i'}),
            ('no_allocation', {'consumers': frozenset('c')}),
            ('still_owner', {'still_owner': False}),
            ('no_mass_loss', {'mass_loss': True}),
            ('sees_all_nodes', {'sees_all_nodes': False}),
        ):
            self.assertEqual(
                [gate],
                failed(dataclasses.replace(PASSED, **values)),
            )

    def test_unknown_counts_as_failed(self) -> None:
        for name in (
            'node_is_gone',
            'consumers',
            'still_owner',
            'mass_loss',
            'sees_all_nodes',
        ):
            evidence = dataclasses.replace(PASSED, **{name: None})
            (stopped,) = (r for r in gates.evaluate(evidence) if not r.passed)
            self.assertIs(Outcome.UNKNOWN, stopped.outcome)
            self.assertEqual('not known', stopped.detail)

    def test_deployment_without_placement_is_not_stopped_by_it(self) -> None:
        for consumers in (None, frozenset('c')):
            evidence = dataclasses.replace(
                PASSED, uses_placement=False, consumers=consumers
            )
            self.assertEqual([], failed(evidence))
            (found,) = (
                r
                for r in gates.evaluate(evidence)
                if r.gate == 'no_allocation'
            )
            self.assertIs(Outcome.NOT_CONFIGURED, found.outcome)
            self.assertIn('[placement] is not configured', found.detail)

    def test_every_result_has_its_evidence(self) -> None:
        failed = gates.Evidence(
            node_is_gone=False,
            instance_uuid='i1',
            consumers=frozenset({'c2', 'c1'}),
            still_owner=False,
            mass_loss=True,
            sees_all_nodes=False,
        )
        for evidence in (PASSED, failed):
            for found in gates.evaluate(evidence):
                self.assertNotIn(found.detail, ('', 'not known'))
        details = {r.gate: r.detail for r in gates.evaluate(failed)}
        self.assertIn('c1, c2', details['no_allocation'])
        self.assertIn('i1', details['no_instance'])

    def test_refusal_names_every_obstacle(self) -> None:
        evidence = gates.Evidence(instance_uuid='i')
        self.assertEqual(codes(gates.GATES), failed(evidence))


class TestMassLoss(unittest.TestCase):
    def test_share_is_the_greatest_that_may_be_missing(self) -> None:
        for missing, lost in ((25, False), (26, True), (100, True)):
            self.assertIs(lost, gates.is_mass_loss(missing, 100, 0.25, 3))

    def test_few_nodes_are_never_a_mass_loss(self) -> None:
        for missing, lost in ((3, False), (4, True)):
            self.assertIs(lost, gates.is_mass_loss(missing, 4, 0.25, 3))

    @given(st.integers(0, 1000), st.floats(0, 1), st.integers(0, 10))
    def test_nothing_missing_is_no_loss(self, owned, share, floor) -> None:
        self.assertFalse(gates.is_mass_loss(0, owned, share, floor))

    def test_share_of_one_believes_everything(self) -> None:
        self.assertFalse(gates.is_mass_loss(100, 100, 1.0, 0))


class TestSeesAll(unittest.TestCase):
    COUNTS = {None: 3, 'a': 2}

    def test_everything_is_the_sum_of_the_shards(self) -> None:
        self.assertTrue(gates.sees_all(self.COUNTS, None, 5))
        self.assertFalse(gates.sees_all(self.COUNTS, None, 4))

    def test_shard_is_compared_with_its_own_count(self) -> None:
        self.assertTrue(gates.sees_all(self.COUNTS, 'a', 2))
        self.assertFalse(gates.sees_all(self.COUNTS, 'a', 1))

    def test_shard_that_ironic_does_not_know_is_empty(self) -> None:
        self.assertTrue(gates.sees_all(self.COUNTS, 'b', 0))

    def test_group_is_not_counted_and_the_shard_never_left_out(self) -> None:
        self.assertEqual(
            model.Scope(shard='a'),
            gates.scope_to_count(model.Scope(shard='a', conductor_group='g')),
        )
