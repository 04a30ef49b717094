"""The database of the records: real SQL on a file, behind a network.

It has a clock of its own, lets one transaction write at a time, and ends a
transaction that waits too long for its next statement, as a server does.
Locks and statements are where a thread gives way.
"""

from __future__ import annotations

import contextvars
import functools
import gc
import itertools
import pathlib
import re
import sqlite3
import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import sqlalchemy as sa
from oslo_db import exception as db_exc

from ironic_ownership.db import connection
from tests.simulation.links import Port, Server
from tests.simulation.loop import Loop, Process, Waiting
from tests.unit.db import sqlite

_WRITTEN = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)')

PATH: contextvars.ContextVar[str] = contextvars.ContextVar(
    'network path', default='records'
)
"""The network path of the calls of this thread; inherited by its calls."""

_COUNTED = re.compile(r'INSERT INTO (?:events|instances|outbox) \(')

_UNCHECKED = frozenset({'members', 'condition_reports'})
"""Tables that no law is about."""


class Lost(db_exc.DBConnectionError):
    """A call that got no answer."""


class Database(Server):
    """The database of one deployment, and its clock.

    :param idle: seconds for which a transaction may wait for a statement.
    :ivar committed: called after each commit that changed records, with the
        process that wrote.
    :ivar ahead: seconds by which its clock is ahead, since ``jumped_at``.
    """

    numbers: tuple[int, ...] = (0,)

    def __init__(self, loop: Loop, idle: float) -> None:
        super().__init__(loop, Lost)
        self.idle, self.ahead, self.rate = idle, 0.0, 1.0
        self.committed: Callable[[Process, set[str]], None]
        self.commits = 0
        self.jumped_at = float('-inf')
        self.files = [file_of(number) for number in self.numbers]
        self._writers: dict[int, Connection] = {}
        self._waiting = Waiting()
        Connection.database = self
        for one in Connection.opened:
            one.user = None  # it would keep all of an earlier schedule
            if one.in_transaction:  # ended in the middle of its rollback
                sqlite3.Connection.rollback(one)
        for file in self.files:
            file.restore(file_of(0).empty)
        self.query = self.files[0].reader.execute

    def clock(self) -> float:
        """Return the seconds since 1970, by its own clock."""
        now = self.loop.EPOCH + self.ahead + self.loop.now * self.rate
        return round(now, 3)

    def port(self, process: Process) -> connection.Database:
        """Return the database as a process uses it."""
        return self.files[0].port

    def save(self) -> bytes:
        """Return a copy of its content."""
        return self.files[0].reader.serialize()

    def restore(self, copy: bytes) -> None:
        """Go back to a copy; what runs is lost."""
        self.abort_all()
        for file in self.files:
            file.restore(copy)

    def abort_all(self, process: Process | None = None) -> None:
        """End the open transactions, or those of one process."""
        for one in list(Connection.opened):
            if one.in_transaction and process in (None, one.user):
                one.abort()

    def lock(self, mine: Connection) -> None:
        """Wait until no other transaction writes on the same server."""
        self.wait(mine, lambda: mine.number not in self._writers)
        self._writers[mine.number] = mine

    def wait(self, mine: Connection, met: Callable[[], bool]) -> None:
        """Wait until something is so, which the writer of a server delays.

        One that is idle for too long is ended.
        """
        until = self.loop.now + self.timeout
        while not met():
            other = self._writers.get(mine.number)
            idle = self.loop.now - other.used_at if other else 0.0
            if other and idle >= self.idle:
                other.abort()
                continue
            if self.loop.now >= until:
                raise db_exc.DBDeadlock('database is locked')
            left = self.idle - idle
            self._waiting.wait(self.loop, 'a lock of rows', left)

    def writer(self, number: int) -> Connection | None:
        """Return the transaction that writes on a server."""
        return self._writers.get(number)

    def unlock(self, mine: Connection) -> None:
        """Let the next transaction write."""
        if self._writers.get(mine.number) is mine:
            del self._writers[mine.number]
            self.wake()

    def wake(self) -> None:
        """Let those that wait look again."""
        self._waiting.wake(self.loop)

    def begin(self, mine: Connection) -> None:
        """Begin a transaction that writes."""
        self.lock(mine)

    def catch_up(self, mine: Connection) -> None:
        """Let a transaction that reads see all that was committed."""

    def certify(self, mine: Connection) -> None:
        """Refuse a transaction that is about to be committed, or accept it.

        :raises DBDeadlock: if another one has written the same rows.
        """


class Connection(sqlite3.Connection):
    """A connection from some process.

    :ivar user: the process that used it last, at ``used_at``.
    :ivar number: of the server.
    :ivar written: tables that the transaction has written.
    """

    database: ClassVar[Database | None] = None
    opened: ClassVar[list[Connection]] = []
    user: Process | None = None
    used_at = 0.0
    is_aborted = False
    aborts_with: Callable[[str], Exception] = Lost
    number = seen = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.written: set[str] = set()

    def cursor(self, *args: Any, **kwargs: Any) -> sqlite3.Cursor:
        return super().cursor(Cursor)

    def before(self, sql: str) -> None:
        """Give way, fail, or wait for a lock before a statement."""
        database = Connection.database
        if database is None or database.loop.current is None:
            return
        if _is_local(sql):
            if sql == 'BEGIN':
                self.is_aborted = False
            return
        self.user = database.loop.process
        database.request(PATH.get(), _name(sql))
        self._check(database)
        if sql == 'BEGIN IMMEDIATE':
            database.begin(self)
            self._check(database)
        elif database.writer(self.number) is not self:
            database.catch_up(self)
        elif found := _WRITTEN.match(sql):
            self.written.add(found[1])

    def after(self, sql: str) -> None:
        """Let the answer to a statement be late or lost, if the path is."""
        database, path = Connection.database, PATH.get()
        if database is None or database.loop.current is None:
            return
        if not _is_local(sql) and database.is_disturbed(path):
            database.answer(path, _name(sql))

    def numbered(self, sql: str) -> str:
        """Give rows numbers that no other server of a cluster gives."""
        if self.number and _COUNTED.match(sql):
            sql = sql.replace('(', '(id, ', 1)
            sql = sql.replace('VALUES (', 'VALUES (next_id(), ', 1)
        return sql

    def _check(self, database: Database) -> None:
        self.used_at = database.loop.now
        if self.is_aborted:
            raise self.aborts_with('the server has ended the transaction')

    def rows_written(self) -> list[tuple[str, str]]:
        """Return table and key of the rows that it has written so far."""
        statement = 'SELECT DISTINCT name, key FROM written_rows'
        return sqlite3.Cursor(self).execute(statement).fetchall()

    def row(self, name: str, key: str, sql: str) -> Any:
        """Return a row as it is in the transaction.

        :param sql: of its key.
        """
        statement = f'SELECT * FROM {name} WHERE {sql} = ?'
        return sqlite3.Cursor(self).execute(statement, (key,)).fetchone()

    def forget_written(self) -> None:
        """Delete the notes of written rows."""
        sqlite3.Cursor(self).execute('DELETE FROM written_rows')

    def commit(self) -> None:
        database = Connection.database
        if not self.written or database is None or database.loop.is_over:
            self._end(super().commit)
            return
        database.request(PATH.get(), 'COMMIT')
        self._check(database)
        written, process = self.written, database.loop.process
        database.certify(self)
        self._end(super().commit)
        database.commits += 1
        if not written <= _UNCHECKED:
            database.committed(process, written)
        database.answer(PATH.get(), 'COMMIT')

    def rollback(self) -> None:
        self._end(super().rollback)

    def close(self) -> None:
        self._end(super().close)
        Connection.opened.remove(self)

    def abort(self, error: Callable[[str], Exception] = Lost) -> None:
        """End the transaction, by the server."""
        self.is_aborted, self.aborts_with = True, error
        self._end(super().rollback)

    def _end(self, how: Callable[[], None]) -> None:
        how()
        self.written = set()
        if (database := Connection.database) is not None:
            database.unlock(self)


def _name(sql: str) -> str:
    """Return the name of the step: a word that stories can name."""
    return sql[:11].replace(' ', '-')


def _is_local(sql: str) -> bool:
    """Tell whether a statement is none that a server would get."""
    return sql in ('BEGIN', 'COMMIT') or sql.startswith('PRAGMA')


class Cursor(sqlite3.Cursor):
    """A cursor that gives way before each statement."""

    connection: Connection

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        self.connection.before(sql)
        super().execute(self.connection.numbered(sql), parameters)
        self.connection.after(sql)
        return self

    def executemany(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        self.connection.before(sql)
        super().executemany(self.connection.numbered(sql), parameters)
        self.connection.after(sql)
        return self


class File:
    """The file of one server: for all schedules of a process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._directory = tempfile.TemporaryDirectory(dir=_memory())
        path = pathlib.Path(self._directory.name, 'records.sqlite')
        sqlite.create(path)
        self.port = connection.open_database(
            f'sqlite:///{path}',
            sqlite_synchronous=False,
        )
        engine = self.port.engine
        # Files have no pool; a server's connections do not cost as much.
        engine.pool = sa.pool.QueuePool(
            engine.pool._creator,
            max_overflow=-1,
            use_lifo=True,
            dialect=engine.dialect,
            _dispatch=engine.pool.dispatch,
        )
        sa.event.listen(engine, 'do_connect', self._connect)
        self.port.read(lambda conn: conn.execute(sa.text('SELECT 1')))
        self.reader = sqlite3.connect(path, isolation_level=None)
        self.empty = self.reader.serialize()

    def _connect(
        self, dialect: Any, record: Any, args: Any, given: Any
    ) -> Any:
        given.pop('factory', None)
        made = sqlite3.connect(*args, factory=Connection, **given)
        made.create_function('julianday', 1, self._now)
        made.create_function('next_id', 0, lambda: next(_numbers))
        made.number = self.number
        Connection.opened.append(made)
        return made

    def _now(self, what: object) -> float:
        assert Connection.database is not None
        return 2440587.5 + Connection.database.clock() / 86400

    def restore(self, copy: bytes) -> None:
        source = sqlite3.connect(':memory:')
        # Memory has no write-ahead log, as the header of a copy demands.
        source.deserialize(copy[:18] + b'\x01\x01' + copy[20:])
        source.backup(self.reader, progress=_free, sleep=0.01)
        source.close()


def _free(status: int, *_: int) -> None:
    """Free what reads the file since an earlier schedule, if it is busy."""
    if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        assert gc.collect(), 'nothing can be freed that keeps the file busy'


_numbers = itertools.count(1)


@functools.cache
def file_of(number: int) -> File:
    """Return the file of a server."""
    return File(number)


def _memory() -> str | None:
    path = pathlib.Path('/dev/shm')
    return str(path) if path.is_dir() else None


class MembersPath(Port):
    """The members in the database, over a network path of their own."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            token = PATH.set('members')
            began = self._server.loop.now
            try:
                result = found(*args, **kwargs)
            finally:
                PATH.reset(token)
            if name in ('beat', 'join'):
                self._server.beaten(began)
            return result

        return call
