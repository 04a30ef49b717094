"""Change a schema one process at a time, on every kind of database.

SQLite needs nothing of this: its writers come one after the other anyway.
Where servers replicate to each other, MariaDB's lock is that of one server.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.db.url import MYSQL, POSTGRESQL

# MariaDB's locks have names that the whole server knows; PostgreSQL's have
# numbers, and each database its own.
_NAME = sa.func.md5(
    sa.func.concat('ironic_ownership_schema.', sa.func.database())
)
_NUMBER = 0x69726F6E
_PATIENCE = 600.0
_PAUSE = 0.1


@contextlib.contextmanager
def taken(conn: sa.Connection) -> Iterator[None]:
    """Hold the only turn to change the schema; wait for whoever has it.

    :param conn: in the transaction that changes it.
    :raises RecordsUnavailableError: if that one is not done in ten minutes.
    """
    if conn.dialect.name == POSTGRESQL:
        _take(conn, sa.func.pg_try_advisory_xact_lock(_NUMBER))
        # It ends with the transaction.
        yield
    elif conn.dialect.name in MYSQL:
        # A change of a table ends the transaction there, so that this lock
        # is one of the connection.
        _take(conn, sa.func.get_lock(_NAME, 0))
        try:
            yield
        finally:
            conn.execute(sa.select(sa.func.release_lock(_NAME)))
    else:
        yield


def _take(conn: sa.Connection, lock: sa.ColumnElement[bool]) -> None:
    # Asked again and again: a wait inside of the server would end with the
    # time-out of a statement, and an upgrade may take longer.
    deadline = time.monotonic() + _PATIENCE
    while not conn.execute(sa.select(lock)).scalar():
        if time.monotonic() > deadline:
            raise exceptions.RecordsUnavailableError(
                'another process is changing the schema',
                hint='Wait until it is done, and try again',
            )
        time.sleep(_PAUSE)
