from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from unittest import mock

import sqlalchemy as sa
from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, dialects, tables
from tests.unit.db import sqlite

PATIENCE = 60.0
"""Seconds; one that waited for the other would wait for ever."""

_SERVICE = {
    'epoch': 1,
    'disabled': False,
    'forced_down': False,
    'fenced': False,
    'settings': '{}',
}


def _insert(conn: sa.Connection, host: str) -> None:
    conn.execute(sa.insert(tables.services).values(host=host, **_SERVICE))


def _count(conn: sa.Connection) -> int:
    return conn.execute(
        sa.select(sa.func.count()).select_from(tables.services)
    ).scalar_one()


def _mode(conn: sa.Connection) -> str:
    return conn.exec_driver_sql('PRAGMA journal_mode').scalar_one()


class TestSqlite(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()

    def test_second_opening_gives_up_no_lock_of_the_first(self) -> None:
        # Or another process is the last one that uses the log: it goes.
        self.open()
        program = (
            'import sqlite3, sys\n'
            'used = sqlite3.connect(sys.argv[1])\n'
            'used.execute("SELECT * FROM services").fetchall()\n'
            'used.close()\n'
        )
        file = self.directory / 'records.sqlite'
        subprocess.run([sys.executable, '-c', program, file], check=True)
        self.assertTrue(file.with_name('records.sqlite-wal').exists())

    def test_readers_and_a_writer_do_not_wait_for_each_other(self) -> None:
        other = self.open(statement_timeout=PATIENCE)

        def write(conn: sa.Connection) -> int:
            _insert(conn, 'host1')
            return other.read(_count)

        def read(conn: sa.Connection) -> tuple[int, int]:
            before = _count(conn)
            other.write(lambda c: _insert(c, 'host2'))
            # A transaction keeps the state of its first read.
            return before, _count(conn)

        self.assertEqual(0, self.database.write(write))
        self.assertEqual((1, 1), self.database.read(read))
        self.assertEqual(2, other.read(_count))

    def test_connection_that_breaks_on_its_return_is_one_line(self) -> None:
        @sa.event.listens_for(self.database.engine, 'reset')
        def fail(*args: object) -> None:
            raise OSError('frozen\nserver')

        with self.assertLogs('sqlalchemy.pool', 'WARNING') as logs:
            self.assertEqual(0, self.database.read(_count))
        (record,) = logs.records
        self.assertEqual(
            ('A connection is dropped: OSError: frozen server', None),
            (record.getMessage(), record.exc_info),
        )
        self.assertEqual(0, self.database.read(_count))

    def test_file_that_was_replaced_is_not_used(self) -> None:
        self.assertEqual(0, self.database.read(_count))
        file = self.directory / 'records.sqlite'
        file.rename(self.directory / 'old.sqlite')
        for work in (self.database.read, self.database.write):
            with self.assertRaisesRegex(
                exceptions.RecordsUnavailableError, 'was replaced or deleted'
            ):
                work(_count)
        shutil.copy(self.directory / 'old.sqlite', file)
        with self.assertRaises(exceptions.RecordsUnavailableError):
            self.database.read(_count)

    def test_missing_grant_is_no_outage(self) -> None:
        """As after an upgrade whose new tables were not granted."""
        mariadb = Exception(1142, "SELECT command denied for table 'pauses'")
        postgresql = Exception('permission denied for table pauses')
        postgresql.pgcode = '42501'  # type: ignore[attr-defined]
        for raised in (
            sa_exc.OperationalError('SELECT', {}, mariadb),
            db_exc.DBError(sa_exc.ProgrammingError('SELECT', {}, postgresql)),
        ):
            with (
                self.assertRaises(exceptions.RecordsError) as caught,
                connection.translated('x'),
            ):
                raise raised
            self.assertIs(exceptions.RecordsError, type(caught.exception))
            self.assertIn('denied for table', str(caught.exception))
            self.assertIn('Grant', caught.exception.hint)

    def test_writer_that_reads_first_waits_for_the_other(self) -> None:
        entered, go_on = threading.Event(), threading.Event()

        def slow(conn: sa.Connection) -> None:
            entered.set()
            go_on.wait(PATIENCE)
            _insert(conn, 'host1')

        def read_then_write(conn: sa.Connection) -> int:
            found = _count(conn)
            _insert(conn, 'host2')
            return found

        thread = threading.Thread(target=self.database.write, args=(slow,))
        thread.start()
        self.assertTrue(entered.wait(PATIENCE))
        threading.Timer(0.2, go_on.set).start()
        other = self.open(statement_timeout=2 * PATIENCE)
        self.assertEqual(1, other.write(read_then_write))
        thread.join()
        self.assertEqual(2, self.database.read(_count))

    def test_held_write_lock_is_unavailable_in_the_end(self) -> None:
        other = self.open(statement_timeout=0.1)

        def work(conn: sa.Connection) -> None:
            with self.assertRaisesRegex(
                exceptions.RecordsUnavailableError, 'locked'
            ):
                other.write(lambda c: _insert(c, 'host1'))

        self.database.write(work)

    def test_instance_of_an_unknown_node_is_refused(self) -> None:
        row = {'uuid': 'a', 'node_uuid': 'b', 'created_at': 0.0}
        statement = sa.insert(tables.instances).values(row)
        with self.assertRaises(exceptions.RecordsError):
            self.database.write(lambda conn: conn.execute(statement))

    def test_lost_insertion_is_tried_again(self) -> None:
        attempts = []

        def work(conn: sa.Connection) -> None:
            attempts.append(1)
            if len(attempts) == 1:
                _insert(conn, 'host1')
                _insert(conn, 'host1')

        self.database.write(work)
        self.assertEqual((2, 0), (len(attempts), self.database.read(_count)))

    def test_missing_table_is_a_schema_error(self) -> None:
        sqlite.run_sql(self.database, 'DROP TABLE services')
        with self.assertRaisesRegex(exceptions.SchemaError, 'dbsync upgrade'):
            self.database.read(_count)

    def test_file_of_another_kind_is_named(self) -> None:
        file = self.directory / 'notes.txt'
        for text in ('x', 'notes\n' * 80, 'notes\n' * 1000):
            file.write_text(text)
            for work in ('read', 'write'):
                with self.assertRaisesRegex(
                    exceptions.RecordsError,
                    f'{file}: it is not an SQLite database',
                ):
                    other = connection.open_database(f'sqlite:///{file}')
                    self.addCleanup(other.close)
                    getattr(other, work)(_count)
            self.assertEqual(text, file.read_text())

    def test_deleted_directory_is_an_error_of_ours(self) -> None:
        lost = connection.open_database(
            f'sqlite:///{self.directory}/sub.sqlite'
        )
        lost.engine.dispose()
        (self.directory / 'sub.sqlite').mkdir()
        with self.assertRaises(exceptions.RecordsError) as caught:
            lost.revision()
        self.assertNotIn('\n', str(caught.exception))

    def test_errors_are_one_short_line_without_sql(self) -> None:
        for text, shown in (
            ('first\nsecond.', 'first second'),
            ('long ' * 99, r'(long ){60}\.\.'),
        ):
            error = sa_exc.OperationalError('SELECT', {}, Exception(text))
            with self.assertRaisesRegex(
                exceptions.RecordsUnavailableError,
                rf'^.* does not answer: {shown}\. Check.*$',
            ) as caught:
                self.database.write(mock.Mock(side_effect=error))
            self.assertNotIn('SELECT', str(caught.exception))


class TestOptions(sqlite.SqliteCase):
    def test_new_file_that_another_process_prepares_is_awaited(self) -> None:
        other = sqlite3.connect(self.directory / 'records.sqlite')
        self.addCleanup(other.close)
        other.execute('BEGIN EXCLUSIVE')
        self.url += '?timeout=0'  # SQLite itself does not wait
        database = self.open(statement_timeout=8)
        with mock.patch.object(dialects, 'time') as clock:
            clock.monotonic.side_effect = (0.0, 9.0, 10.0, 17.0)
            with self.assertRaises(exceptions.RecordsUnavailableError):
                database.read(mock.Mock())
            clock.sleep.side_effect = lambda _: other.rollback()
            self.assertEqual('wal', database.read(_mode))

    def test_engine_options_are_those_that_are_set(self) -> None:
        given = {
            'connection': 'x',
            'max_pool_size': 3,
            'max_overflow': None,
            'max_retries': 10,
        }
        found = connection.engine_options(given)
        self.assertEqual({'max_pool_size': 3}, found)

    def test_password_is_not_in_messages(self) -> None:
        database = connection.open_database(
            'postgresql+psycopg2://u:hunter2@127.0.0.1:1/x'
        )
        with self.assertRaises(exceptions.RecordsUnavailableError) as caught:
            database.revision()
        self.assertNotIn('hunter2', str(caught.exception))

    def test_options_in_the_url_win(self) -> None:
        database = connection.open_database(
            'mysql+pymysql://u@127.0.0.1:1/x?charset=latin1'
        )
        query = database.engine.url.query
        self.assertEqual('latin1', query['charset'])
        self.assertEqual('10', query['connect_timeout'])
        # Longer than that of the server, whose error says more.
        self.assertLess(30, int(query['read_timeout']))

    def test_connection_parameters_are_part_of_the_url(self) -> None:
        database = connection.open_database(
            'mysql+pymysql://u@127.0.0.1:1/x?charset=latin1&connect_timeout=4',
            connection_parameters='connect_timeout=5&ssl_ca=/ca.pem',
        )
        query = database.engine.url.query
        self.assertEqual('5', query['connect_timeout'])
        self.assertEqual('/ca.pem', query['ssl_ca'])
        self.assertEqual('latin1', query['charset'])
