"""Benchmarks that a signal ends: their servers end with them."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

_ONE = """
import contextlib, signal, sys, time
sys.argv[0] = '-m'
# A shell lets what it starts in the background ignore them.
for one in (signal.SIGHUP, signal.SIGINT):
    signal.signal(one, signal.SIG_DFL)
import benchmarks
with contextlib.ExitStack() as stack:
    stack.callback(print, 'ended', flush=True)
    print('started', flush=True)
    time.sleep(60)
    print('not ended', flush=True)
"""
_ALL = """
import sys
sys.argv[0] = '-m'
from benchmarks import __main__
sys.executable = sys.argv[1]
sys.exit(__main__.main(['startup']))
"""


class EndedTest(unittest.TestCase):
    def ended(self, number: int, *argv: str) -> list[str]:
        """Return what a benchmark prints that gets a signal."""
        with subprocess.Popen(
            [sys.executable, '-c', *argv], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            self.assertEqual('started\n', child.stdout.readline())
            child.send_signal(number)
            return child.stdout.read().splitlines()

    def test_servers_end_with_any_signal(self) -> None:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            self.assertEqual(['ended'], self.ended(number, _ONE))

    def test_one_of_all_benchmarks_ends_with_them(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory, 'python')
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{_ONE}"')
            program.chmod(0o755)
            found = self.ended(signal.SIGTERM, _ALL, str(program))
        self.assertEqual(['ended'], found)
