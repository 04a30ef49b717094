"""Deletions by operators keep their contract on SQLite."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from ironic_ownership.db.removals import SqlRemovals
from tests.contract import database
from tests.contract.suites import removals


class RemovalsOnDatabase(database.RecordsOnDatabase):
    """Builds the removals next to the records."""

    def make_removals(self) -> SqlRemovals:
        return SqlRemovals(self.database)


class TestRemovals(RemovalsOnDatabase, removals.RemovalContract):
    def fresh_url(self) -> str:
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        return f'sqlite:///{directory}/records.sqlite'
