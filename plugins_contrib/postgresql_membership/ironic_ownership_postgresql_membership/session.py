"""One connection to PostgreSQL, each of whose calls ends in time.

libpq has no time limit for an answer, so the connection is asynchronous, and
this module waits for its socket. What does not answer in time is closed: its
statement may have taken effect all the same.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Sequence
from typing import Any

import psycopg2
from psycopg2 import extensions

from ironic_ownership import contracts

_TABLE = """
CREATE TABLE IF NOT EXISTS ironic_ownership_members (
    cluster text NOT NULL,
    host text NOT NULL,
    incarnation text NOT NULL,
    settings text NOT NULL,
    joined_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (cluster, host, incarnation)
)
"""
_LOCK = 0x49524F4E4D454D42
"""Key of the advisory lock: "IRONMEMB"."""


class Session:
    """Runs statements one after the other, on a connection opened on demand.

    Threading: any thread.

    :param dsn: what libpq connects with.
    :param greeting: a statement that each new connection begins with.
    """

    def __init__(self, dsn: str, greeting: str = '') -> None:
        self._dsn = dsn
        self._greeting = greeting
        self._lock = threading.Lock()
        self._connection: Any = None
        self.opened = 0

    def run(
        self, timeout: float, statement: str, values: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, which is a transaction.

        One that can be repeated: a connection that turns out to be broken is
        replaced once.

        :raises BackendUnavailableError: without an answer in time.
        """
        until = time.monotonic() + timeout
        if not self._lock.acquire(timeout=timeout):
            raise _unavailable('an earlier call has not ended')
        try:
            if self._connection is not None:
                try:
                    return self._execute(until, statement, values)
                except psycopg2.Error:
                    self._discard()
            self._open(until)
            return self._execute(until, statement, values)
        except (psycopg2.Error, TimeoutError, OSError) as exc:
            self._discard()
            raise _unavailable(' '.join(str(exc).split())) from exc
        finally:
            self._lock.release()

    def notified(self, seconds: float) -> bool:
        """Wait for a notification, at most some seconds.

        For a connection that listens, in the thread that runs it.

        :raises BackendUnavailableError: if the connection is broken.
        """
        connection = self._connection
        if connection is None:
            return True
        try:
            if not connection.notifies:
                select.select([connection], [], [], max(0.0, seconds))
                connection.poll()
            found = bool(connection.notifies)
            connection.notifies.clear()
        except (psycopg2.Error, OSError, ValueError) as exc:
            self._discard()
            raise _unavailable(' '.join(str(exc).split())) from exc
        return found

    def close(self) -> None:
        """Close the connection; a later call opens another one."""
        self._discard()

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self, until: float) -> None:
        # Discarded by the caller if anything fails.
        self._connection = psycopg2.connect(self._dsn, async_=True)
        _wait(self._connection, until)
        self._execute(
            until,
            f'BEGIN; SELECT pg_advisory_xact_lock({_LOCK}); {_TABLE}; COMMIT',
        )
        if self._greeting:
            self._execute(until, self._greeting)
        self.opened += 1

    def _execute(
        self, until: float, statement: str, values: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        cursor.execute(statement, values)
        _wait(self._connection, until)
        return list(cursor.fetchall()) if cursor.description else []


def _wait(connection: Any, until: float) -> None:
    """Wait until the connection is idle.

    :raises TimeoutError: if it is not in time.
    """
    while True:
        state = connection.poll()
        if state == extensions.POLL_OK:
            return
        left = until - time.monotonic()
        reading = [connection] if state == extensions.POLL_READ else []
        writing = [connection] if state == extensions.POLL_WRITE else []
        if left <= 0 or not any(select.select(reading, writing, [], left)):
            raise TimeoutError('PostgreSQL has not answered in time')


def _unavailable(why: str) -> contracts.BackendUnavailableError:
    return contracts.BackendUnavailableError(
        f'the members cannot be read from or written to PostgreSQL: {why}',
        hint='Check [backend_postgresql_membership] connection, and the '
        'server',
    )
