"""Deletions by operators keep their contract on SQLite."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from ironic_ownership.db import removals as sql
from ironic_ownership.testing import removals
from tests.contract import database


class RemovalsOnDatabase(database.RecordsOnDatabase):
    """Builds the removals beside the records."""

    def make_removals(self) -> sql.SqlRemovals:
        return sql.SqlRemovals(self.database)


class TestRemovals(RemovalsOnDatabase, removals.RemovalContract):
    def fresh_url(self) -> str:
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        return f'sqlite:///{directory}/records.sqlite'
