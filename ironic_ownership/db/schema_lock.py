"""Lock that lets one process at a time change the schema.

SQLite needs none: it has one writer at a time. Where servers replicate to
each other, MariaDB's lock is that of one server.
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
_TIMEOUT = 600.0
_PAUSE = 0.1


@contextlib.contextmanager
def held(conn: sa.Connection) -> Iterator[None]:
    """Hold the lock; wait for the process that has it.

    :param conn: in the transaction that changes the schema.
    :raises RecordsUnavailableError: if the lock is not free in ten minutes.
    """
    if conn.dialect.name == POSTGRESQL:
        _take(conn, sa.func.pg_try_advisory_xact_lock(_NUMBER))
        # It ends with the transaction.
        yield
    elif conn.dialect.name in MYSQL:
        # Changing a table ends the transaction there, so this lock belongs
        # to the connection.
        _take(conn, sa.func.get_lock(_NAME, 0))
        try:
            yield
        finally:
            conn.execute(sa.select(sa.func.release_lock(_NAME)))
    else:
        yield


def _take(conn: sa.Connection, lock: sa.ColumnElement[bool]) -> None:
    # Polled: a wait inside the server would end with the time-out of the
    # statement, and an upgrade may take longer.
    deadline = time.monotonic() + _TIMEOUT
    while not conn.execute(sa.select(lock)).scalar():
        if time.monotonic() > deadline:
            raise exceptions.RecordsUnavailableError(
                'another process is changing the schema',
                hint='Wait until it is done, and try again',
            )
        time.sleep(_PAUSE)
