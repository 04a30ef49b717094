"""Build what the contract suites test, on a database of any kind.

Used for SQLite here and for the real servers in ``tests/functional``.
"""

from __future__ import annotations

import sqlite3
import time
import unittest
from typing import ClassVar

import sqlalchemy as sa

from ironic_ownership.db import (
    connection,
    heartbeats,
    moves,
    records,
    schema,
    tables,
)
from ironic_ownership.db.outbox import SqlOutbox
from ironic_ownership.db.reservations import SqlReservations
from tests import compiled_statements  # noqa: F401


class OnDatabase(unittest.TestCase):
    """A fresh database for each test, at ``fresh_url``.

    :cvar access: the database of a server: one ``for_services``, which may
        not do everything; an ``empty`` one for its owner; or its ``own``,
        where other threads may write after the end of their test.
    """

    access: ClassVar[str] = 'for_services'

    def fresh_url(self) -> str:
        raise NotImplementedError

    def open_database(self) -> connection.Database:
        # A test that gets no processor for a while is not a frozen service.
        return connection.open_database(self.url, idle_timeout=60.0)

    def prepare(self) -> None:
        """Create the schema, unless the database has it."""
        if self.database.revision() != tables.HEAD:
            schema.upgrade(self.database)

    def setUp(self) -> None:
        self.url = self.fresh_url()
        self.database = self.open_database()
        self.addCleanup(self.database.close)
        self.prepare()
        super().setUp()


class BackendOnDatabase(OnDatabase):
    """Builds the ``db`` backend; time passes by ageing its rows."""

    access = 'own'
    call_timeout: ClassVar[float] = 20
    elapsed = 0.0

    def connection(self) -> str:
        """Return the URL of the next backend."""
        return self.url

    def make_backend(self, member_ttl: float) -> heartbeats.DatabaseBackend:
        return heartbeats.DatabaseBackend(
            {'connection': self.connection()},
            member_ttl=member_ttl,
            call_timeout=self.call_timeout,
            clock=lambda: time.monotonic() + self.elapsed,
        )

    def elapse(self, seconds: float) -> None:
        self.elapsed += seconds
        columns = tables.members.c
        statement = sa.update(tables.members).values(
            expires_at=columns.expires_at - seconds,
            joined_at=columns.joined_at - seconds,
        )
        self.database.write(lambda conn: conn.execute(statement))


class InterruptedDatabase(BackendOnDatabase):
    """A server that freezes; ``server`` is one with ``freeze``, ``thaw``."""

    # A call of these tests waits so long without an answer.
    call_timeout = 3

    def interrupt(self) -> None:
        self.server.freeze()

    def resume(self) -> None:
        self.server.thaw()

    def forget_everything(self) -> None:
        statement = sa.delete(tables.members)
        self.database.write(lambda conn: conn.execute(statement))


class InterruptedFile(InterruptedDatabase):
    """An SQLite file that stays locked, against readers too."""

    _lock: sqlite3.Connection | None = None

    def interrupt(self) -> None:
        self.database.close()
        self._lock = sqlite3.connect(
            self.database.engine.url.database, timeout=60
        )
        self._lock.isolation_level = None
        self._lock.execute('PRAGMA locking_mode = EXCLUSIVE')
        self._lock.execute('BEGIN EXCLUSIVE')

    def resume(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class RecordsOnDatabase(OnDatabase):
    """Builds the records and the ports next to them; time can pass."""

    def make_records(self) -> records.SqlRecords:
        return records.SqlRecords(self.open_database())

    def make_moves(self) -> moves.SqlMoves:
        return moves.SqlMoves(self.database)

    def make_reservations(self) -> SqlReservations:
        return SqlReservations(self.database)

    def make_outbox(self) -> SqlOutbox:
        opened = self.open_database()
        self.addCleanup(opened.close)
        return SqlOutbox(opened)

    def elapse(self, seconds: float) -> None:
        """Let time pass for absences."""
        columns = tables.services.c
        statement = sa.update(tables.services).values(
            away_until=columns.away_until - seconds
        )
        self.database.write(lambda conn: conn.execute(statement))

    def lose_service(self, host: str) -> None:
        """Delete the row of a service, as the restore of a backup does."""
        services = tables.services
        statement = sa.delete(services).where(services.c.host == host)
        self.database.write(lambda conn: conn.execute(statement))


class OwnRecordsOnDatabase(RecordsOnDatabase):
    """The same for the owner, who changes and deletes events."""

    access = 'empty'

    def set_time(self, event_id: int, at: float) -> None:
        """Change the time of an event, as a clock that was wrong does."""
        events = tables.events
        statement = (
            sa.update(events).where(events.c.id == event_id).values(at=at)
        )
        self.database.write(lambda conn: conn.execute(statement))
