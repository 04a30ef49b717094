"""Programs of the lab that are forks of a process with all imports done."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from lab import preloaded


class ForksTest(unittest.TestCase):
    def test_program_can_be_stopped_after_the_process_that_forks(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        root = pathlib.Path(directory.name)
        imports, program = root / 'imports.py', root / 'program.py'
        imports.touch()
        program.write_text('import signal\nsignal.pause()\n')
        log = root / 'log'
        forks = preloaded.Forks(pathlib.Path(sys.executable), imports, log)
        child = forks.start(str(program), ['program'], log, os.environ)
        forks.stop()
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGTERM)
        self.assertEqual(-signal.SIGTERM, child.wait())

    def test_end_that_is_not_reported_yet_is_no_error(self) -> None:
        reports, answers = socket.socketpair()
        self.addCleanup(reports.close)
        self.addCleanup(answers.close)
        ended = subprocess.Popen(['true'])
        ended.wait()
        reports.send(f'{ended.pid}\n'.encode())
        preloaded._Forked(answers).send_signal(signal.SIGKILL)
