from __future__ import annotations

import multiprocessing
import os
import sqlite3

import sqlalchemy

from ironic_ownership.contracts import exceptions
from ironic_ownership.db.dialects import read_url, shown
from tests.unit.db import sqlite

_UNPRIVILEGED = 65534


def _refusal(url: str) -> str | None:
    try:
        read_url(url)
    except exceptions.RecordsError as exc:
        return str(exc)
    return None


def _as_unprivileged(url: str) -> str | None:
    if os.geteuid() == 0:
        os.setuid(_UNPRIVILEGED)
    return _refusal(url)


class TestFiles(sqlite.SqliteCase):
    def refused_without_privileges(self) -> str | None:
        with multiprocessing.get_context('fork').Pool(1) as pool:
            return pool.apply(_as_unprivileged, (self.url,))

    def make_file(self, mode: int) -> None:
        file = self.directory / 'records.sqlite'
        connection = sqlite3.connect(file)
        # One page: the smallest file of SQLite.
        connection.execute('PRAGMA page_size = 512')
        connection.execute('PRAGMA user_version = 1')
        connection.close()
        file.chmod(mode)

    def test_new_empty_and_existing_files_are_fine(self) -> None:
        self.assertIsNone(_refusal(self.url))
        (self.directory / 'records.sqlite').touch()
        self.assertIsNone(_refusal(self.url))
        (self.directory / 'records.sqlite').unlink()
        self.make_file(0o600)
        self.assertIsNone(_refusal(self.url))

    def test_what_the_user_may_not_do_is_named(self) -> None:
        file = self.directory / 'records.sqlite'
        self.make_file(0o600)
        self.addCleanup(self.directory.chmod, 0o755)
        for directory, mode, text in (
            (0o755, 0o000, 'cannot be read'),
            (0o755, 0o444, 'may not write'),
            (0o555, None, 'not writable'),
        ):
            if mode is None:
                file.unlink()
            else:
                file.chmod(mode)
            self.directory.chmod(directory)
            self.assertIn(text, self.refused_without_privileges())

    def test_directory_that_is_missing(self) -> None:
        text = _refusal(f'sqlite:///{self.directory}/none/a.sqlite')
        self.assertIn(f'Create {self.directory}/none', text)


class TestText(sqlite.SqliteCase):
    def test_malformed_url_is_refused_without_showing_it(self) -> None:
        for text in (
            '',
            'hunter2',
            'a b://hunter2',
            'mysql+pymysql://u:h@h:x/',
            'mysql+pymysql://u:h@hunter2@h/x',
            'mysql+pymysql://u:h@hunter2/@h/x',
        ):
            refusal = _refusal(text)
            self.assertIn('[database] connection', refusal, text)
            self.assertNotIn('hunter2', refusal)
            self.assertNotIn('\n', refusal)

    def test_scheme_without_its_driver_names_the_whole_one(self) -> None:
        for scheme in ('mysql', 'mariadb'):
            self.assertEqual(
                f'[database] connection: no driver is installed for '
                f'{scheme!r}. Write mysql+pymysql:// in place of {scheme}://',
                _refusal(f'{scheme}://user:hunter2@host/x'),
            )

    def test_dialect_and_driver_are_those_of_the_package(self) -> None:
        for given, used in (
            ('mariadb+pymysql', 'mysql+pymysql'),
            ('mysql+pymysql', 'mysql+pymysql'),
            ('postgresql', 'postgresql+psycopg2'),
            ('postgresql+psycopg2', 'postgresql+psycopg2'),
        ):
            url = '{}://u:hunter2@db1:5432/x?a=b'
            read = read_url(url.format(given))
            self.assertEqual(sqlalchemy.make_url(url.format(used)), read)
        self.assertEqual(
            "[database] connection: the driver 'psycopg' is not supported. "
            'Write postgresql+psycopg2:// in place of postgresql+psycopg://',
            _refusal('postgresql+psycopg://user:hunter2@host/x'),
        )

    def test_all_hosts_are_shown_and_no_password(self) -> None:
        for query in ('', '&target_session_attrs=read-write&password=hunter2'):
            url = sqlalchemy.make_url(
                'postgresql+psycopg2://u:hunter2@/x'
                f'?host=db1:5432&host=db2:5433{query}'
            )
            self.assertEqual(
                'postgresql+psycopg2://u:***@db1:5432,db2:5433/x', shown(url)
            )
        self.assertEqual(
            'postgresql://db1/x',
            shown(sqlalchemy.make_url('postgresql:///x?host=db1')),
        )
