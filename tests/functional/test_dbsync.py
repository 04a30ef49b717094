"""``ironic-ownership-dbsync`` as an operator runs it, on every database.

``tests/unit/db/test_schema.py`` has what it refuses to upgrade.
"""

from __future__ import annotations

import subprocess
import unittest

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import connection, records, schema, tables
from tests.contract import newer_schema
from tests.functional.support import databases, programs


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a configuration file that names the database."""
    file = databases.temporary_directory('conf') / 'ironic-ownership.conf'
    file.write_text(f'[database]\nconnection = {url}\n')
    return call('--config-file', str(file), *arguments)


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return programs.run([programs.DBSYNC, *arguments], 180, programs.DBSYNC)


class _Case(unittest.TestCase):
    kind: databases.DatabaseServer | databases.Sqlite

    def setUp(self) -> None:
        super().setUp()
        self.url = self.kind.fresh()

    def open(self, **options: float) -> connection.Database:
        database = connection.open_database(self.url, **options)
        self.addCleanup(database.close)
        return database

    def assert_done(self, output: str, *arguments: str) -> None:
        found = run(self.url, *arguments)
        self.assertEqual(
            (0, f'{output}\n', ''),
            (found.returncode, found.stdout, found.stderr),
        )

    def assert_refused(self, words: tuple[str, ...], *arguments: str) -> None:
        found = run(self.url, *arguments)
        self.assertEqual((1, ''), (found.returncode, found.stdout))
        self.assertEqual(1, len(found.stderr.splitlines()), found.stderr)
        for word in words:
            self.assertIn(word, found.stderr)


class TestDbsyncOnSqlite(_Case):
    """The laws of every database."""

    kind = databases.SQLITE

    def test_upgrade_keeps_the_rows_and_is_repeatable(self) -> None:
        self.assert_done('none', 'version')
        self.assert_done('0011', 'upgrade', '--revision', '0011')
        database = self.open()
        database.write(
            lambda c: c.execute(
                sa.text(
                    'INSERT INTO services (host, epoch, disabled, '
                    'forced_down, fenced, settings) VALUES '
                    "('host1', 7, :no, :no, :no, '')"
                ),
                {'no': False},
            )
        )
        for command in ('upgrade', 'version', 'upgrade'):
            self.assert_done(tables.HEAD, command)
        schema.ensure(database)
        (service,) = records.SqlRecords(database).services()
        self.assertEqual(('host1', 7), (service.host, service.epoch))
        self.assertIsNone(service.view_checksum)


class TestCommands(_Case):
    """One database is enough."""

    kind = databases.SQLITE

    def test_stamp_writes_the_revision_and_no_table(self) -> None:
        self.assert_done('0011', 'stamp', '--revision', '0011')
        found = self.open().read(lambda c: sa.inspect(c).get_table_names())
        self.assertEqual(['alembic_version'], found)

    def test_purge_deletes_old_history(self) -> None:
        run(self.url, 'upgrade')
        database = self.open()
        stored = records.SqlRecords(database)
        for host in ('host1', 'host2'):
            stored.register(host, model.MemberSettings())
        stored.delete_service('host2', actor='test')
        at = tables.events.c.at
        aged = sa.update(tables.events).values(at=at - 40 * 86400)
        database.write(lambda conn: conn.execute(aged))
        stored.register('host3', model.MemberSettings())
        for words, line, kept in (
            (('--days', '30', '--dry-run'), '2 would be deleted', 4),
            (('--days', '30'), '2 deleted', 2),
            (('--days', '30'), '0 deleted', 2),
            (('--before', '2020-01-01T00:00'), '0 deleted', 2),
        ):
            done = run(self.url, 'purge', *words)
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            self.assertIn(f'events: {line}\n', done.stdout)
            self.assertEqual(kept, len(stored.events()))
        self.assert_refused(
            ('in the future',), 'purge', '--before', '2999-01-01'
        )

    def test_revision_that_is_not_known_is_left_alone(self) -> None:
        for command in ('upgrade', 'stamp'):
            self.assert_refused(
                ('0099', '0011'), command, '--revision', '0099'
            )
            self.assert_done('none', 'version')
        run(self.url, 'upgrade')
        # The older release may still use the first one.
        for oldest in (tables.HEAD, 'f00'):
            newer_schema.mark(self.open(), 'f00', oldest)
            self.assert_refused(('f00', 'newer release'), 'upgrade')
            self.assert_done('f00', 'version')


class TestDbsyncOnPostgreSQL(TestDbsyncOnSqlite):
    kind = databases.POSTGRESQL
    slow = 'pg_sleep(2)'

    def test_server_is_not_upgraded_without_its_operator(self) -> None:
        database = self.open()
        with self.assertRaises(exceptions.SchemaError) as caught:
            schema.ensure(database)
        self.assertIn('ironic-ownership-dbsync upgrade', str(caught.exception))
        self.assertIsNone(database.revision())

    def test_change_of_a_table_waits_briefly_for_its_lock(self) -> None:
        self.assert_done(tables.HEAD, 'upgrade')
        reader = self.open()
        writer = self.open(statement_timeout=3600, lock_timeout=1)
        writer.read(lambda conn: conn.execute(sa.text(f'SELECT {self.slow}')))
        with reader.engine.begin() as conn:
            conn.execute(sa.text('SELECT * FROM node_moves'))
            with (
                writer.engine.begin() as other,
                self.assertRaises(Exception) as caught,
            ):
                other.execute(
                    sa.text('ALTER TABLE node_moves ADD COLUMN more INTEGER')
                )
        self.assertIn('lock', str(caught.exception).lower())


class TestDbsyncOnMariaDB(TestDbsyncOnPostgreSQL):
    kind = databases.MARIADB
    slow = 'SLEEP(2)'
