"""Connections to database servers: time-outs, isolation, moved primaries."""

from __future__ import annotations

import functools
import threading
from typing import Any

import sqlalchemy
from sqlalchemy import event

from ironic_ownership.db import dialects
from ironic_ownership.db.dialects import POSTGRESQL, longest_call, whole

_tls_lock = threading.Lock()

_SYNC_READS = 1
"""Value of ``wsrep_sync_wait``: statements that read."""


def prepare(
    engine: sqlalchemy.Engine,
    *,
    statement: float,
    lock: float,
    idle: float,
    sync_wait: bool,
) -> None:
    """Set up every new connection to a server; the time-outs are in seconds.

    :param sync_wait: on a Galera cluster, read what other nodes committed.
    """
    _drop_moved(engine)
    if engine.dialect.name == POSTGRESQL:
        _bound_calls(engine, longest_call(statement))
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
            f'SET SESSION innodb_lock_wait_timeout = {whole(lock)}, '
            f'lock_wait_timeout = {whole(lock)} '
            f'/*M!100300, idle_transaction_timeout = {whole(idle)} */',
            sync_wait=sync_wait,
        )


def is_galera(cursor: Any) -> bool:
    """Tell whether a MariaDB or MySQL server is a node of a Galera cluster.

    :param cursor: one of the driver's.
    """
    cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
    row = cursor.fetchone()
    return row is not None and row[1] == 'ON'


def _bound_calls(engine: sqlalchemy.Engine, longest: float) -> None:
    from ironic_ownership.db import watchdog

    factory = functools.partial(watchdog.Connection, longest=longest)

    @event.listens_for(engine, 'do_connect')
    def connect(dialect: Any, record: Any, args: Any, options: Any) -> None:
        options['connection_factory'] = factory


def _share_tls(engine: sqlalchemy.Engine) -> None:
    """Let the connections of pymysql without options of TLS share a context.

    Without options it uses TLS if the server has it, and verifies nothing. For
    that it reads all certificate authorities of the machine, again for each
    connection: 20 ms of a processor, and a megabyte for as long as the
    connection is open.
    """

    @event.listens_for(engine, 'do_connect')
    def connect(dialect: Any, record: Any, args: Any, options: Any) -> object:
        with dialects.opening(engine.url):
            made = pymysql_class()(*args, **{**options, 'defer_connect': True})
        made.connect()
        return made


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


_MOVED = frozenset(
    {
        '25006',  # PostgreSQL, read_only_sql_transaction: a standby
        '57P01',  # admin_shutdown
        '57P02',  # crash_shutdown
        '57P03',  # cannot_connect_now: it starts or shuts down
        1290,  # MySQL: read-only, by an option
        1836,  # read-only
    }
)


def _drop_moved(engine: sqlalchemy.Engine) -> None:
    """Drop the connections to a server that does not accept writes any more.

    It is not the primary any longer: a new connection may find the one that
    is.
    """
    is_disconnect = engine.dialect.is_disconnect

    # No event: the handler of oslo.db comes first, and would raise its error.
    def is_lost(cause: Any, *others: Any) -> bool:
        number = cause.args[0] if cause.args else None
        codes = (getattr(cause, 'pgcode', None), number)
        # Otherwise it would stay in the pool, and fail for ever.
        return bool(_MOVED.intersection(codes)) or is_disconnect(
            cause, *others
        )

    engine.dialect.is_disconnect = is_lost  # type: ignore[assignment,method-assign]


def _on_connect(
    engine: sqlalchemy.Engine, *statements: str, sync_wait: bool = False
) -> None:
    @event.listens_for(engine, 'connect')
    def set_up(dbapi: Any, record: Any) -> None:
        cursor = dbapi.cursor()
        for statement in statements:
            cursor.execute(statement)
        # A node of a cluster applies the commits of the others a moment after
        # these were answered: a transaction that begins with a read waits for
        # them. A statement that only writes does not, so that no heartbeat is
        # late: certification refuses it if it missed something.
        if sync_wait and is_galera(cursor):
            cursor.execute(f'SET SESSION wsrep_sync_wait = {_SYNC_READS}')
        cursor.close()
        # PostgreSQL takes settings back when their transaction rolls back.
        dbapi.commit()
