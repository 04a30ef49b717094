"""Errors at the edge: one line, the right code, a near name."""

from __future__ import annotations

import logging
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

    def test_own_errors_are_shown_as_they_are(self) -> None:
        for error in (exceptions.RecordsError('a 5% b'), cfg.Error('a 5% b')):
            self.assertEqual('a 5% b', errors.line(error))

    def test_strangers_are_named_as_faults(self) -> None:
        said = errors.line(KeyError('x'))
        self.assertIn('unexpected KeyError', said)
        self.assertIn('--debug', said)

    def test_log_line_has_no_traceback_unless_asked(self) -> None:
        error = exceptions.OwnershipError('50% %s broken')
        for info, lines in ((None, 1), ((type(error), error, None), 2)):
            record = logging.LogRecord(
                'x', logging.ERROR, __file__, 1, error, None, info
            )
            said = errors.Formatter().format(record)
            self.assertEqual(lines, len(said.splitlines()))
            self.assertTrue(
                said.startswith('ironic-ownership: error: 50% %s broken')
            )


class ExitCodeTest(unittest.TestCase):
    def test_each_error_has_its_code(self) -> None:
        for error, code in (
            (exceptions.IronicError('x'), 1),
            (ValueError('x'), 1),
            (errors.UsageError('x'), 2),
            (KeyboardInterrupt(), 130),
            (BrokenPipeError(), 141),
        ):
            self.assertEqual(code, errors.exit_code(error))


class NearestTest(unittest.TestCase):
    def test_near_names_are_proposed(self) -> None:
        said = errors.nearest('rakc1', ['rack1', 'else'])
        self.assertEqual('Did you mean rack1?', said)
        said = errors.nearest('host9', ['host1', 'host2', 'host3'])
        self.assertEqual('Did you mean host3, host2 or host1?', said)

    def test_otherwise_the_known_ones_are_listed_up_to_a_limit(self) -> None:
        self.assertEqual('Known are: a, b', errors.nearest('zzz', ['b', 'a']))
        many = [f'name{number:02}' for number in range(30)]
        self.assertIn('and 20 more', errors.nearest('zzz', many))
        self.assertEqual('There are none yet', errors.nearest('zzz', []))


class ImportTest(unittest.TestCase):
    def test_failures_need_no_configuration_library(self) -> None:
        hidden = sys.modules.pop('oslo_config.cfg')
        try:
            self.assertIn('unexpected', errors.line(cfg.Error('x')))
        finally:
            sys.modules['oslo_config.cfg'] = hidden
