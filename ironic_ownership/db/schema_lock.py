"""Lock of the schema: one process at a time changes it, on every server.

MariaDB's own locks belong to one server. On a Galera cluster the lock is a
row: of two insertions, through any nodes, certification refuses one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import sqlalchemy as sa
from oslo_db import exception as db_exc

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection_setup, queries
from ironic_ownership.db.url import MYSQL, POSTGRESQL

TABLE = sa.Table(
    'schema_lock',
    sa.MetaData(),
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('taken_at', sa.Double, nullable=False),
    mysql_engine='InnoDB',
)
"""Exists on Galera clusters only."""

# MariaDB's locks have names that the whole server knows; PostgreSQL's have
# numbers, and each database its own.
_NAME = sa.func.md5(
    sa.func.concat('ironic_ownership_schema.', sa.func.database())
)
_NUMBER = 0x69726F6E
_TIMEOUT = 600.0
"""Seconds to wait, and after which the row of a killed process is void."""
_PAUSE = 0.1


@contextlib.contextmanager
def held(conn: sa.Connection) -> Iterator[None]:
    """Hold the lock while the block runs.

    :raises RecordsUnavailableError: if another process does not release it.
    """
    # SQLite needs no lock: it has one writer at a time.
    if conn.dialect.name == POSTGRESQL:
        lock = sa.func.pg_try_advisory_xact_lock(_NUMBER)
        _poll(lambda: _try(conn, lock))
        # It ends with the transaction.
        yield
    elif conn.dialect.name not in MYSQL:
        yield
    elif _is_galera(conn):
        with _row(conn.engine):
            yield
    else:
        # Changing a table ends the transaction there, so this lock belongs
        # to the connection.
        _poll(lambda: _try(conn, sa.func.get_lock(_NAME, 0)))
        try:
            yield
        finally:
            conn.execute(sa.select(sa.func.release_lock(_NAME)))


@contextlib.contextmanager
def _row(engine: sa.Engine) -> Iterator[None]:
    # A transaction of its own for each statement: the lock is what is
    # committed.
    with engine.begin() as conn:
        conn.execute(sa.schema.CreateTable(TABLE, if_not_exists=True))
    insertion = sa.insert(TABLE).values(
        name='schema', taken_at=queries.EpochSeconds()
    )
    void = TABLE.c.taken_at < queries.EpochSeconds() - _TIMEOUT

    def insert() -> bool:
        try:
            with engine.begin() as conn:
                conn.execute(sa.delete(TABLE).where(void))
                conn.execute(insertion)
        except (db_exc.DBDuplicateEntry, db_exc.DBDeadlock):
            return False
        return True

    _poll(insert)
    try:
        yield
    finally:
        with engine.begin() as conn:
            conn.execute(sa.delete(TABLE))


def _is_galera(conn: sa.Connection) -> bool:
    with contextlib.closing(conn.connection.cursor()) as cursor:
        return connection_setup.is_galera(cursor)


def _try(conn: sa.Connection, lock: sa.ColumnElement[bool]) -> bool:
    return bool(conn.execute(sa.select(lock)).scalar())


def _poll(attempt: Callable[[], bool]) -> None:
    # A wait inside the server would end with the time-out of the statement,
    # and an upgrade may take longer.
    deadline = time.monotonic() + _TIMEOUT
    while not attempt():
        if time.monotonic() > deadline:
            raise exceptions.RecordsUnavailableError(
                'another process is changing the schema',
                hint='Wait until it is done, and try again',
            )
        time.sleep(_PAUSE)
