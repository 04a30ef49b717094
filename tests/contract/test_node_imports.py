"""Imports of owners keep their contract on SQLite."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from ironic_ownership.db.node_imports import SqlNodeImports
from tests.contract import database
from tests.contract.suites import node_imports


class ImportsOnDatabase(database.RecordsOnDatabase):
    """Builds the imports next to the records."""

    def make_imports(self) -> SqlNodeImports:
        return SqlNodeImports(self.database)


class TestNodeImports(ImportsOnDatabase, node_imports.NodeImportContract):
    def fresh_url(self) -> str:
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        return f'sqlite:///{directory}/records.sqlite'
