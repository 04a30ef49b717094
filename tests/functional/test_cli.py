"""The command line as a process: imports, signals, and where it writes."""

from __future__ import annotations

import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import unittest
from collections.abc import Iterator
from typing import IO

from ironic_ownership.contracts import model
from tests.functional.support import command_line

NODE = '00000000-0000-4000-8000-0000000000a1'
LIMIT = 20
"""Seconds: a command has to come as far as its first request."""


class ProcessTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment()
        self.addCleanup(self.lab.close)
        self.config = ('--config-file', str(self.lab.config))

    def python(self, *words: str) -> tuple[str, str]:
        """Run Python; return what it prints, and the standard error."""
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True
        )
        self.assertEqual(0, done.returncode, done)
        return done.stdout, done.stderr

    def imports(self, *words: str) -> tuple[str, str]:
        """Run the program; return what it prints, and what it imports."""
        program = ('-m', 'ironic_ownership.cmd.cli')
        return self.python('-X', 'importtime', *program, *words)

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
        self.lab.run('service', 'list')
        _, imported = self.imports('service', 'list', *self.config)
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
        printed, _ = self.python('-c', code, *self.config, 'service', 'list')
        self.assertEqual('[0] [] True', printed.splitlines()[-1])

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
        for words in ((*self.config, 'backend', 'list'), ('--help',)):
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

    def test_terminal_is_asked_and_only_yes_is_yes(self) -> None:
        self.lab.serve('spare', command_line.ALL, alive=False)
        words = (*self.config, 'service', 'delete', 'spare')
        for answer, deleted in ((b'\n', 0), (b'no\n', 0), (b'y\n', 1)):
            ours, its = pty.openpty()
            os.write(ours, answer)
            done = subprocess.run(
                [str(command_line.PROGRAM), *words],
                stdin=its,
                capture_output=True,
                text=True,
                timeout=180,
            )
            os.close(ours)
            os.close(its)
            self.assertIn('Delete service spare? [y/N]', done.stderr)
            self.assertEqual(0 if deleted else 1, done.returncode, done)
            known = [row.host for row in self.lab.records.services()]
            self.assertEqual(not deleted, 'spare' in known)

    def test_command_ends_in_time_though_ironic_does_not_answer(self) -> None:
        """Nothing is lost, and nothing is claimed to be done."""
        # It accepts connections like a frozen server.
        silent = self.enterContext(socket.create_server(('127.0.0.1', 0)))
        self.lab.ironic = f'http://127.0.0.1:{silent.getsockname()[1]}'
        self.lab.configure()
        epoch = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.serve('new', command_line.ALL)
        self.lab.claim('old', epoch, model.Node(NODE, name='one'))
        done = self.lab.run(
            *('--timeout', str(LIMIT), 'compute', 'node', 'move', NODE),
            *('--service', 'new', '--yes'),
        )
        self.assertEqual((4, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, done.stderr.count('\n'), done)
        self.assertIn(f'error: no result within {LIMIT} s', done.stderr)
        self.assertIn('No answer yet from: Ironic (', done.stderr)
        self.assertRegex(
            done.stderr, 'event list --request-id req-[0-9a-f-]{36}"'
        )
        (record,) = self.lab.records.compute_nodes()
        self.assertEqual('old', record.host)
        self.assertEqual([], self.lab.json('move', 'list', '--unfinished'))
