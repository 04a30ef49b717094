"""The command line as a process: imports, signals, and where it writes."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
from collections.abc import Iterator
from typing import IO

from tests.functional.support import command_line


class ProcessTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment()
        self.addCleanup(self.lab.close)

    def imports(self, *words: str) -> tuple[str, str]:
        """Run the program; return what it prints, and what it imports."""
        done = subprocess.run(
            [
                *(sys.executable, '-X', 'importtime', '-m'),
                *('ironic_ownership.cmd.cli', *words),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done)
        return done.stdout, done.stderr

    def assert_not_imported(self, imported: str, *libraries: str) -> None:
        for library in libraries:
            self.assertIsNone(
                re.search(rf'\| +{re.escape(library)}\n', imported), library
            )

    def test_commands_import_only_what_they_need(self) -> None:
        printed, imported = self.imports('--version')
        self.assertRegex(printed, r'^ironic-ownership \S+\n$')
        self.assert_not_imported(
            imported, 'cliff', 'stevedore', 'oslo_config', 'sqlalchemy'
        )
        config = ('--config-file', str(self.lab.config))
        self.lab.run('service', 'list')
        _, imported = self.imports('service', 'list', *config)
        self.assertIn('sqlalchemy', imported)
        self.assert_not_imported(
            imported,
            *('alembic', 'cmd2', 'openstack', 'keystoneauth1', 'yaml'),
            *('oslo_log.log', 'ironic_ownership.cli.compute_node'),
            'ironic_ownership.engine.queries.deployment',
        )

    def test_short_command_does_not_wait_for_the_garbage_collector(
        self,
    ) -> None:
        code = (
            'import atexit, gc, sys\n'
            'from ironic_ownership.cmd import cli\n'
            'runs, codes = [], []\n'
            'atexit.register(\n'
            '    lambda: print(codes, runs, gc.get_freeze_count() > 0)\n'
            ')\n'
            'gc.callbacks.append(lambda phase, info: runs.append(phase))\n'
            'codes.append(int(cli.main(sys.argv[1:])))\n'
        )
        config = ('--config-file', str(self.lab.config))
        done = subprocess.run(
            [sys.executable, '-c', code, *config, 'service', 'list'],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            '[0] [] True', done.stdout.splitlines()[-1], done.stderr
        )

    def test_complete_knows_the_commands(self) -> None:
        done = command_line.run('complete')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertIn('compute', done.stdout)
        self.assertIn('--conductor-group', done.stdout)
        checked = subprocess.run(
            ['bash', '-n'], input=done.stdout, text=True, capture_output=True
        )
        self.assertEqual((0, ''), (checked.returncode, checked.stderr))

    def test_unwritable_output_is_an_error(self) -> None:
        with pathlib.Path('/dev/full').open('w') as full:
            for done in self.each_way_of_writing_to(full):
                self.assertEqual(1, done.returncode, done)
                self.assertEqual(1, len(done.stderr.splitlines()), done)
                self.assertIn('No space left', done.stderr)

    def test_broken_pipe_is_silent(self) -> None:
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, 'w') as pipe:
            for done in self.each_way_of_writing_to(pipe):
                self.assertEqual(
                    (141, ''), (done.returncode, done.stderr), done.args
                )

    def each_way_of_writing_to(
        self, output: IO[str]
    ) -> Iterator[command_line.Done]:
        """Run commands that meet the error at once, and others at the end."""
        config = ('--config-file', str(self.lab.config))
        for words in ((*config, 'backend', 'list'), ('--help',)):
            for unbuffered in ('', '1'):
                yield subprocess.run(
                    [str(command_line.PROGRAM), *words],
                    stdout=output,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, 'PYTHONUNBUFFERED': unbuffered},
                )

    def test_interrupted_command_is_silent(self) -> None:
        # The FIFO holds the program in the reading of its configuration.
        fifo = self.lab.directory / 'fifo.conf'
        os.mkfifo(fifo)
        child = subprocess.Popen(
            [
                *(str(command_line.PROGRAM), '--config-file', str(fifo)),
                *('service', 'list'),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        with fifo.open('w'):  # opens when the program reads it
            child.send_signal(signal.SIGINT)
            output = child.communicate(timeout=180)
        self.assertEqual((130, ('', '')), (child.returncode, output))
