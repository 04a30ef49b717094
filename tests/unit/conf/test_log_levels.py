from __future__ import annotations

import logging
import unittest

from oslo_config import cfg

from ironic_ownership.conf import log_format
from ironic_ownership.contracts import exceptions


def read(*levels: str, **values: object) -> dict[str, int]:
    conf = cfg.ConfigOpts()
    conf.register_opts(
        [
            cfg.BoolOpt('debug', default=False),
            cfg.ListOpt('default_log_levels', default=[*levels]),
            cfg.StrOpt('log_config_append'),
        ]
    )
    for name, value in values.items():
        conf.set_override(name, value)
    return dict(log_format.read_levels(conf))


class TestLevels(unittest.TestCase):
    def test_levels_have_names_and_numbers(self) -> None:
        self.assertEqual({'': logging.INFO}, read())
        self.assertEqual(
            {'': logging.DEBUG, 'a': 30, 'a.b': 5, 'c': 50},
            read('a=WARN', 'a.b=5', 'c=CRITICAL', debug=True),
        )
        # A log with a file of its own is left alone.
        own = '/etc/logging.conf'
        self.assertEqual({}, read(log_config_append=own, debug=True))

    def test_level_that_does_not_exist_is_named(self) -> None:
        for pair in ('a=LOUD', 'a=', 'a', 'a=-'):
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                read(pair)
            self.assertIn(repr(pair), str(caught.exception))

    def test_logger_that_is_not_named_any_more_follows_its_parent(
        self,
    ) -> None:
        parent = logging.getLogger('ironic_ownership_levels')
        child = parent.getChild('child')
        self.addCleanup(parent.setLevel, logging.NOTSET)
        before = {parent.name: 30, child.name: 10}
        log_format.change_levels({}, before)
        self.assertEqual((30, 10), (parent.level, child.level))
        log_format.change_levels(before, {parent.name: 40})
        self.assertEqual(40, child.getEffectiveLevel())
