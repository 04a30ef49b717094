"""``ironic-ownership-dbsync`` as an operator runs it, on every database."""

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
    def assert_done(
        self, found: subprocess.CompletedProcess[str], output: str
    ) -> None:
        self.assertEqual(
            (0, f'{output}\n', ''),
            (found.returncode, found.stdout, found.stderr),
        )

    def assert_refused(
        self, found: subprocess.CompletedProcess[str], *words: str
    ) -> None:
        self.assertEqual((1, ''), (found.returncode, found.stdout))
        self.assertEqual(1, len(found.stderr.splitlines()), found.stderr)
        for word in words:
            self.assertIn(word, found.stderr)


class _Dbsync:
    """Laws that hold on every database, at ``fresh_url``."""

    def test_upgrade_makes_the_schema_and_is_repeatable(self) -> None:
        url = self.fresh_url()
        self.assert_done(run(url, 'version'), 'none')
        self.assert_done(run(url, 'upgrade'), schema.HEAD)
        self.assert_done(run(url, 'version'), schema.HEAD)
        self.assert_done(run(url, 'upgrade'), schema.HEAD)
        database = connection.open_database(url)
        self.addCleanup(database.close)
        schema.ensure(database)

    def test_upgrade_from_the_first_revision_keeps_the_rows(self) -> None:
        url = self.fresh_url()
        self.assert_done(run(url, 'upgrade', '--revision', '0011'), '0011')
        database = connection.open_database(url)
        self.addCleanup(database.close)
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
        self.assert_done(run(url, 'upgrade'), schema.HEAD)
        (service,) = records.SqlRecords(database).services()
        self.assertEqual(('host1', 7), (service.host, service.epoch))
        self.assertIsNone(service.view_checksum)


class _Server:
    def test_server_is_not_upgraded_without_its_operator(self) -> None:
        database = connection.open_database(self.fresh_url())
        self.addCleanup(database.close)
        with self.assertRaises(exceptions.SchemaError) as caught:
            schema.ensure(database)
        self.assertIn('ironic-ownership-dbsync upgrade', str(caught.exception))
        self.assertIsNone(schema.version(database))

    def test_change_of_a_table_waits_briefly_for_its_lock(self) -> None:
        url = self.fresh_url()
        self.assert_done(run(url, 'upgrade'), schema.HEAD)
        reader = connection.open_database(url)
        self.addCleanup(reader.close)
        writer = connection.open_database(
            url, statement_timeout=3600, lock_timeout=1
        )
        self.addCleanup(writer.close)
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


class TestDbsyncOnSqlite(_Dbsync, _Case):
    """The laws of every database that one of them is enough for."""

    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()

    def test_stamp_writes_the_revision_and_no_table(self) -> None:
        url = self.fresh_url()
        self.assert_done(run(url, 'stamp', '--revision', '0011'), '0011')
        database = connection.open_database(url)
        self.addCleanup(database.close)
        tables = database.read(lambda c: sa.inspect(c).get_table_names())
        self.assertEqual(['alembic_version'], tables)

    def test_purge_deletes_old_history(self) -> None:
        url = self.fresh_url()
        run(url, 'upgrade')
        database = connection.open_database(url)
        self.addCleanup(database.close)
        stored = records.SqlRecords(database)
        for host in ('host1', 'host2'):
            stored.register(host, model.MemberSettings())
        stored.delete_service('host2', actor='test')

        def age(conn: sa.Connection) -> None:
            at = tables.events.c.at
            conn.execute(sa.update(tables.events).values(at=at - 40 * 86400))

        database.write(age)
        stored.register('host3', model.MemberSettings())
        options = ('purge', '--days', '30')
        output = run(url, *options, '--dry-run').stdout
        self.assertIn('events: 2 would be deleted\n', output)
        self.assertEqual(4, len(stored.events()))
        for number in (2, 0):
            done = run(url, *options)
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            self.assertIn(f'events: {number} deleted\n', done.stdout)
        self.assertEqual(
            ['service_registered', 'service_deleted'],
            [event.kind for event in stored.events()],
        )
        self.assert_refused(
            run(url, 'purge', '--before', '2999-01-01'), 'in the future'
        )
        done = run(url, 'purge', '--before', '2020-01-01T00:00')
        self.assertIn('events: 0 deleted\n', done.stdout)

    def test_unknown_revision_is_refused(self) -> None:
        for command in ('upgrade', 'stamp'):
            url = self.fresh_url()
            self.assert_refused(
                run(url, command, '--revision', '0099'), '0099', '0011'
            )
            self.assert_done(run(url, 'version'), 'none')

    def test_database_of_a_newer_release_is_left_alone(self) -> None:
        url = self.fresh_url()
        run(url, 'upgrade')
        database = connection.open_database(url)
        self.addCleanup(database.close)
        newer_schema.mark(database, 'f00')
        self.assert_refused(run(url, 'upgrade'), 'f00', 'newer release')
        with self.assertRaises(exceptions.SchemaError) as caught:
            schema.ensure(database)
        self.assertIn('newer release', str(caught.exception))
        self.assert_done(run(url, 'version'), 'f00')

    def test_schema_of_the_next_release_can_be_used_but_not_upgraded(
        self,
    ) -> None:
        url = self.fresh_url()
        run(url, 'upgrade')
        database = connection.open_database(url)
        self.addCleanup(database.close)
        newer_schema.mark(database, 'f00', schema.HEAD)
        schema.ensure(database)
        self.assert_refused(run(url, 'upgrade'), 'f00', 'newer release')

    def test_tables_of_something_else_are_left_alone(self) -> None:
        url = self.fresh_url()
        database = connection.open_database(url)
        self.addCleanup(database.close)
        database.write(
            lambda conn: conn.execute(sa.text('CREATE TABLE nodes (id INT)'))
        )
        self.assert_refused(run(url, 'upgrade'), 'nodes')
        tables = database.read(lambda c: sa.inspect(c).get_table_names())
        self.assertEqual(['nodes'], tables)


class TestDbsyncOnPostgreSQL(_Dbsync, _Server, _Case):
    slow = 'pg_sleep(2)'

    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestDbsyncOnMariaDB(_Dbsync, _Server, _Case):
    slow = 'SLEEP(2)'

    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()
