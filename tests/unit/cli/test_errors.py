"""Errors at the edge: one line, and a near name."""

from __future__ import annotations

import sys
import unittest

import hypothesis
from hypothesis import strategies as st
from oslo_config import cfg

from ironic_ownership.cli import errors
from ironic_ownership.contracts import exceptions


class LineTest(unittest.TestCase):
    @hypothesis.given(st.text())
    def test_every_error_is_one_line(self, text) -> None:
        for error in (
            exceptions.OwnershipError(text, hint=text),
            OSError(text),
            KeyError(text),
            cfg.Error(text),
        ):
            self.assertTrue(errors.line(error).isprintable())

    def test_own_errors_are_shown_as_they_are_and_others_as_faults(
        self,
    ) -> None:
        for error in (exceptions.RecordsError('a 5% b'), cfg.Error('a 5% b')):
            self.assertEqual('a 5% b', errors.line(error))
        said = errors.line(KeyError('x'))
        self.assertIn('unexpected KeyError', said)
        self.assertIn('--debug', said)
        # Nothing that fails early imports the library of configurations.
        hidden = sys.modules.pop('oslo_config.cfg')
        try:
            self.assertIn('unexpected', errors.line(cfg.Error('x')))
        finally:
            sys.modules['oslo_config.cfg'] = hidden


class NearestTest(unittest.TestCase):
    def test_near_names_are_proposed_or_the_known_ones_listed(self) -> None:
        for name, known, said in (
            ('rakc1', ['rack1', 'else'], 'Did you mean rack1?'),
            (
                'host9',
                ['host1', 'host2', 'host3'],
                'Did you mean host3, host2 or host1?',
            ),
            ('zzz', ['b', 'a'], 'Known are: a, b'),
            ('zzz', [], 'There are none yet'),
        ):
            self.assertEqual(said, errors.nearest(name, known))
        many = [f'name{number:02}' for number in range(30)]
        self.assertIn('and 20 more', errors.nearest('zzz', many))
