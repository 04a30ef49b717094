"""Build what the contract suites test, on a database of any kind.

Used for SQLite here and for the real servers in ``tests/functional``.
"""

from __future__ import annotations

import unittest

import sqlalchemy as sa

from ironic_ownership.backends import db
from ironic_ownership.db import connection, moves, records, schema, tables


class OnDatabase(unittest.TestCase):
    """A fresh database a test; ``fresh_url`` says which."""

    def fresh_url(self) -> str:
        raise NotImplementedError

    def setUp(self) -> None:
        self.url = self.fresh_url()
        self.database = connection.open_database(self.url)
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)
        super().setUp()


class BackendOnDatabase(OnDatabase):
    """Builds the ``db`` backend, and lets time pass by ageing its rows."""

    def make_backend(self, member_ttl: float) -> db.DatabaseBackend:
        return db.DatabaseBackend(
            {'connection': self.url}, member_ttl=member_ttl, call_timeout=20
        )

    def elapse(self, seconds: float) -> None:
        columns = tables.members.c
        statement = sa.update(tables.members).values(
            expires_at=columns.expires_at - seconds,
            joined_at=columns.joined_at - seconds,
        )
        self.database.write(lambda conn: conn.execute(statement))


class RecordsOnDatabase(OnDatabase):
    """Builds the records."""

    def make_records(self) -> records.SqlRecords:
        return records.SqlRecords(connection.open_database(self.url))


class MovesOnDatabase(RecordsOnDatabase):
    """Builds the moves beside the records."""

    def make_moves(self) -> moves.SqlMoves:
        return moves.SqlMoves(self.database)
