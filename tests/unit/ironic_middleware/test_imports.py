"""The middleware runs in Ironic: it imports little of the package."""

from __future__ import annotations

import subprocess
import sys
import unittest

_PROGRAM = """
import sys
from ironic_ownership_middleware import application
print(*sorted(
    name for name in sys.modules
    if name.count('.') == 1 and name.startswith('ironic_ownership.')
))
print(*(name for name in ('openstack', 'cliff', 'tooz', 'alembic', 'ironic')
        if name in sys.modules))
"""


class ImportsTest(unittest.TestCase):
    def test_only_contracts_and_database_are_imported(self) -> None:
        command = [sys.executable, '-c', _PROGRAM]
        printed = subprocess.check_output(command, text=True)
        own, foreign = printed.split('\n')[:2]
        self.assertEqual(
            ['ironic_ownership.contracts', 'ironic_ownership.db'], own.split()
        )
        self.assertEqual('', foreign)
