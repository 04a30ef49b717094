"""Real database servers for the tests: one of each kind a test process.

A server starts when the first test asks for it and ends with the process;
every test gets a fresh database. A missing server is an error, not a skip.
"""

from __future__ import annotations

import abc
import atexit
import contextlib
import functools
import itertools
import pathlib
import shutil
import tempfile
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, schema, tables
from lab import galera, haproxy, mariadb, postgresql

Server = (
    postgresql.PostgreSQL | mariadb.MariaDB | galera.Galera | haproxy.HAProxy
)
S = TypeVar('S', bound=Server)
D = TypeVar('D', postgresql.PostgreSQL, mariadb.MariaDB)

_GRANTS = pathlib.Path(__file__).parents[3] / 'etc/ironic_ownership/grants'
_USER = 'ironic_ownership'
_EMPTIED = [
    table
    for table in reversed(tables.metadata.sorted_tables)
    if table is not tables.schema_compatibility
]
_FILLED = sa.select(
    *(sa.exists(sa.select(table)).label(table.name) for table in _EMPTIED)
)

_numbers = itertools.count(1)


def temporary_directory(kind: str) -> pathlib.Path:
    path = pathlib.Path(tempfile.mkdtemp(prefix=f'ironic-ownership-{kind}-'))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class _Stoppable(Protocol):
    def start(self) -> object: ...
    def stop(self) -> None: ...


Started = TypeVar('Started', bound=_Stoppable)


def started(build: Callable[[pathlib.Path], Started], kind: str) -> Started:
    """Start a server in a directory of its own; it ends with the process."""
    server = build(temporary_directory(kind))
    # Registered after the directory's removal, so it runs before it.
    atexit.register(server.stop)
    server.start()
    return server


class Sqlite:
    """A file a test."""

    def fresh(self) -> str:
        """Return the URL of a database that does not exist yet."""
        directory = temporary_directory('sqlite')
        return f'sqlite:///{directory}/records.sqlite'


class _Kind(Generic[S]):
    """One server of the test process."""

    def __init__(self, build: Callable[[pathlib.Path], S]) -> None:
        self._build = build

    @functools.cached_property
    def server(self) -> S:
        """The server, started if it was not."""
        return started(self._build, type(self).__name__.lower())


class DatabaseServer(_Kind[D], abc.ABC):
    """A server with databases for the tests.

    To create the schema by its migrations takes longer than most tests.
    """

    _emptied: tuple[str, connection.Database] | None = None

    def __init__(self, build: Callable[[pathlib.Path], D]) -> None:
        super().__init__(build)
        self._granted: set[str] = set()

    def fresh(self) -> str:
        return self.server.create_database(f'test{next(_numbers)}')

    def own(self) -> str:
        return self._copy(f'test{next(_numbers)}')

    def empty(self) -> str:
        """Return the URL of a database with a schema and without rows.

        Tests share it, one after the other. Not for tests that leave a
        connection.
        """
        # A test may have left locks, or has dropped it.
        with contextlib.suppress(exceptions.OwnershipError):
            if self._emptied is not None:
                url, opened = self._emptied
                opened.write(_delete_all)
                return url
        url = self.own()
        self._emptied = url, connection.open_database(url)
        return url

    def for_services(self) -> str:
        """Return the URL of :meth:`empty` for a user with few rights."""
        url = sa.make_url(self.empty())
        if url.database is not None and url.database not in self._granted:
            self._grant(url.database)
            self._granted.add(url.database)
        return str(url.set(username=_USER))

    @functools.cached_property
    def _migrated(self) -> str:
        url = self.fresh()
        opened = connection.open_database(url)
        schema.upgrade(opened)
        opened.close()
        return str(sa.make_url(url).database)

    @abc.abstractmethod
    def _copy(self, name: str) -> str:
        """Copy the migrated database, and return the URL of the new one."""

    @abc.abstractmethod
    def _grant(self, database: str) -> None:
        """Give the user the rights that the documentation has."""


class PostgreSQL(DatabaseServer[postgresql.PostgreSQL]):
    def _copy(self, name: str) -> str:
        return self.server.create_database(name, template=self._migrated)

    def _grant(self, database: str) -> None:
        with contextlib.closing(self.server.connect(database)) as conn:
            cursor = conn.cursor()
            cursor.execute(
                'SELECT 1 FROM pg_roles WHERE rolname = %s', [_USER]
            )
            if cursor.fetchone() is None:
                cursor.execute(f'CREATE USER {_USER}')
            cursor.execute(_grants('postgresql', 'public'))
            conn.commit()


class MariaDB(DatabaseServer[mariadb.MariaDB]):
    def _copy(self, name: str) -> str:
        url = self.server.create_database(name)
        self.server.restore(name, self._dump)
        return url

    @functools.cached_property
    def _dump(self) -> bytes:
        return self.server.dump(self._migrated)

    def rows_read(
        self, database: str, work: Callable[[], object]
    ) -> dict[str, int]:
        """Return how many rows of each table of a database some work reads."""
        self.server.query('SET GLOBAL userstat = 1', 'FLUSH TABLE_STATISTICS')
        work()
        return dict(
            self.server.query(
                'SET GLOBAL userstat = 0',
                'SELECT table_name, rows_read FROM '
                'information_schema.table_statistics WHERE table_schema = '
                f"'{database}'",
            )
        )

    def _grant(self, database: str) -> None:
        root = "'root'@'127.0.0.1'"
        grants = _grants('mariadb', database).split(';\n')
        self.server.query(
            # From here on the rights of users count.
            'FLUSH PRIVILEGES',
            f'CREATE USER IF NOT EXISTS {root}',
            f'GRANT ALL ON *.* TO {root} WITH GRANT OPTION',
            f"CREATE USER IF NOT EXISTS '{_USER}'@'%'",
            *filter(str.strip, grants),
        )


class Galera(_Kind[galera.Galera]):
    def fresh(self) -> list[str]:
        """Return the URL of a new and empty database at each node."""
        return self.server.create_database(f'test{next(_numbers)}')


class HAProxy(_Kind[haproxy.HAProxy]):
    """The test process's HAProxy, in front of its Galera cluster."""

    def fresh(self) -> str:
        """Return the URL of a new and empty database, through the proxy."""
        name = GALERA.fresh()[0].rpartition('/')[2]
        return self.server.url(name)


def _grants(kind: str, database: str) -> str:
    text = (_GRANTS / f'{kind}.sql').read_text()
    return text.replace('ironic_ownership.', f'{database}.')


def _delete_all(conn: sa.Connection) -> None:
    # Most tests leave most tables empty: one query finds the others.
    filled = conn.execute(_FILLED).one()
    for table in _EMPTIED:
        if getattr(filled, table.name):
            conn.execute(sa.delete(table))


SQLITE = Sqlite()
POSTGRESQL = PostgreSQL(postgresql.PostgreSQL)
MARIADB = MariaDB(mariadb.MariaDB)
GALERA = Galera(galera.Galera)
HAPROXY = HAProxy(lambda path: haproxy.HAProxy(path, GALERA.server.nodes))
