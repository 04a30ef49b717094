"""Real database servers for the tests: one of each kind a test process.

A server starts when the first test asks for it and ends with the process;
every test gets a fresh database. A missing server is an error, not a skip.
"""

from __future__ import annotations

import atexit
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

_numbers = itertools.count(1)
_servers: dict[str, Server] = {}
_emptied: dict[Callable[[], str], str] = {}


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
