from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import unittest

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
        ours, others, *traceback = done.stderr.splitlines()
        self.assertTrue(ours.endswith('refresh failed: Ironic is down'), ours)
        self.assertIn('no text: ironic_ownership.contracts', others)
        self.assertIn('Traceback', '\n'.join(traceback))
