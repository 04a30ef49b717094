"""The Ironic that an author of a plugin starts, and programs as forks."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

from lab import preloaded
from tests.functional.support import databases, ironics

_CHECKOUT = pathlib.Path(__file__).parents[2]


class TestLabCommand(unittest.TestCase):
    def test_ironic_has_its_nodes_and_ends_with_a_signal(self) -> None:
        # As tools/ironic runs it, which installs the requirements first.
        running = subprocess.Popen(
            [sys.executable, '-m', 'lab', '--nodes', '3'],
            cwd=_CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(running.kill)
        assert running.stdout is not None
        self.addCleanup(running.stdout.close)
        url = ''
        for line in running.stdout:
            if line.startswith('endpoint_override = '):
                url = line.partition(' = ')[2].strip()
            if 'Ctrl-C' in line:
                break
        bare_metal = ironics.open_ironic(url)
        self.assertEqual({'a': 1, 'b': 1, None: 1}, bare_metal.shard_counts())
        running.send_signal(signal.SIGTERM)
        self.assertEqual(0, running.wait(180))


class ForksTest(unittest.TestCase):
    def test_program_can_be_stopped_after_the_process_that_forks(self) -> None:
        root = databases.temporary_directory('forks')
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
