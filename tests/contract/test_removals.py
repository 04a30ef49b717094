"""Deletions by operators keep their contract on SQLite."""

from __future__ import annotations

from ironic_ownership.db.removals import SqlRemovals
from tests.contract import database, sqlite
from tests.contract.suites import removals


class RemovalsOnDatabase(database.RecordsOnDatabase):
    """Builds the removals next to the records."""

    def make_removals(self) -> SqlRemovals:
        return SqlRemovals(self.database)


class TestRemovals(
    sqlite.OnSqlite, RemovalsOnDatabase, removals.RemovalContract
):
    pass
