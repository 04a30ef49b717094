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

    def test_each_operator_has_an_example(self) -> None:
        for value, spec, fits in (
            ('uefi', 'uefi', True),
            ('UEFI', 'uefi', False),
            ('uefi', 's== uefi', True),
            ('uefi', 's!= bios', True),
            ('b', 's>= a', True),
            ('4', '>= 4', True),
            ('4', '= 3', True),
            ('4', '== 4.0', True),
            ('4', '!= 4', False),
            ('4', '< 4', False),
            ('10', '> 9', True),
            ('nvidia-a100', '<in> a100', True),
            ('b', '<or> a <or> b', True),
            ('c', '<or> a <or> b', False),
            ("['aes', 'mmx']", '<all-in> aes mmx', True),
            ("['aes']", '<all-in> aes mmx', False),
            ('15', '<range-in> [ 10 20 ]', True),
            ('20', '<range-in> [ 10 20 )', False),
        ):
            test = requirements.test_of(spec)
            self.assertIs(fits, test(value), (value, spec))

    def test_value_that_an_operator_cannot_compare_does_not_fit(self) -> None:
        for value, spec in (
            ('many', '>= 4'),
            ('4', '>= many'),
            ('aes', '<all-in> aes'),
            ('(', '<all-in> aes'),
            ('1', '<range-in> [ 1 2'),
        ):
            self.assertIs(
                False, requirements.test_of(spec)(value), (value, spec)
            )

    def test_capability_that_has_to_be_there_may_not_say_no(self) -> None:
        present = requirements.test_of('')
        for value in ('true', 'yes', '1', 'uefi'):
            self.assertTrue(present(value), value)
        for value in ('', 'false', 'False', 'no', '0', 'off'):
            self.assertFalse(present(value), value)


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
