"""Imports of owners keep their contract on SQLite."""

from __future__ import annotations

from ironic_ownership.db.node_imports import SqlNodeImports
from tests.contract import database, sqlite
from tests.contract.suites import node_imports


class ImportsOnDatabase(database.RecordsOnDatabase):
    """Builds the imports next to the records."""

    def make_imports(self) -> SqlNodeImports:
        return SqlNodeImports(self.database)


class TestNodeImports(
    sqlite.OnSqlite, ImportsOnDatabase, node_imports.NodeImportContract
):
    pass
