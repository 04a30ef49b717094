from __future__ import annotations

import contextlib
import io
import unittest

from ironic_ownership import version
from ironic_ownership.cmd import status


class TestStatus(unittest.TestCase):
    def test_version_is_that_of_every_program(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = status.main(['--version'])
        self.assertEqual((0, f'{version.text()}\n'), (code, out.getvalue()))
