"""The start of the command line."""

from __future__ import annotations

import subprocess
import sys
import unittest

_NEW_MODULES = """
import sys
import __future__, os
before = {*sys.modules}
import ironic_ownership.cmd.cli
print(*sorted({*sys.modules} - before - {*sys.builtin_module_names}))
"""

_CLOSED = """
import os, sys
for number in (0, 1, 2):
    os.close(number)
os.execv(sys.executable, [sys.executable, '-m', *sys.argv[1:]])
"""


class StartTest(unittest.TestCase):
    def test_nothing_is_imported_where_an_interrupt_is_not_caught(
        self,
    ) -> None:
        done = subprocess.run(
            # Python itself imports "os", but more with "site".
            [sys.executable, '-S', '-c', _NEW_MODULES],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(
            [
                'ironic_ownership',
                'ironic_ownership.cmd',
                'ironic_ownership.cmd.cli',
            ],
            done.stdout.split(),
        )

    def test_closed_streams_are_no_fault(self) -> None:
        for words, code in (
            (('policy', 'list'), 0),
            (('policy', 'show', 'no-such-policy'), 1),
            (('no-such-command',), 2),
        ):
            done = subprocess.run(
                [
                    *(sys.executable, '-c', _CLOSED),
                    *('ironic_ownership.cmd.cli', *words),
                ]
            )
            self.assertEqual(code, done.returncode, words)
