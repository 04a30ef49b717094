"""Databases by their kind: URLs, time-outs, clocks, and the files of SQLite.

A URL is checked before anything connects to it: the driver's own errors for a
mistyped path come late and are hard to read. The check must not open a
connection, nor the file: a process that closes a file gives up all locks that
it has on it, those of SQLite, too. Must never put a password into a message.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy
from oslo_db import exception as db_exc
from sqlalchemy import event
from sqlalchemy import exc as sa_exc
from sqlalchemy.ext import compiler
from sqlalchemy.sql import expression

from ironic_ownership.contracts import exceptions, extras

SQLITE, POSTGRESQL = 'sqlite', 'postgresql'
MYSQL = frozenset({'mysql', 'mariadb'})

WRITES = 'ironic_ownership_writes'
"""Execution option of connections whose transactions write."""
_Identity = tuple[int, int]
"""Device and inode of a file."""
_SHORTEST = 512
"""Bytes of the smallest page, and so of the smallest file of SQLite."""

_EXAMPLE = (
    'Set [database] connection to a URL such as '
    'sqlite:////var/lib/ironic-ownership/records.sqlite or '
    'mysql+pymysql://user:password@host/ironic_ownership'
)
_EXTRAS = {'mysql': 'mysql', 'mariadb': 'mysql', 'postgresql': 'postgresql'}


def read_url(connection: str) -> sqlalchemy.URL:
    """Return the URL of a database that could be opened.

    :raises RecordsError: if it is malformed, names a driver that is not
        installed, or a file that cannot be a database.
    """
    try:
        url = _renamed(sqlalchemy.make_url(connection))
        if url.host and '@' in f'{url.host}{url.database}':
            raise ValueError  # the rest of a password
        url.get_dialect().import_dbapi()
    except (sa_exc.ArgumentError, ValueError) as exc:
        # The text is not shown: an unreadable URL may hold a password.
        raise exceptions.RecordsError(
            '[database] connection is not a database URL',
            hint=f'{_EXAMPLE}, with "%40" for "@" in a password',
        ) from exc
    except ImportError as exc:
        raise _missing_driver(connection) from exc
    if url.get_backend_name() == SQLITE:
        _check_file(url)
    elif url.get_backend_name() not in {POSTGRESQL, *MYSQL}:
        raise exceptions.RecordsError(
            f'[database] connection: {url.get_backend_name()} is not a '
            'supported database',
            hint='Use SQLite, PostgreSQL or MariaDB',
        )
    return url


def _renamed(url: sqlalchemy.URL) -> sqlalchemy.URL:
    """Return a URL with the dialect and the driver that this package uses.

    The handlers of oslo.db and the options of our tables are for ``mysql``,
    with which SQLAlchemy also finds out that a server is a MariaDB. Which
    driver ``postgresql`` means depends on the release of SQLAlchemy.
    """
    backend, plus, driver = url.drivername.partition('+')
    if backend in MYSQL:
        return url.set(drivername=f'mysql{plus}{driver}')
    if backend != POSTGRESQL:
        return url
    if driver not in ('', 'psycopg2'):
        raise exceptions.RecordsError(
            f'[database] connection: the driver {driver!r} is not supported',
            hint='Write postgresql+psycopg2:// in place of '
            f'{url.drivername}://',
        )
    return url.set(drivername='postgresql+psycopg2')


def shown(url: sqlalchemy.URL) -> str:
    """Return a URL for messages: with its hosts, without its password.

    PostgreSQL's driver takes several hosts from the query.
    """
    hosts = url.query.get('host', ())
    several = ','.join((hosts,) if isinstance(hosts, str) else hosts)
    text = url.set(query={}).render_as_string(hide_password=True)
    if url.host or not several:
        return text
    user, at, database = text.rpartition('@')
    if not at:
        user, database = f'{url.drivername}://', database.split('//', 1)[1]
    return f'{user}{at}{several}{database}'


def is_file(connection: str) -> bool:
    """Tell whether a URL names an SQLite file. No other check is made."""
    return connection.partition(':')[0].partition('+')[0] == SQLITE


def _missing_driver(connection: str) -> exceptions.RecordsError:
    scheme = connection.partition(':')[0]
    extra = _EXTRAS.get(scheme.partition('+')[0])
    hint = (
        # Without a driver: its default is not the one of our extra.
        f'Write mysql+pymysql:// in place of {scheme}://'
        if scheme in MYSQL
        else extras.hint(extra)
        if extra
        else _EXAMPLE
    )
    return exceptions.RecordsError(
        f'[database] connection: no driver is installed for {scheme!r}',
        hint=hint,
    )


def _check_file(url: sqlalchemy.URL) -> None:
    name = url.database
    if not name or name == ':memory:' or 'mode=memory' in name:
        raise exceptions.RecordsError(
            '[database] connection: a database in memory is shared with no '
            'other process',
            hint='Name a file: sqlite:////path/to/records.sqlite',
        )
    if name.startswith('file:'):
        return
    path = pathlib.Path(name)
    try:
        fault = _fault_of(path)
    except OSError as exc:
        raise _file_error(path, *_UNREADABLE) from exc
    if fault is not None:
        raise _file_error(path, *fault)


_UNREADABLE = (
    'it cannot be read',
    'Give this user read and write access to the file and its directory',
)
_NOT_A_DATABASE = 'it is not an SQLite database', 'Name another file'


def _fault_of(path: pathlib.Path) -> tuple[str, str] | None:
    """Return why a path cannot be a database of this user, and a hint."""
    parent = path.absolute().parent
    if not parent.is_dir():
        return 'its directory does not exist', f'Create {parent}'
    if not path.exists():
        if os.access(parent, os.W_OK | os.X_OK):
            return None
        return (
            'it does not exist and its directory is not writable',
            f'Give this user write access to {parent}',
        )
    if not path.is_file():
        return 'it is not a regular file', _EXAMPLE
    if not os.access(path, os.R_OK):
        return _UNREADABLE
    if 0 < path.stat().st_size < _SHORTEST:
        return _NOT_A_DATABASE  # SQLite would overwrite it
    # Even a reader writes: to the index of the log next to the file.
    if not os.access(path, os.W_OK) or not os.access(parent, os.W_OK):
        return (
            'this user may not write to it and to its directory',
            'Grant that, or run as a user with that access',
        )
    return None


def _file_error(path: object, what: str, hint: str) -> exceptions.RecordsError:
    return exceptions.RecordsError(
        f'[database] connection: {path}: {what}', hint=hint
    )


# Texts in place of those of pymysql: the first one quotes the password.
_CAUSES: dict[type[Exception], str] = {
    UnicodeEncodeError: 'its password has characters outside Latin-1',
    AttributeError: 'its charset is unknown',
}


@contextlib.contextmanager
def opening(url: sqlalchemy.URL) -> Iterator[None]:
    """Raise our errors instead of those by which a driver refuses a URL."""
    try:
        yield
    except (OSError, TypeError, ValueError, AttributeError) as exc:
        kind = exceptions.RecordsError
        if isinstance(exc, OSError):  # a file, which may come back
            kind = exceptions.RecordsUnavailableError
        raise kind(
            f'database {shown(url)} cannot be opened: '
            f'{_CAUSES.get(type(exc), exc)}',
            hint='Correct the options of [database] connection, or the files '
            'that they name',
        ) from exc


def longest_call(statement: float) -> float:
    """Return the bound of the client for one call, in seconds."""
    # Longer than that of the server, whose error tells more and keeps the
    # connection.
    return 1.2 * statement + 1


def with_timeouts(
    url: sqlalchemy.URL, *, connect: float, statement: float, lock: float
) -> sqlalchemy.URL:
    """Add time-outs, in seconds, unless the operator's URL has them."""
    backend = url.get_backend_name()
    defaults: dict[str, str] = {}
    if backend == SQLITE:
        defaults = {'timeout': str(lock)}
    elif backend in MYSQL:
        defaults = {'charset': 'utf8mb4', 'connect_timeout': whole(connect)}
        if url.get_driver_name() == 'pymysql':
            for name in ('read_timeout', 'write_timeout'):
                defaults[name] = whole(longest_call(statement))
    else:
        defaults = {
            'connect_timeout': whole(connect),
            # A cut network shows itself by bytes without acknowledgement.
            'tcp_user_timeout': str(int(lock * 1000)),
        }
    return url.update_query_dict(
        {k: v for k, v in defaults.items() if k not in url.query}
    )


def whole(seconds: float) -> str:
    """Return seconds as a server reads them, at least one."""
    return str(max(1, int(seconds)))


def prepare_sqlite(engine: sqlalchemy.Engine, timeout: float) -> None:
    """Set up every new connection to a file.

    :param timeout: seconds to wait for a lock: without a server, only the end
        of a process frees its locks.
    """

    @event.listens_for(engine, 'connect')
    def set_up(dbapi: sqlite3.Connection, record: Any) -> None:
        try:
            _use_wal(dbapi, time.monotonic() + timeout)
        except sqlite3.DatabaseError as exc:
            if exc.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise _file_error(
                    engine.url.database, *_NOT_A_DATABASE
                ) from exc
            raise

    _refuse_replaced(engine)

    @event.listens_for(engine, 'begin')
    def begin(conn: sqlalchemy.Connection) -> None:
        # A transaction that reads first and writes later fails immediately
        # if another one has written in between: so writers take the write
        # lock first. oslo.db's listener has begun a transaction already, and
        # an empty one costs nothing to end.
        if conn.get_execution_options().get(WRITES):
            conn.exec_driver_sql('COMMIT')
            conn.exec_driver_sql('BEGIN IMMEDIATE')


def _refuse_replaced(engine: sqlalchemy.Engine) -> None:
    """Use no connection to a file that is another one by now.

    An open file that was deleted or replaced still works: this process and
    those that start later would have two databases, and two owners of a node.
    """
    path = engine.url.database or ''
    opened: list[_Identity | None] = []

    @event.listens_for(engine, 'connect')
    def note(dbapi: sqlite3.Connection, record: Any) -> None:
        if not opened:
            opened.append(_identity(path))

    @event.listens_for(engine, 'checkout')
    def compare(dbapi: Any, record: Any, proxy: Any) -> None:
        # The new file is not opened, because it may be incomplete.
        if opened and opened[0] not in (None, _identity(path)):
            raise db_exc.DBConnectionError(
                f'{path} was replaced or deleted while it was in use: '
                'restart this process'
            )

    @event.listens_for(engine, 'engine_disposed')
    def forget(engine: sqlalchemy.Engine) -> None:
        opened.clear()


def _identity(path: str) -> _Identity | None:
    """Return device and inode of a file; ``None`` if there is none."""
    try:
        found = pathlib.Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _use_wal(dbapi: sqlite3.Connection, deadline: float) -> None:
    """Let readers and one writer work at the same time."""
    while True:
        try:
            if dbapi.execute('PRAGMA journal_mode').fetchone()[0] != 'wal':
                dbapi.execute('PRAGMA journal_mode = WAL')
            return
        except sqlite3.OperationalError:
            # SQLite itself does not wait when two processes change the mode
            # of a new file together.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class EpochSeconds(expression.FunctionElement[float]):
    """The time of the statement by the server, in seconds since 1970 (UTC).

    The one clock that all processes share. It decides liveness and writes
    every timestamp on record: a host whose own clock is wrong is neither dead
    nor from the future.
    """

    type = sqlalchemy.Double()
    # SQLAlchemy compiles a statement with it only once.
    inherit_cache = True


_CLOCKS = {
    # unixepoch('subsec') needs 3.42; milliseconds are all 'now' has.
    'sqlite': "ROUND((julianday('now') - 2440587.5) * 86400.0, 3)",
    # now() is the start of the transaction, which may have waited for a lock.
    'postgresql': (
        'CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)'
    ),
    # UNIX_TIMESTAMP(NOW()) is ambiguous for an hour a year in local time;
    # the exponent makes the quotient a double instead of a decimal.
    **dict.fromkeys(
        MYSQL,
        "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1.0e6)",
    ),
}


@compiler.compiles(EpochSeconds)
def _clock(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    return _CLOCKS[visitor.dialect.name]


class Unindexed(expression.FunctionElement[Any]):
    """A column whose index SQLite does not use.

    SQLite takes the index of any column that a filter names, and then sorts
    all rows that it finds, for each page again. Without that index it walks
    the primary key in order, and stops at the end of the page. The other
    databases know how many rows a filter leaves, and decide by that.
    """

    inherit_cache = True

    def __init__(self, column: sqlalchemy.Column[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiler.compiles(Unindexed)
def _unindexed(element: Unindexed, visitor: Any, **kw: Any) -> str:
    # Source: https://www.sqlite.org/optoverview.html, "Disqualifying
    # WHERE-clause terms using unary +".
    sign = '+' if visitor.dialect.name == SQLITE else ''
    return f'{sign}{visitor.process(element.clauses, **kw)}'
