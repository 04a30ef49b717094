"""Real database servers for the tests: one of each kind a test process.

A server starts when the first test asks for it and ends with the process;
every test gets a fresh database. A missing server is an error, not a skip.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import pathlib
import shutil
import tempfile
from collections.abc import Callable

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, schema, tables
from lab import galera, haproxy, mariadb, postgresql

Server = (
    postgresql.PostgreSQL | mariadb.MariaDB | galera.Galera | haproxy.HAProxy
)

_GRANTS = pathlib.Path(__file__).parents[3] / 'etc/ironic_ownership/grants'
_USER = 'ironic_ownership'

_numbers = itertools.count(1)
_servers: dict[str, Server] = {}
_emptied: dict[Callable[[], str], str] = {}
_granted: set[sa.URL] = set()


def temporary_directory(kind: str) -> pathlib.Path:
    """Return a new directory that disappears with the process."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=f'ironic-ownership-{kind}-'))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _server(kind: str, build: Callable[[pathlib.Path], Server]) -> Server:
    if kind not in _servers:
        server = build(temporary_directory(kind))
        # Registered after the directory's removal, so it runs before it.
        atexit.register(server.stop)
        server.start()
        _servers[kind] = server
    return _servers[kind]


def _empty(fresh: Callable[[], str]) -> str:
    if fresh in _emptied:
        try:
            _delete_rows(_emptied[fresh])
        except exceptions.OwnershipError:
            del _emptied[fresh]  # a test has left locks, or has dropped it
    if fresh not in _emptied:
        _emptied[fresh] = fresh()
        opened = connection.open_database(_emptied[fresh])
        schema.upgrade(opened)
        opened.close()
    return _emptied[fresh]


def _as_services(url: sa.URL, grant: Callable[[str], None]) -> str:
    if url not in _granted:
        assert url.database is not None
        grant(url.database)
        _granted.add(url)
    return str(url.set(username=_USER))


def _grants(kind: str, database: str) -> str:
    """Return the statements that the documentation has for a user."""
    text = (_GRANTS / f'{kind}.sql').read_text()
    return text.replace('ironic_ownership.', f'{database}.')


def _delete_rows(url: str) -> None:
    opened = connection.open_database(url)
    try:
        opened.write(_delete_all)
    finally:
        opened.close()


def _delete_all(conn: sa.Connection) -> None:
    for table in reversed(tables.metadata.sorted_tables):
        if table is not tables.schema_compatibility:
            conn.execute(sa.delete(table))


class Sqlite:
    """A file a test."""

    def fresh(self) -> str:
        """Return the URL of a database that does not exist yet."""
        directory = temporary_directory('sqlite')
        return f'sqlite:///{directory}/records.sqlite'


class PostgreSQL:
    """The test process's PostgreSQL."""

    def empty(self) -> str:
        """Return the URL of a database with a schema and without rows.

        Tests share it, one after the other: to create the schema takes
        longer than most of them. Not for tests that leave a connection.
        """
        return _empty(self.fresh)

    def for_services(self) -> str:
        """Return the URL of :meth:`empty` for a user with few rights."""
        url = sa.make_url(self.empty())
        return _as_services(url, self._grant)

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

    @property
    def server(self) -> postgresql.PostgreSQL:
        """The server, started if it was not."""
        found = _server('postgresql', postgresql.PostgreSQL)
        assert isinstance(found, postgresql.PostgreSQL)
        return found

    def fresh(self) -> str:
        """Return the URL of a new and empty database."""
        return self.server.create_database(f'test{next(_numbers)}')


class MariaDB:
    """The test process's MariaDB."""

    def empty(self) -> str:
        """Return the URL of a database with a schema and without rows.

        Tests share it, one after the other: to create the schema takes
        longer than most of them. Not for tests that leave a connection.
        """
        return _empty(self.fresh)

    def for_services(self) -> str:
        """Return the URL of :meth:`empty` for a user with few rights."""
        url = sa.make_url(self.empty())
        return _as_services(url, self._grant)

    def _grant(self, database: str) -> None:
        with contextlib.closing(self.server._connect()) as conn:
            cursor = conn.cursor()
            # From here on the rights of users count.
            cursor.execute('FLUSH PRIVILEGES')
            root = "'root'@'127.0.0.1'"
            cursor.execute(f'CREATE USER IF NOT EXISTS {root}')
            cursor.execute(f'GRANT ALL ON *.* TO {root} WITH GRANT OPTION')
            cursor.execute(f"CREATE USER IF NOT EXISTS '{_USER}'@'%'")
            for statement in _grants('mariadb', database).split(';\n'):
                if statement.strip():
                    cursor.execute(statement)

    @property
    def server(self) -> mariadb.MariaDB:
        """The server, started if it was not."""
        found = _server('mariadb', mariadb.MariaDB)
        assert isinstance(found, mariadb.MariaDB)
        return found

    def fresh(self) -> str:
        """Return the URL of a new and empty database."""
        return self.server.create_database(f'test{next(_numbers)}')


class Galera:
    """The test process's Galera cluster."""

    @property
    def server(self) -> galera.Galera:
        """The cluster, started if it was not."""
        found = _server('galera', galera.Galera)
        assert isinstance(found, galera.Galera)
        return found

    def fresh(self) -> list[str]:
        """Return the URL of a new and empty database at each node."""
        return self.server.create_database(f'test{next(_numbers)}')


class HAProxy:
    """The test process's HAProxy, in front of its Galera cluster."""

    @property
    def server(self) -> haproxy.HAProxy:
        """The proxy, started if it was not."""
        nodes = GALERA.server.nodes
        found = _server('haproxy', lambda path: haproxy.HAProxy(path, nodes))
        assert isinstance(found, haproxy.HAProxy)
        return found

    def fresh(self) -> str:
        """Return the URL of a new and empty database, through the proxy."""
        name = GALERA.fresh()[0].rpartition('/')[2]
        return self.server.url(name)


SQLITE, POSTGRESQL = Sqlite(), PostgreSQL()
MARIADB, GALERA, HAPROXY = MariaDB(), Galera(), HAProxy()
