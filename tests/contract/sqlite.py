"""Databases of the contracts on SQLite, whose transactions are checked."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from ironic_ownership.db import connection
from tests.contract import database, marked_writes
from tests.unit.db import sqlite


class OnSqlite(database.OnDatabase):
    """A file for each test."""

    def fresh_url(self) -> str:
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        sqlite.create(directory / 'records.sqlite')
        return f'sqlite:///{directory}/records.sqlite'

    def open_database(self) -> connection.Database:
        # Without waiting for the disk: no contract is about power cuts.
        opened = connection.open_database(self.url, sqlite_synchronous=False)
        return marked_writes.checked(opened)
