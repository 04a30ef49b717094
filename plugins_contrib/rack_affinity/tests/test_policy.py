"""The nodes that the filter admits, and its options."""

from __future__ import annotations

import unittest
from typing import Any

from ironic_ownership_rack_affinity import (
    policy,
)

from ironic_ownership import (
    contracts,
)
from ironic_ownership_plugin_kit import (
    policy as suite,
)


def build(*places: str, source: str = 'properties') -> Any:
    return policy.RackAffinityPolicy({'places': places, 'source': source})


def admits(node: dict[str, Any], *places: str) -> bool:
    answers = {
        build(*places).admits(contracts.Node('1', properties=node)),
        build(*places, source='extra').admits(contracts.Node('1', extra=node)),
    }
    (answer,) = answers
    assert isinstance(answer, bool)
    return answer


class TestContract(suite.FilterPolicyContract):
    policy_class = policy.RackAffinityPolicy
    settings = (
        {'places': ('rack=rack1', 'rack=rack2')},
        {'places': ('rack=rack1', 'building=b1'), 'source': 'extra'},
    )


class TestPlaces(unittest.TestCase):
    def test_one_value_of_each_key_is_needed(self) -> None:
        places = 'building=north', 'rack=r1', 'rack=r2'
        for node, expected in (
            ({'building': 'north', 'rack': 'r1'}, True),
            ({'building': 'north', 'rack': 'r2', 'aisle': '4'}, True),
            ({'building': 'north', 'rack': 'r3'}, False),
            ({'building': 'south', 'rack': 'r1'}, False),
            ({'building': 'north'}, False),
            ({'building': 'north', 'rack': None}, False),
            ({}, False),
        ):
            with self.subTest(node=node):
                self.assertIs(expected, admits(node, *places))

    def test_source_says_which_field_counts(self) -> None:
        node = contracts.Node(
            '1', properties={'rack': 'r1'}, extra={'rack': 'r2'}
        )
        self.assertTrue(build('rack=r1').admits(node))
        self.assertFalse(build('rack=r2').admits(node))
        self.assertFalse(build('rack=r1', source='extra').admits(node))
        self.assertTrue(build('rack=r2', source='extra').admits(node))

    def test_values_of_json_are_compared_as_they_are_written(self) -> None:
        for value, text in (
            ('r1', 'r1'),
            (' r1 ', 'r1'),
            (7, '7'),
            (1.5, '1.5'),
            (True, 'true'),
            ('a=b', 'a=b'),
        ):
            with self.subTest(value=value):
                self.assertTrue(admits({'rack': value}, f'rack={text}'))

    def test_case_counts(self) -> None:
        self.assertFalse(admits({'rack': 'R1'}, 'rack=r1'))
        self.assertFalse(admits({'Rack': 'r1'}, 'rack=r1'))

    def test_unwritable_values_match_nothing(self) -> None:
        for value in (None, [], ['r1'], {}, {'r1': 1}):
            with self.subTest(value=value):
                self.assertFalse(admits({'rack': value}, f'rack={value}'))

    def test_scope_is_everything(self) -> None:
        self.assertEqual(contracts.Scope(), build('rack=r1').scope())


class TestSettings(unittest.TestCase):
    def test_order_repetition_and_spaces_mean_nothing(self) -> None:
        one = build('rack=r2', 'rack = r1 ', 'aisle=1', 'rack=r2')
        two = build('aisle=1', 'rack=r1', 'rack=r2')
        self.assertEqual(one.settings(), two.settings())
        self.assertEqual(
            ('aisle=1', 'rack=r1', 'rack=r2'), one.settings()['places']
        )

    def test_what_is_no_place_is_refused_saying_how_to_write_one(
        self,
    ) -> None:
        for places in ((), ('rack',), ('=r1',), ('rack=',), ('rack=r1', '')):
            with (
                self.subTest(places=places),
                self.assertRaises(contracts.PolicySettingsError) as caught,
            ):
                build(*places)
            self.assertIn('places', str(caught.exception))
            self.assertIn('rack=r1', caught.exception.hint)

    def test_another_source_is_refused(self) -> None:
        with self.assertRaises(contracts.PolicySettingsError):
            build('rack=r1', source='traits')
