"""Threads for long operations: bounded, and stopped with their process."""

from __future__ import annotations

import subprocess
import sys
import unittest

from ironic_ownership.api import background

PROGRAM = """
import time
from ironic_ownership.api.background import BackgroundWork

def work(stopping):
    while not stopping():
        time.sleep(0.01)
    print('stopped')

BackgroundWork().start('req-test', lambda: None, work)
"""


class BackgroundWorkTest(unittest.TestCase):
    def test_work_stops_when_the_process_ends(self) -> None:
        command = [sys.executable, '-c', PROGRAM]
        printed = subprocess.check_output(command, text=True, timeout=60)
        self.assertEqual('stopped\n', printed)

    def test_failed_preparation_frees_its_place(self) -> None:
        work = background.BackgroundWork(limit=1)

        def fail() -> None:
            raise ValueError

        for _ in range(2):
            with self.assertRaises(ValueError):
                work.start('req-test', fail, lambda stopping: None)
