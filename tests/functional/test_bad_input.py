"""Unusable input of every program: one line, exit code 1 or 2, no effect.

``tests/unit/test_settings.py`` and ``tests/unit/db`` have each fault; here is
what the processes make of them.
"""

from __future__ import annotations

import unittest

from tests.functional import test_dbsync
from tests.functional.support import (
    command_line,
    databases,
    hosts,
    programs,
)

SECRET = 'hunter2'
OPTIONS = (
    # sections of a host's configuration, and words of the one line
    ({'ownership': {'policies': 'shard'}}, "'shard'", 'shard_key'),
    (
        {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': f'mysql://u:{SECRET}@h/x'},
        },
        "'mysql' has no groups",
        'etcd3+http:// (extra etcd)',
    ),
    ({'DEFAULT': {'log_file': '/nonexistent/x'}}, 'log_file'),
    ({'database': {'connection': SECRET}}, 'not a database URL'),
)


def run_host(*arguments: str) -> programs.Done:
    """Run a host to its end."""
    argv = ['ironic-ownership-host', *arguments]
    return programs.run(argv, hosts.TIMEOUT, programs.HOST)


class HostTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = databases.temporary_directory('bad')
        self.file = self.directory / 'ironic-ownership.conf'
        self.records = self.directory / 'records.sqlite'
        self.configure()

    def configure(self, *sections: hosts.Sections) -> None:
        good = {
            'DEFAULT': {'host': 'host1'},
            'database': {'connection': f'sqlite:///{self.records}'},
            'ironic': {
                'auth_type': 'none',
                'endpoint_override': 'http://127.0.0.1:1',
            },
        }
        self.file.write_text(hosts.text_of(hosts.FAST, good, *sections))

    def refuse(self, *words: str) -> None:
        """Start a host, and see it refuse to."""
        done = run_host('--config-file', str(self.file))
        self.assertEqual(1, done.returncode, done.stderr)
        (line,) = done.stderr.splitlines()
        self.assertTrue(
            line.startswith('ironic-ownership-host: error: '), line
        )
        self.assertNotIn(SECRET, line)
        for word in words:
            self.assertIn(word, line)

    def test_options_that_do_not_fit(self) -> None:
        for sections, *words in OPTIONS:
            with self.subTest(sections=sections):
                self.configure(sections)
                self.refuse(*words)
                self.assertFalse(self.records.exists())

    def test_files_that_cannot_be_used(self) -> None:
        self.records.write_text('my notes, and nothing else')
        self.refuse('not an SQLite database')
        self.file.write_text('nonsense\n')
        self.refuse(str(self.file), 'nonsense')
        self.file.unlink()
        self.refuse(self.file.name)


class UsageTest(unittest.TestCase):
    def test_wrong_arguments_exit_with_2(self) -> None:
        for run, *words in (
            (run_host, '--nope'),
            (command_line.run, 'service', 'list', '-f', 'nosuch'),
            (command_line.run, 'compute', 'node', 'list', '--shard', ''),
            (command_line.run, '--config-file'),
            (test_dbsync.call,),
            (test_dbsync.call, 'version', '--revision', '1'),
            (test_dbsync.call, 'purge', '--days', '0'),
            (test_dbsync.call, 'purge', '--before', '2020-01-01', '--days=3'),
        ):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual((2, ''), (done.returncode, done.stdout))
                self.assertNotIn('Traceback', done.stderr)

    def test_databases_that_cannot_be_used(self) -> None:
        nowhere = f'u:{SECRET}@127.0.0.1:1/x'
        for url, word in (
            (f'mysql+pymysql://{nowhere}', 'does not answer'),
            (f'postgresql+psycopg2://{nowhere}', 'does not answer'),
            (databases.MARIADB.fresh() + 'missing', 'missing'),
            (databases.POSTGRESQL.fresh() + 'missing', 'missing'),
        ):
            with self.subTest(url):
                done = test_dbsync.run(url, 'upgrade')
                self.assertEqual((1, ''), (done.returncode, done.stdout))
                self.assertEqual(1, len(done.stderr.splitlines()), done)
                self.assertNotIn(SECRET, done.stderr)
                self.assertIn(word, done.stderr)
