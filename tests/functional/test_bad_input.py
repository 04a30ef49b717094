"""Unusable input of every program: one line, exit code 1 or 2, no effect."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import threading
import unittest

import sqlalchemy as sa

from ironic_ownership.db import connection, schema, tables
from tests.contract import newer_schema
from tests.functional import test_dbsync
from tests.functional.support import (
    command_line,
    databases,
    hosts,
    programs,
)

START = 'ironic-ownership-host: error: '
SECRET = 'hunter2'
OPTIONS = (
    # sections of a host's configuration, and words of the one line
    ({'ownership': {'policies': 'shard'}}, "'shard'", 'shard_key'),
    ({'ownership': {'backend': 'etcd9'}}, "'etcd9'", 'db, memory'),
    ({'ownership': {'backend': 'tooz'}}, 'add "backend_url ='),
    (
        {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': f'mysql://u:{SECRET}@h/x'},
        },
        "'mysql' has no groups",
        'etcd3+http:// (extra etcd)',
    ),
    (
        {
            'ownership': {'policies': 'peer_list'},
            'ironic': {'peer_list': 'host2'},
        },
        'peer_list does not name this host',
    ),
    ({'DEFAULT': {'host': ''}},),
    ({'DEFAULT': {'log_file': '/nonexistent/x'}}, 'log_file'),
    ({'ironic': {'endpoint_override': 'http://[::1'}}, 'endpoint_override'),
    ({'ironic': {'auth_type': 'magic'}}, 'auth_type'),
    ({'database': {'connection': 'sqlite:////nonexistent/x'}}, 'Create /non'),
    ({'database': {'connection': SECRET}}, 'not a database URL'),
)
USAGE = (
    (command_line.run, ('service', 'list', '--nosuch')),
    (command_line.run, ('service', 'list', '-f', 'nosuch')),
    (command_line.run, ('compute', 'node', 'list', '--state', 'nosuch')),
    (command_line.run, ('compute', 'node', 'list', '--shard', '')),
    (command_line.run, ('compute', 'node', 'show', 'x', '--events', '-1')),
    (command_line.run, ('--config-file',)),
    (test_dbsync.call, ()),
    (test_dbsync.call, ('version', '--revision', '1')),
    (test_dbsync.call, ('purge',)),
    (test_dbsync.call, ('purge', '--days', '0')),
    (test_dbsync.call, ('purge', '--before', '2020-01-01', '--days', '3')),
)


def run_host(*arguments: str) -> programs.Done:
    """Run a host to its end."""
    argv = ['ironic-ownership-host', *arguments]
    return programs.run(argv, hosts.TIMEOUT, programs.HOST)


def answering(body: bytes, **headers: str) -> http.server.HTTPServer:
    """Start what listens where Ironic should, and answers all with a body."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace('_', '-'), value)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(
        target=server.serve_forever, args=(0.05,), daemon=True
    ).start()
    return server


def old_ironic(newest: str) -> http.server.HTTPServer:
    """Return what claims to be an Ironic of that newest API version."""
    version = {'id': 'v1', 'min_version': '1.1', 'version': newest}
    return answering(
        json.dumps(
            {'default_version': version, 'versions': [version]}
        ).encode(),
        Content_Type='application/json',
        X_OpenStack_Ironic_API_Minimum_Version='1.1',
        X_OpenStack_Ironic_API_Maximum_Version=newest,
    )


def unprivileged() -> tuple[str, ...]:
    """Return what takes away root's right to read everything."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which('setpriv')
    assert setpriv, 'util-linux is not installed'
    return setpriv, '--bounding-set=-dac_override,-dac_read_search'


class HostTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = databases.temporary_directory('bad')
        self.file = self.directory / 'ironic-ownership.conf'
        self.records = self.directory / 'records.sqlite'

    def configure(self, *sections: hosts.Sections, more: str = '') -> None:
        good = {
            'DEFAULT': {'host': 'host1'},
            'database': {'connection': f'sqlite:///{self.records}'},
            'ironic': {
                'auth_type': 'none',
                'endpoint_override': 'http://127.0.0.1:1',
            },
        }
        self.file.write_text(hosts.text_of(hosts.FAST, good, *sections) + more)

    def refuse(self, *words: str, file: object = None) -> None:
        """Start a host, and see it refuse to."""
        done = run_host('--config-file', str(file or self.file))
        self.assert_refused(done, *words)

    def assert_refused(self, done: programs.Done, *words: str) -> None:
        self.assertEqual(1, done.returncode, done.stderr)
        (line,) = done.stderr.splitlines()
        self.assertTrue(line.startswith(START), line)
        self.assertNotIn(SECRET, line)
        for word in words:
            self.assertIn(word, line)

    def make_records(self, version: str = schema.HEAD) -> None:
        database = connection.open_database(f'sqlite:///{self.records}')
        schema.upgrade(database)
        newer_schema.mark(database, version)
        database.close()

    def test_options_that_do_not_fit(self) -> None:
        for sections, *words in OPTIONS:
            with self.subTest(sections=sections):
                self.configure(sections)
                self.refuse(*words)
                self.assertFalse(self.records.exists())

    def test_files_that_cannot_be_used(self) -> None:
        self.configure(more='nonsense\n')
        self.refuse(str(self.file), 'nonsense')
        self.file.write_bytes(b'\x00\xff' * 9)
        for path, word in (
            (self.file, 'UTF-8'),
            (self.directory, 'directory'),
            (self.directory / 'missing.conf', 'missing.conf'),
        ):
            self.refuse(word, file=path)
        self.configure()
        self.records.write_text('my notes, and nothing else')
        self.refuse('not an SQLite database')
        self.assertEqual(
            'my notes, and nothing else', self.records.read_text()
        )
        self.records.unlink()
        self.make_records()
        for file, mode in (
            (self.file, 0),
            (self.records, 0),
            (self.records, 0o400),
        ):
            before = file.stat().st_mode
            file.chmod(mode)
            done = subprocess.run(
                [
                    *(*unprivileged(), *hosts.COMMAND),
                    *('--config-file', str(self.file)),
                ],
                capture_output=True,
                text=True,
                timeout=hosts.TIMEOUT,
            )
            self.assert_refused(done, str(file))
            file.chmod(before)

    def test_records_of_a_newer_release(self) -> None:
        self.configure()
        self.make_records('9999')
        self.refuse(str(self.records), '9999', 'newer release')
        database = connection.open_database(f'sqlite:///{self.records}')
        self.addCleanup(database.close)
        self.assertEqual('9999', schema.version(database))

    def test_something_else_in_the_place_of_ironic(self) -> None:
        for server, *words in (
            (
                answering(b'<html>hello', Content_Type='text/html'),
                'endpoint_override',
            ),
            (
                answering(b'{"id": "v3"}', Content_Type='application/json'),
                'endpoint_override',
            ),
            (old_ironic('1.81'), '1.82', '1.81', '2023.1'),
        ):
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            url = f'http://127.0.0.1:{server.server_port}'
            self.configure({'ironic': {'endpoint_override': url}})
            self.refuse(*words)
            self.assert_nothing_written()

    def assert_nothing_written(self) -> None:
        database = connection.open_database(f'sqlite:///{self.records}')
        self.addCleanup(database.close)
        for table in tables.metadata.sorted_tables:
            # The schema itself may be there; its migration fills one table.
            if table is not tables.schema_compatibility:
                rows = database.read(
                    lambda c, t=table: c.execute(sa.select(t)).all()
                )
                self.assertEqual([], rows)


class UsageTest(unittest.TestCase):
    def test_wrong_arguments_exit_with_2(self) -> None:
        for run, words in (*USAGE, (run_host, ('--nope',))):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual((2, ''), (done.returncode, done.stdout))
                self.assertNotIn('Traceback', done.stderr)

    def test_databases_that_cannot_be_used(self) -> None:
        missing = databases.MARIADB.fresh() + 'missing'
        for url, *words in (
            (f'secret:{SECRET}@host', '[database] connection'),
            (
                f'mysql+mysqldb://u:{SECRET}@127.0.0.1/x',
                'mysqldb',
                'pip install',
            ),
            (f'mysql+pymysql://u:{SECRET}@127.0.0.1:1/x', 'does not answer'),
            (
                f'postgresql+psycopg2://u:{SECRET}@127.0.0.1:1/x',
                'does not answer',
            ),
            (databases.POSTGRESQL.fresh() + 'missing', 'missing'),
            (missing, 'missing'),
        ):
            with self.subTest(url):
                done = test_dbsync.run(url, 'upgrade')
                self.assertEqual((1, ''), (done.returncode, done.stdout))
                self.assertEqual(1, len(done.stderr.splitlines()), done)
                self.assertNotIn(SECRET, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)
