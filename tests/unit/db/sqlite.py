"""A fresh SQLite database for a unit test."""

from __future__ import annotations

import pathlib
import shutil
import tempfile
import unittest
from typing import Any

import sqlalchemy as sa

from ironic_ownership.db import connection, schema


class SqliteCase(unittest.TestCase):
    """Has ``url``, a file that does not exist yet, and ``open``."""

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
        database = self.open()
        schema.ensure(database)
        return database


def run_sql(database: connection.Database, text: str) -> None:
    """Do what no code of ours does: change rows by hand."""
    database.write(lambda conn: conn.execute(sa.text(text)))
