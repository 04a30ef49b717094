"""A fresh SQLite database for a unit test."""

from __future__ import annotations

import functools
import pathlib
import shutil
import sqlite3
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_ownership.db import connection, schema
from tests import compiled_statements  # noqa: F401


def create(path: pathlib.Path) -> None:
    """Create a file with the schema, without migrations: a copy of one."""
    path.write_bytes(_migrated())


@functools.cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, 'migrated.sqlite')
        database = connection.open_database(f'sqlite:///{path}')
        schema.ensure(database)
        database.close()
        return path.read_bytes()


class SqliteCase(unittest.TestCase):
    """Prepares ``url``, a file that does not exist yet, and ``open``."""

    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        self.url = f'sqlite:///{self.directory}/records.sqlite'

    def open(self, **options: Any) -> connection.Database:
        database = connection.open_database(self.url, **options)
        self.addCleanup(database.close)
        return database

    def open_with_schema(self) -> connection.Database:
        """Open it with the schema, and without waiting for the disk."""
        create(self.directory / 'records.sqlite')
        database = self.open(sqlite_synchronous=False)
        # SQLite copies its log when the last connection to a file ends.
        other = sqlite3.connect(self.directory / 'records.sqlite')
        self.addCleanup(other.close)
        other.execute('SELECT * FROM services').fetchall()
        return database


def set_clock(case: unittest.TestCase, read: Callable[[], float]) -> None:
    """Give a clock to all databases that a test opens from now on.

    :param read: returns the seconds since 1970.
    """

    def connected(conn: sqlite3.Connection, _: object) -> None:
        conn.create_function(
            'julianday', 1, lambda _: 2440587.5 + read() / 86400
        )

    sa.event.listen(sa.Engine, 'connect', connected)
    case.addCleanup(sa.event.remove, sa.Engine, 'connect', connected)


def run_sql(database: connection.Database, text: str) -> None:
    """Run a statement that the package itself never runs."""
    database.write(lambda conn: conn.execute(sa.text(text)))
