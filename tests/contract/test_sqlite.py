"""The db backend and the records keep their contracts on SQLite."""

from __future__ import annotations

from tests.contract import database, database_suites, sqlite

globals().update(
    database_suites.classes(
        __name__,
        sqlite.OnSqlite,
        instead={'Outages': database.InterruptedFile},
    )
)
