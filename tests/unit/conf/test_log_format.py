from __future__ import annotations

import logging
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from oslo_config import cfg
from oslo_log import handlers, log

from ironic_ownership.conf import log_format
from ironic_ownership.contracts import exceptions

_PROGRAM = """
import sys
from oslo_config import cfg
from oslo_log import log
from ironic_ownership.conf import log_format
from ironic_ownership.contracts import exceptions
conf = cfg.ConfigOpts()
log.register_options(conf)
conf(['--config-file', sys.argv[1]], project='test')
log_format.setup(conf, 'test')
ours = log.getLogger('ironic_ownership.engine')
others = log.getLogger('of_another_package')
try:
    raise exceptions.IronicError('Ironic is down')
except exceptions.IronicError as exc:
    ours.warning('refresh failed: %s', exc)
    others.warning('no text')
    others.info('GET %s', '/x\\n2026 \\x1b]0;y')
try:
    raise KeyError
except KeyError as exc:
    exc.add_note('\\x1b]1;z')
    ours.exception('unexpected')
"""


class TestLogFormat(unittest.TestCase):
    def test_text_of_an_error_is_logged_once(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, 'test.conf')
            file.write_text('[DEFAULT]\nuse_stderr = true\n')
            done = subprocess.run(
                [sys.executable, '-c', _PROGRAM, str(file)],
                capture_output=True,
                text=True,
                check=True,
            )
        ours, others, forged, *traceback = done.stderr.splitlines()
        self.assertTrue(ours.endswith('refresh failed: Ironic is down'), ours)
        self.assertIn('no text: ironic_ownership.contracts', others)
        # A text has no line of its own, and sends nothing to a terminal.
        self.assertTrue(forged.endswith(r'GET /x\n2026 \x1b]0;y'), forged)
        self.assertIn('Traceback', '\n'.join(traceback))
        self.assertTrue(all(line.isprintable() for line in traceback))
        self.assertIn(r'\x1b]1;z', '\n'.join(traceback))


class TestRefused(unittest.TestCase):
    def test_log_that_cannot_be_written_is_an_error_that_names_it(
        self,
    ) -> None:
        for words, options in (
            (('use_journal', '.[journal]'), {'use_journal': True}),
            (
                ('cannot log: syslog facility', 'in [DEFAULT]'),
                {'use_syslog': True, 'syslog_log_facility': 'LOUD'},
            ),
            # The first line would never be written, and the log is locked.
            (('log_rotate_interval',), {'log_rotate_interval': 0}),
        ):
            conf = cfg.ConfigOpts()
            log.register_options(conf)
            conf([], project='test')
            for name, value in options.items():
                conf.set_override(name, value)
            root = logging.getLogger()
            with (
                self.subTest(options),
                mock.patch.object(handlers, 'journal', None),
                mock.patch.object(root, 'handlers', list(root.handlers)),
                self.assertRaises(exceptions.ConfigurationError) as caught,
            ):
                log_format.setup(conf, 'test')
            for word in words:
                self.assertIn(word, str(caught.exception))
