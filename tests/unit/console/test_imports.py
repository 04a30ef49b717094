"""The console knows nothing but the HTTP service."""

from __future__ import annotations

import subprocess
import sys
import unittest

_PROGRAM = """
import sys
from ironic_ownership_console import cmd
print(*(name for name in sys.modules
        if name.partition('.')[0] in ('ironic_ownership', 'sqlalchemy')))
"""


class ImportsTest(unittest.TestCase):
    def test_nothing_of_the_package_is_imported(self) -> None:
        done = subprocess.run(
            [sys.executable, '-c', _PROGRAM],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual('', done.stdout.strip())
