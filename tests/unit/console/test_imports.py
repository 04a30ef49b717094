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
        command = [sys.executable, '-c', _PROGRAM]
        printed = subprocess.check_output(command, text=True)
        self.assertEqual('', printed.strip())
