from __future__ import annotations

import logging
import unittest

from oslo_config import cfg

from ironic_ownership.conf import log_format
from ironic_ownership.contracts import exceptions


def conf(**values: object) -> cfg.ConfigOpts:
    found = cfg.ConfigOpts()
    found.register_opts(
        [
            cfg.BoolOpt('debug', default=False),
            cfg.ListOpt('default_log_levels', default=[]),
            cfg.StrOpt('log_config_append'),
        ]
    )
    for name, value in values.items():
        found.set_override(name, value)
    return found


class TestRead(unittest.TestCase):
    def test_debug_is_the_level_of_the_root(self) -> None:
        self.assertEqual({'': logging.INFO}, log_format.read_levels(conf()))
        self.assertEqual(
            {'': logging.DEBUG}, log_format.read_levels(conf(debug=True))
        )

    def test_levels_have_names_and_numbers(self) -> None:
        pairs = ['a=WARN', 'a.b=5', 'c=CRITICAL']
        levels = log_format.read_levels(conf(default_log_levels=pairs))
        self.assertEqual({'': 20, 'a': 30, 'a.b': 5, 'c': 50}, levels)

    def test_level_that_does_not_exist_is_named(self) -> None:
        for pair in ('a=LOUD', 'a=', 'a', 'a=-'):
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                log_format.read_levels(conf(default_log_levels=[pair]))
            self.assertIn(repr(pair), str(caught.exception))

    def test_log_with_a_file_of_its_own_is_left_alone(self) -> None:
        own = conf(log_config_append='/etc/logging.conf', debug=True)
        self.assertEqual({}, log_format.read_levels(own))


class TestChange(unittest.TestCase):
    def test_logger_that_is_not_named_any_more_follows_its_parent(
        self,
    ) -> None:
        parent, child = (
            logging.getLogger('ironic_ownership_levels'),
            logging.getLogger('ironic_ownership_levels.child'),
        )
        self.addCleanup(parent.setLevel, logging.NOTSET)
        before = {parent.name: 30, child.name: 10}
        log_format.change_levels({}, before)
        self.assertEqual((30, 10), (parent.level, child.level))
        log_format.change_levels(before, {parent.name: 40})
        self.assertEqual(40, child.getEffectiveLevel())
