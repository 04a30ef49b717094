from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st
from oslo_utils import specs_matcher

from ironic_ownership.engine.reservations import requirements

_words = st.sampled_from(
    ('', '1', '2', '2.0', '10', 'a', 'ab', "['a', 'b']", '[', '(', '==', 'x y')
)
_operators = st.sampled_from(
    (
        *specs_matcher.op_methods,
        '',
        '<or> 2 <or>',
        '<all-in> a',
        '<range-in> [ 1 2 ]',
        '<range-in> ( 2',
    )
)
_specs = st.builds(lambda *parts: ' '.join(parts).strip(), _operators, _words)


class TestOperators(unittest.TestCase):
    @given(_words, _specs.filter(bool))
    def test_every_operator_answers_as_specs_matcher_does(
        self, value, spec
    ) -> None:
        try:
            expected = specs_matcher.match(value, spec)
        except (ValueError, TypeError, SyntaxError):
            expected = False
        self.assertIs(bool(expected), requirements.test_of(spec)(value), spec)

    def test_capability_that_has_to_be_there_may_not_say_no(self) -> None:
        present = requirements.test_of('')
        for value in ('true', 'yes', '1', 'uefi'):
            self.assertTrue(present(value), value)
        for value in ('', 'false', 'False', 'no', '0', 'off'):
            self.assertFalse(present(value), value)


class TestAmounts(unittest.TestCase):
    def test_amount_that_is_no_number_is_not_enough(self) -> None:
        enough = requirements._at_least(2)
        for text in ('1', 'x', '', 'nan', 'inf', '1e999', '-inf'):
            self.assertFalse(enough(text), text)
        self.assertTrue(enough('2.0'))


class TestParse(unittest.TestCase):
    def test_pairs_are_read_and_what_is_none_is_left_out(self) -> None:
        for text, expected in (
            ('', {}),
            ('a:1', {'a': '1'}),
            ('a:1, b:2:3 ,c', {'a': '1', 'b': '2:3'}),
            ('a:', {'a': ''}),
            (',,:', {'': ''}),
        ):
            self.assertEqual(
                expected, requirements.parse_capabilities(text), text
            )
