"""The outbox of notifications keeps its contract on SQLite."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from ironic_ownership.db.outbox import SqlOutbox
from tests.contract import database
from tests.contract.suites import outbox


class OutboxOnDatabase(database.RecordsOnDatabase):
    """Builds the outbox next to the records."""

    def make_outbox(self) -> SqlOutbox:
        return SqlOutbox(self.open_database())

    def open_database(self):
        opened = super().open_database()
        self.addCleanup(opened.close)
        return opened


class TestOutbox(OutboxOnDatabase, outbox.OutboxContract):
    def fresh_url(self) -> str:
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        return f'sqlite:///{directory}/records.sqlite'
