"""Set up each new connection: time-outs and isolation, by kind of database."""

from __future__ import annotations

import functools
import logging
import pathlib
import sqlite3
import threading
import time
from typing import Any

import sqlalchemy
from oslo_db import exception as db_exc
from sqlalchemy import event

from ironic_ownership.db.url import MYSQL, POSTGRESQL, SQLITE, not_a_database

WRITES = 'ironic_ownership_writes'
"""Execution option of connections whose transactions write."""

_Identity = tuple[int, int]
"""Device and inode of a file."""

_tls_lock = threading.Lock()

_SYNC_READS = 1
"""Value of ``wsrep_sync_wait``: statements that read."""


def _longest_call(statement: float) -> float:
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
    elif backend in MYSQL and url.get_driver_name() == 'pymysql':
        defaults = {
            'charset': 'utf8mb4',
            'connect_timeout': _whole(connect),
            'read_timeout': _whole(_longest_call(statement)),
            'write_timeout': _whole(_longest_call(statement)),
        }
    elif backend in MYSQL:
        defaults = {'charset': 'utf8mb4', 'connect_timeout': _whole(connect)}
    elif url.get_driver_name() in ('psycopg2', 'psycopg'):
        defaults = {
            'connect_timeout': _whole(connect),
            # A cut network shows itself by bytes without acknowledgement.
            'tcp_user_timeout': str(int(lock * 1000)),
        }
    return url.update_query_dict(
        {k: v for k, v in defaults.items() if k not in url.query}
    )


def _whole(seconds: float) -> str:
    return str(max(1, int(seconds)))


class _OneLine(logging.Filter):
    """Report a connection that breaks on its way back to the pool in one line.

    The pool drops it and logs a traceback, although nothing else fails: the
    transaction has ended, and the next one gets a new connection.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.exc_info, tuple):
            record.msg = 'A connection is dropped: %s: %s'
            exc = record.exc_info[1]
            record.args = (type(exc).__name__, ' '.join(str(exc).split()))
            record.exc_info = None
            record.levelno = logging.WARNING
            record.levelname = logging.getLevelName(logging.WARNING)
        return True


_ONE_LINE = _OneLine()


def _log_in_one_line(engine: sqlalchemy.Engine) -> None:
    # A logger knows each filter once, and new pools of an engine share it.
    if isinstance(engine.pool.logger, logging.Logger):
        engine.pool.logger.addFilter(_ONE_LINE)


def prepare(
    engine: sqlalchemy.Engine,
    *,
    statement: float,
    lock: float,
    idle: float,
    sync_wait: bool = True,
) -> None:
    """Set up every new connection of an engine; the time-outs are in seconds.

    :param sync_wait: on a Galera cluster, read what other nodes committed.
    """
    _log_in_one_line(engine)
    if engine.dialect.name == SQLITE:
        # Without a server, only the end of a process frees its locks.
        _prepare_sqlite(engine, lock)
        return
    _drop_moved(engine)
    if engine.dialect.name == POSTGRESQL:
        if engine.dialect.driver == 'psycopg2':
            _bound_calls(engine, _longest_call(statement))
        _on_connect(
            engine,
            # Also where the server, the database or the role has another
            # default: what a transaction waited for is read afterwards.
            'SET SESSION CHARACTERISTICS AS TRANSACTION '
            'ISOLATION LEVEL READ COMMITTED',
            f'SET statement_timeout = {int(statement * 1000)}',
            f'SET lock_timeout = {int(lock * 1000)}',
            # A process that is stopped within a transaction keeps its locks,
            # and the service that takes over has to wait for them.
            'SET idle_in_transaction_session_timeout = '
            f'{max(1, int(idle * 1000))}',
        )
    else:
        if engine.dialect.driver == 'pymysql':
            _share_tls(engine)
        _on_connect(
            engine,
            # Each statement sees what is committed, as on PostgreSQL, and
            # selecting a missing row locks no gap against insertions.
            'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
            # The second one is MariaDB's own; MySQL skips such a comment.
            f'SET SESSION innodb_lock_wait_timeout = {_whole(lock)}, '
            f'lock_wait_timeout = {_whole(lock)} '
            f'/*M!100300, idle_transaction_timeout = {_whole(idle)} */',
        )
        if sync_wait:
            _wait_for_other_nodes(engine)


def is_galera(cursor: Any) -> bool:
    """Tell whether a MariaDB or MySQL server is a node of a Galera cluster.

    :param cursor: one of the driver's.
    """
    cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
    row = cursor.fetchone()
    return row is not None and row[1] == 'ON'


def _wait_for_other_nodes(engine: sqlalchemy.Engine) -> None:
    """Let each transaction that begins with a read see all earlier commits.

    A node applies the commits of the others a moment after these were
    answered.
    """

    @event.listens_for(engine, 'connect')
    def set_up(dbapi: Any, record: Any) -> None:
        cursor = dbapi.cursor()
        if is_galera(cursor):
            # A statement that only writes does not wait, so that no heartbeat
            # is late: certification refuses it if it missed something.
            cursor.execute(f'SET SESSION wsrep_sync_wait = {_SYNC_READS}')
        cursor.close()
        dbapi.commit()


def _bound_calls(engine: sqlalchemy.Engine, longest: float) -> None:
    from ironic_ownership.db import watchdog

    factory = watchdog.connection_factory(longest)

    @event.listens_for(engine, 'do_connect')
    def connect(
        dialect: Any, record: Any, args: Any, parameters: dict[str, Any]
    ) -> None:
        parameters['connection_factory'] = factory


def _share_tls(engine: sqlalchemy.Engine) -> None:
    """Let the connections of pymysql without options of TLS share a context.

    Without options it uses TLS if the server has it, and verifies nothing. For
    that it reads all certificate authorities of the machine, again for each
    connection: 20 ms of a processor, and a megabyte for as long as the
    connection is open.
    """

    def connect(
        dialect: object, record: object, cargs: Any, cparams: Any
    ) -> object:
        return pymysql_class()(*cargs, **cparams)

    event.listen(engine, 'do_connect', connect)


@functools.cache
def pymysql_class() -> type[Any]:
    """Return the class of connections of pymysql, with a common context.

    Its parent creates the context, so it is as pymysql wants it.
    """
    from pymysql import connections

    base = connections.Connection
    common: list[Any] = []

    def create(self: Any, options: Any) -> Any:
        if options:
            return base._create_ssl_ctx(self, options)
        with _tls_lock:
            if not common:
                common.append(base._create_ssl_ctx(self, options))
            return common[0]

    return type('Connection', (base,), {'_create_ssl_ctx': create})


_MOVED_ON_POSTGRESQL = frozenset(
    {
        '25006',  # read_only_sql_transaction: a standby
        '57P01',  # admin_shutdown
        '57P02',  # crash_shutdown
        '57P03',  # cannot_connect_now: it starts or shuts down
    }
)
_MOVED_ON_MYSQL = frozenset(
    {
        1047,  # no part of the primary component of a Galera cluster
        1290,  # read-only, by an option
        1836,  # read-only
    }
)


def _drop_moved(engine: sqlalchemy.Engine) -> None:
    """Drop the connections to a server that does not accept writes any more.

    It is not the primary any longer: a new connection may find the one that
    is.
    """

    # First: the handler of oslo.db would not raise such an error.
    @event.listens_for(engine, 'handle_error', insert=True)
    def handle(context: Any) -> None:
        cause = context.original_exception
        number = cause.args[0] if cause.args else None
        if (
            getattr(cause, 'pgcode', None) in _MOVED_ON_POSTGRESQL
            or number in _MOVED_ON_MYSQL
        ):
            # Otherwise it would stay in the pool, and fail for ever.
            context.is_disconnect = True
            raise db_exc.DBConnectionError(context.sqlalchemy_exception)


def _on_connect(engine: sqlalchemy.Engine, *statements: str) -> None:
    @event.listens_for(engine, 'connect')
    def set_up(dbapi: Any, record: Any) -> None:
        cursor = dbapi.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()
        # PostgreSQL takes settings back when their transaction rolls back.
        dbapi.commit()


def _prepare_sqlite(engine: sqlalchemy.Engine, timeout: float) -> None:
    @event.listens_for(engine, 'connect')
    def set_up(dbapi: sqlite3.Connection, record: Any) -> None:
        try:
            _use_wal(dbapi, time.monotonic() + timeout)
        except sqlite3.DatabaseError as exc:
            if exc.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise not_a_database(engine.url.database) from exc
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
