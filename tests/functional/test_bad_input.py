"""Unusable input of hosts: one line, exit code 1 or 2, nothing written."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading
import unittest

import sqlalchemy as sa

from ironic_ownership.db import connection, schema, tables
from tests.contract import newer_schema
from tests.functional.support import databases, hosts, programs

START = 'ironic-ownership-host: error: '


def run(*arguments: str) -> programs.Done:
    """Run a host to its end."""
    argv = ['ironic-ownership-host', *arguments]
    return programs.run(argv, hosts.TIMEOUT, programs.HOST)


class Answering:
    """Something that listens where Ironic should.

    :param body: what it answers to everything.
    :param headers: of each answer.
    """

    def __init__(self, body: bytes, **headers: str) -> None:
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

        self._server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), Handler
        )
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        ).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def old_ironic(newest: str) -> Answering:
    """Return what says to be an Ironic of that newest API version."""
    version = {'id': 'v1', 'min_version': '1.1', 'version': newest}
    return Answering(
        json.dumps(
            {'default_version': version, 'versions': [version]}
        ).encode(),
        Content_Type='application/json',
        X_OpenStack_Ironic_API_Minimum_Version='1.1',
        X_OpenStack_Ironic_API_Maximum_Version=newest,
    )


class _Refused(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = databases.temporary_directory('bad')
        self.file = self.directory / 'ironic-ownership.conf'
        self.records = self.directory / 'records.sqlite'

    def refuse(
        self, sections: hosts.Sections, *words: str, more: str = ''
    ) -> None:
        """Start a host, and see it refuse to."""
        good = {
            'DEFAULT': {'host': 'host1'},
            'database': {'connection': f'sqlite:///{self.records}'},
            'ironic': {
                'auth_type': 'none',
                'endpoint_override': 'http://127.0.0.1:1',
            },
        }
        text = hosts.text_of(hosts.FAST, good, sections)
        self.file.write_text(f'{text}{more}')
        with self.subTest(sections=sections, more=more):
            self.refuse_arguments('--config-file', str(self.file), words=words)

    def refuse_arguments(
        self,
        *arguments: str,
        words: tuple[str, ...],
        prefix: tuple[str, ...] = (),
    ) -> None:
        done = (
            subprocess.run(
                [*prefix, *hosts.COMMAND, *arguments],
                capture_output=True,
                text=True,
                timeout=hosts.TIMEOUT,
            )
            if prefix
            else run(*arguments)
        )
        self.assertEqual(1, done.returncode, done.stderr)
        (line,) = done.stderr.splitlines()
        self.assertTrue(line.startswith(START), line)
        for word in words:
            self.assertIn(word, line)
        self.assert_nothing_written()

    def assert_nothing_written(self) -> None:
        if not self.records.is_file() or not self.records.stat().st_size:
            return
        database = connection.open_database(f'sqlite:///{self.records}')
        try:
            for table in tables.metadata.sorted_tables:
                if table is tables.schema_compatibility:
                    continue  # filled by the migration itself
                rows = database.read(
                    lambda c, t=table: c.execute(sa.select(t)).all()
                )
                self.assertEqual([], rows)
        finally:
            database.close()


class TestOptions(_Refused):
    def test_plugins_and_options_that_do_not_fit(self) -> None:
        for sections, *words in (
            ({'ownership': {'policies': 'shard'}}, "'shard'", 'shard_key'),
            ({'ownership': {'backend': 'etcd9'}}, "'etcd9'", 'db, memory'),
            ({'ownership': {'backend': 'tooz'}}, 'add "backend_url ='),
            (
                {
                    'ownership': {'backend': 'tooz'},
                    'backend_tooz': {'backend_url': 'mysql://u:hunter2@h/x'},
                },
                "'mysql' has no groups",
                'etcd3+http:// (extra etcd)',
            ),
            ({'ownership': {'policies': 'shard_key'}}, 'add "shard_key ='),
            (
                {
                    'ownership': {'policies': 'all'},
                    'ironic': {'shard_key': 's1'},
                },
                "add 'shard_key' to",
            ),
            (
                {
                    'ownership': {'policies': 'peer_list'},
                    'ironic': {'peer_list': 'host2'},
                },
                'peer_list does not name this host',
            ),
        ):
            self.refuse(sections, *words)

    def test_log_that_cannot_be_written(self) -> None:
        for option in ('log_file', 'log_config_append'):
            self.refuse({'DEFAULT': {option: '/nonexistent/x'}}, option)


class TestFiles(_Refused):
    def test_configuration_that_is_no_configuration(self) -> None:
        self.refuse({}, str(self.file), 'nonsense', more='nonsense\n')
        self.file.write_bytes(b'\x00\xff' * 9)
        for path, word in (
            (self.file, 'UTF-8'),
            (self.directory, 'directory'),
            (self.directory / 'missing.conf', 'missing.conf'),
        ):
            self.refuse_arguments('--config-file', str(path), words=(word,))

    def test_files_that_may_not_be_read(self) -> None:
        self.refuse({'DEFAULT': {'host': ''}})
        self.file.chmod(0)
        self.refuse_arguments(
            '--config-file',
            str(self.file),
            words=(str(self.file),),
            prefix=self.unprivileged(),
        )
        self.file.chmod(0o600)
        self.file.write_text(
            self.file.read_text().replace('host = ', 'host = host1')
        )
        for mode in (0, 0o400):
            with self.subTest(mode=mode):
                self.make_records()
                self.records.chmod(mode)
                self.refuse_arguments(
                    '--config-file',
                    str(self.file),
                    words=(str(self.records),),
                    prefix=self.unprivileged(),
                )

    def unprivileged(self) -> tuple[str, ...]:
        """Return what takes away root's right to read everything."""
        if os.geteuid() != 0:
            return ()
        setpriv = shutil.which('setpriv')
        self.assertIsNotNone(setpriv, 'util-linux is not installed')
        return str(setpriv), '--bounding-set=-dac_override,-dac_read_search'

    def make_records(self, version: str = schema.HEAD) -> None:
        self.records.unlink(missing_ok=True)
        database = connection.open_database(f'sqlite:///{self.records}')
        schema.upgrade(database)
        newer_schema.mark(database, version)
        database.close()

    def test_records_of_a_newer_release(self) -> None:
        self.make_records('9999')
        self.refuse({}, str(self.records), '9999', 'newer release')
        database = connection.open_database(f'sqlite:///{self.records}')
        self.addCleanup(database.close)
        self.assertEqual('9999', schema.version(database))

    def test_records_that_are_no_records(self) -> None:
        notes = pathlib.Path(self.directory, 'notes')
        notes.write_text('my notes, and nothing else')
        for url, word in (
            (f'sqlite:///{notes}', 'not an SQLite database'),
            (f'sqlite:///{self.directory}', 'not a regular file'),
            ('sqlite:////nonexistent/x.sqlite', 'Create /nonexistent'),
            ('sqlite://', 'memory'),
            ('hunter2', 'not a database URL'),
        ):
            self.refuse({'database': {'connection': url}}, word)
        self.assertEqual('my notes, and nothing else', notes.read_text())


class TestIronic(_Refused):
    def refuse_server(
        self, server: Answering, *words: str, **ironic: object
    ) -> None:
        self.addCleanup(server.stop)
        policies = 'shard_key' if 'shard_key' in ironic else 'all'
        self.refuse(
            {
                'ownership': {'policies': policies},
                'ironic': {'endpoint_override': server.url, **ironic},
            },
            *words,
        )

    def test_something_else_in_the_place_of_ironic(self) -> None:
        for server in (
            Answering(b'<html>hello', Content_Type='text/html'),
            Answering(b'{"id": "v3"}', Content_Type='application/json'),
        ):
            self.refuse_server(server, 'endpoint_override')

    def test_ironic_that_is_too_old(self) -> None:
        self.refuse_server(old_ironic('1.81'), '1.82', '1.81', '2023.1')

    def test_endpoints_that_are_none(self) -> None:
        for option, value in (
            ('endpoint_override', 'ironic.example.org:6385'),
            ('endpoint_override', 'http://[::1'),
            ('endpoint_override', ''),
            ('auth_type', 'magic'),
            ('auth_type', ''),
        ):
            self.refuse({'ironic': {option: value}}, option)


class TestUsage(unittest.TestCase):
    def test_wrong_arguments_exit_with_2(self) -> None:
        for argument in ('--nope', 'start'):
            done = run(argument)
            self.assertEqual(2, done.returncode)
            last = done.stderr.splitlines()[-1]
            self.assertTrue(last.startswith(START), last)
            self.assertIn(argument, last)
