"""Open a database through oslo.db and run transactions on it.

Every transaction of this package goes through :class:`Database`, which
retries it and translates its errors. Must not know any table but that of the
revision.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import pathlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy
from oslo_db import api as db_api
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import engines
from sqlalchemy import exc as sa_exc

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import pending
from ironic_ownership.db import dialects, servers, tables
from ironic_ownership.db.dialects import SQLITE

T = TypeVar('T')
Work = Callable[[sqlalchemy.Connection], T]

LONGEST_IDLE = 10.0
"""Seconds without a statement within a transaction: much more than reading a
large result takes, and far less than an operator wants to wait."""

_FETCHED = 1000
"""Rows that are fetched at once, which costs less than one by one."""

_LARGEST = 500

# Nothing connects before the first transaction, and its caller decides about
# retries.
_NO_OPTIONS = frozenset({'max_retries', 'retry_interval'})


def engine_options(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of oslo.db that :func:`open_database` takes."""
    names = inspect.signature(engines.create_engine).parameters.keys()
    return {
        name: group[name]
        for name in names - _NO_OPTIONS
        if name in group and group[name] is not None
    }


class Database:
    """One database: its engine, and transactions on it.

    Raises errors of the family of :class:`RecordsError`.

    :param timeout: seconds that one statement may take, and for which a
        transaction that lost to another is repeated.
    """

    def __init__(self, engine: sqlalchemy.Engine, *, timeout: float) -> None:
        self.engine = engine
        self._writer = engine.execution_options(**{dialects.WRITES: True})
        self._timeout = timeout

    @functools.cached_property
    def where(self) -> str:
        """The URL without its password and query, for messages."""
        return dialects.shown(self.engine.url)

    @property
    def is_file(self) -> bool:
        """True for SQLite: a file without an administrator."""
        return self.engine.dialect.name == SQLITE

    @property
    def exists(self) -> bool:
        """False for the file that the first connection would create."""
        name = self.engine.url.database or ''
        return (
            not self.is_file
            or name.startswith('file:')
            or pathlib.Path(name).exists()
        )

    def revision(self) -> str | None:
        """Return the revision of the schema, or ``None`` without a schema.

        A file that does not exist is not created.
        """
        return self.read(revision_of) if self.exists else None

    @property
    def is_current(self) -> bool:
        """True if it has the schema of this release."""
        return self.revision() == tables.HEAD

    def read(self, work: Work[T]) -> T:
        """Run a transaction that only reads."""
        with (
            pending.to(f'the database {self.where}'),
            translated(self.where),
            self.engine.connect() as conn,
        ):
            return work(conn)

    def select(
        self,
        statement: sqlalchemy.Select[Any],
        build: Callable[[sqlalchemy.Row[Any]], T],
    ) -> list[T]:
        """Run one query, and build a value from each row."""

        def work(conn: sqlalchemy.Connection) -> list[T]:
            found: list[T] = []
            for rows in conn.execute(statement).partitions(_FETCHED):
                found += map(build, rows)
            return found

        return self.read(work)

    def write(self, work: Work[T]) -> T:
        """Run a transaction that writes; retry it when it lost to another.

        ``work`` is repeated after a deadlock, and when another transaction
        has inserted the same row. So it must not change anything but the
        database.

        :raises RecordsUnavailableError: if the database does not answer; the
            text tells whether the transaction may have been committed.
        """
        deadline = time.monotonic() + self._timeout

        def may_retry(exc: BaseException) -> bool:
            # After a duplicate, the next attempt sees the other's row.
            lost = isinstance(exc, db_exc.DBDeadlock | db_exc.DBDuplicateEntry)
            return lost and time.monotonic() < deadline

        def attempt() -> T:
            with self._writer.connect() as conn:
                # Now, not with the first statement: on SQLite it locks.
                conn.begin()
                result = work(conn)
                # Not repeated without an answer: it may be committed.
                with committing(self.where):
                    conn.commit()
                return result

        retried: Callable[[], T] = db_api.wrap_db_retry(
            max_retries=100,
            retry_interval=0.02,
            max_retry_interval=0.5,
            jitter=True,
            exception_checker=may_retry,
        )(attempt)
        with pending.to(f'the database {self.where}'), translated(self.where):
            return retried()

    def close(self) -> None:
        """Close the connections that are not in use. Idempotent."""
        self.engine.dispose()


def revision_of(conn: sqlalchemy.Connection) -> str | None:
    """Return the revision of the schema, or ``None`` without a schema."""
    if not sqlalchemy.inspect(conn).has_table(tables.VERSIONS.name):
        return None
    return conn.scalar(sqlalchemy.select(tables.VERSIONS.c.version_num))


def chunks(
    values: Collection[T], largest: int = _LARGEST
) -> Iterator[Sequence[T]]:
    """Cut values into lists that every database accepts as parameters."""
    ordered = list(values)
    for start in range(0, len(ordered), largest):
        yield ordered[start : start + largest]


def open_database(
    connection: str,
    *,
    connect_timeout: float = 10.0,
    statement_timeout: float = 30.0,
    lock_timeout: float | None = None,
    idle_timeout: float = LONGEST_IDLE,
    **options: Any,
) -> Database:
    """Prepare the use of a database; nothing connects yet.

    :param connect_timeout: seconds that opening a connection may take.
    :param statement_timeout: seconds that one statement may take; after that
        long no transaction is repeated either.
    :param lock_timeout: seconds that waiting for a lock may take; by default
        as long as a statement.
    :param idle_timeout: seconds that a transaction may wait for its next
        statement before the server rolls it back.
    :param options: oslo.db's engine options, see :func:`engine_options`.
    :raises RecordsError: if the URL cannot work.
    """
    lock = statement_timeout if lock_timeout is None else lock_timeout
    url = dialects.with_timeouts(
        # oslo.db would add a second value to each time-out.
        dialects.read_url(connection).update_query_string(
            options.pop('connection_parameters', None) or ''
        ),
        connect=connect_timeout,
        statement=statement_timeout,
        lock=lock,
    )
    options.setdefault('mysql_sql_mode', 'TRADITIONAL')
    is_file = url.get_backend_name() == SQLITE
    if is_file:
        # Files have no pool, but oslo.db passes this option on.
        options.pop('pool_timeout', None)
    with dialects.opening(url):
        engine = engines.create_engine(
            url, sqlite_fk=True, max_retries=0, **options
        )
    _log_in_one_line(engine)
    if is_file:
        dialects.prepare_sqlite(engine, lock)
    else:
        servers.prepare(
            engine,
            statement=statement_timeout,
            lock=lock,
            idle=idle_timeout,
            sync_wait='mysql_wsrep_sync_wait' not in options,
        )
    return Database(engine, timeout=statement_timeout)


def _without_traceback(record: logging.LogRecord) -> bool:
    """Report a connection that breaks on its way back to the pool in one line.

    The pool drops it and logs a traceback, although nothing else fails: the
    transaction has ended, and the next one gets a new connection.
    """
    if isinstance(record.exc_info, tuple):
        record.msg = 'A connection is dropped: %s: %s'
        exc = record.exc_info[1]
        record.args = (type(exc).__name__, ' '.join(str(exc).split()))
        record.exc_info = None
        record.levelno = logging.WARNING
        record.levelname = logging.getLevelName(logging.WARNING)
    return True


def _log_in_one_line(engine: sqlalchemy.Engine) -> None:
    """Report each connection that the pool drops in one line."""
    # A logger knows each filter once, and new pools of an engine share it.
    if isinstance(engine.pool.logger, logging.Logger):
        engine.pool.logger.addFilter(_without_traceback)


_UNAVAILABLE = (
    db_exc.DBConnectionError,
    db_exc.DBDeadlock,
    sa_exc.OperationalError,
    sa_exc.InterfaceError,
    sa_exc.TimeoutError,
)
_LONGEST = 300


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise the contracts' errors instead of SQLAlchemy's and oslo.db's.

    :param where: the database as an operator knows it, without password.
    :raises RecordsUnavailableError: for an error that may pass by itself.
    :raises SchemaError: if a table or a column is missing.
    :raises RecordsError: for every other error of the database.
    """
    try:
        yield
    except db_exc.DBNonExistentDatabase as exc:
        raise exceptions.RecordsError(
            f'database {where} does not exist or cannot be opened',
            hint='Create it, or correct [database] connection',
        ) from exc
    except _UNAVAILABLE as exc:
        _check_granted(where, exc)
        raise exceptions.RecordsUnavailableError(
            f'database {where} does not answer: {_one_line(exc)}',
            hint='Check that it runs and that [database] connection is right',
        ) from exc
    except (db_exc.DBNonExistentTable, sa_exc.ProgrammingError) as exc:
        raise exceptions.SchemaError(
            f'database {where} lacks a table or column: {_one_line(exc)}',
            hint='Run ironic-ownership-dbsync upgrade',
        ) from exc
    except (db_exc.DBError, sa_exc.SQLAlchemyError) as exc:
        _check_granted(where, exc)
        raise exceptions.RecordsError(
            f'database {where} refused a statement: {_one_line(exc)}'
        ) from exc


_NOT_GRANTED = (
    1142,  # MariaDB: command denied for a table
    1143,  # and for a column
    '42501',  # PostgreSQL: insufficient_privilege
)


def _check_granted(where: str, exc: Exception) -> None:
    """Name a right that the database user lacks: no wait brings it."""
    cause = _cause(exc)
    # Of some errors of oslo.db it is a text.
    number = next(iter(getattr(cause, 'args', ())), None)
    codes = number, getattr(cause, 'pgcode', None)
    if any(code in _NOT_GRANTED for code in codes):
        raise exceptions.RecordsError(
            f'database {where} refused a statement: {_one_line(exc)}',
            hint='Grant what etc/ironic_ownership/grants names for this '
            'release: an upgrade may need more',
        ) from exc


@contextlib.contextmanager
def committing(where: str) -> Iterator[None]:
    """Name a commit without an answer, whose outcome is unknown.

    :raises RecordsUnavailableError: if the connection was lost.
    """
    try:
        yield
    except db_exc.DBConnectionError as exc:
        raise exceptions.RecordsUnavailableError(
            f'database {where} did not answer a commit: {_one_line(exc)}; '
            'the change may have been committed or not',
            hint='Read the records before you repeat it; a service does so '
            'automatically, and "move resume" continues a move',
        ) from exc


def _cause(exc: BaseException) -> BaseException:
    found = getattr(exc, 'inner_exception', None) or getattr(exc, 'orig', None)
    return exc if found in (None, exc) else _cause(found)


def _one_line(exc: BaseException) -> str:
    text = ' '.join(str(_cause(exc)).split()).rstrip('.')
    return text if len(text) <= _LONGEST else text[:_LONGEST] + '...'
