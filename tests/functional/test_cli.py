"""The command line on SQLite: help, usage, and bad input."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

from tests.functional.support import command_line, command_line_case

# root reads every file, unless it gives up the right to do so.
_WITHOUT_PRIVILEGES = (
    ('setpriv', '--bounding-set=-dac_override,-dac_read_search')
    if os.geteuid() == 0
    else ()
)
QUESTIONS = (
    'compute node list',
    'compute node show',
    'compute node explain',
    'ring show',
    'ring preview',
    'policy compare',
    'check',
)


class HelpTest(command_line_case.CommandLineTestCase):
    def test_version_needs_no_library(self) -> None:
        done = subprocess.run(
            [
                *(sys.executable, '-X', 'importtime', '-m'),
                *('ironic_ownership.cmd.cli', '--version'),
            ],
            capture_output=True,
            text=True,
        )
        self.assertRegex(done.stdout, r'^ironic-ownership \S+\n$')
        for library in ('cliff', 'stevedore', 'oslo_config', 'sqlalchemy'):
            self.assertIsNone(
                re.search(rf'\| +{library}\b', done.stderr), library
            )

    def test_list_of_services_imports_only_what_it_needs(self) -> None:
        self.lab.run('service', 'list')
        done = subprocess.run(
            [
                *(sys.executable, '-X', 'importtime', '-m'),
                *('ironic_ownership.cmd.cli', 'service', 'list'),
                *('--config-file', str(self.lab.config)),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode)
        self.assertIn('sqlalchemy', done.stderr)
        for library in (
            *('alembic', 'cmd2', 'openstack', 'keystoneauth1', 'yaml'),
            *('oslo_log.log', 'ironic_ownership.cli.compute_node'),
        ):
            self.assertIsNone(
                re.search(rf'\| +{re.escape(library)}\n', done.stderr),
                library,
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

    def test_options_of_the_program_stand_before_or_after(self) -> None:
        config = ('--config-file', str(self.lab.config))
        for words in (
            (*config, 'backend', 'list'),
            ('backend', 'list', *config),
        ):
            self.assertEqual(0, command_line.run(*words).returncode)


class UsageTest(command_line_case.CommandLineTestCase):
    def test_unknown_options_and_values_exit_with_2(self) -> None:
        for words in (
            ('service', 'list', '--nosuch'),
            ('service', 'list', '-f', 'nosuch'),
            ('compute', 'node', 'list', '--state', 'nosuch'),
            ('compute', 'node', 'list', '--shard', ''),
            ('compute', 'node', 'show'),
            ('compute', 'node', 'show', 'x', '--events', '-1'),
            ('service', 'show'),
            ('--config-file',),
        ):
            done = self.lab.run(*words)
            self.assertEqual((2, ''), (done.returncode, done.stdout), words)
            self.assertNotIn('Traceback', done.stderr)
        self.assertIn('nosuch', self.lab.run('service', 'nosuch').stderr)


class BadInputTest(command_line_case.CommandLineTestCase):
    def configured(self, text: str) -> pathlib.Path:
        path = self.lab.directory / 'odd.conf'
        path.write_text(text)
        return path

    def test_missing_configuration_file(self) -> None:
        self.assert_refused(
            command_line.run(
                '--config-file', '/nonexistent', 'service', 'list'
            ),
            *(1, '/nonexistent'),
        )

    def test_unreadable_file(self) -> None:
        self.lab.config.chmod(0)
        done = subprocess.run(
            [
                *_WITHOUT_PRIVILEGES,
                *(str(command_line.PROGRAM), 'service', 'list'),
                *('--config-file', str(self.lab.config)),
            ],
            capture_output=True,
            text=True,
        )
        self.assert_refused(done, 1, str(self.lab.config))

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
                # The pager of the help takes it for a reader who has enough.
                expected = 0 if '--help' in done.args else 141
                self.assertEqual(
                    (expected, ''), (done.returncode, done.stderr), done.args
                )

    def each_way_of_writing_to(
        self, output: IO[str]
    ) -> Iterator[command_line.Done]:
        """Run commands that meet the error at once, and others at the end."""
        for words in (('backend', 'list'), ('--help',), ('--version',)):
            for unbuffered in ('', '1'):
                yield subprocess.run(
                    [
                        str(command_line.PROGRAM),
                        *(
                            ('--config-file', str(self.lab.config))
                            if len(words) > 1
                            else ()
                        ),
                        *words,
                    ],
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
