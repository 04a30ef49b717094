"""Databases of the records: servers, URLs and a plain connection."""

from __future__ import annotations

import abc
import contextlib
import pathlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import psycopg2
import psycopg2.extensions
import pymysql

from lab import (
    galera,
    haproxy,
    mariadb,
    postgresql,
    process,
    proxy,
    replication,
    server,
)

Row = tuple[Any, ...]
_NAME = 'ownership'
_TIMEOUT = 5


class Records(abc.ABC):
    """The database of one run.

    :param directory: an existing directory for its files.
    :cvar writer: SQL of the name under which a process is connected.
    """

    writer: str | None = None
    ordered_by = 'id'
    """Order of the events in which one follows from the others."""

    serving = 0
    """Number of the server that answered last."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.servers: Sequence[server.Server] = ()
        self.proxies: Sequence[server.Server] = ()
        """What stands between the servers and all clients."""

    @property
    def ports(self) -> Sequence[int]:
        """The ports of its servers; none if it is a file."""
        return [one.port for one in self.servers]

    def targets(self) -> Sequence[server.Server]:
        """Return the servers of which one may have a fault now."""
        return self.servers

    @abc.abstractmethod
    def start(self) -> None:
        """Start the servers, and create an empty database."""

    @abc.abstractmethod
    def url(self, login: str, port: int | None = None) -> str:
        """Return SQLAlchemy's URL for one process.

        :param port: where it connects to; the first server if not given.
        """

    @abc.abstractmethod
    def connect(self) -> Any:
        """Return a new DB-API connection to the first server."""

    can_fail_over = False
    """Whether a standby may take over."""

    loses_commits = False
    """Whether the standby that takes over may lack commits."""

    can_be_parted = False
    """Whether there are several servers with a network between them."""

    def isolated(self, number: int) -> contextlib.AbstractContextManager[None]:
        """Cut one of several servers off from the others.

        :raises LookupError: if there is only one.
        """
        raise LookupError('one server')

    def stop_replication(self) -> None:
        """Let the standby lack all later commits.

        :raises NotImplementedError: if no commit may be lost.
        """
        raise NotImplementedError

    def lose_primary(self) -> None:
        """End the primary server with SIGKILL.

        :raises NotImplementedError: if there is only one.
        """
        raise NotImplementedError

    def promote(self) -> None:
        """Let the standby take over, and start another standby."""
        raise NotImplementedError

    def note_writers(self) -> None:
        """Let the server note who writes each event, if it knows."""
        if self.writer:
            with self.reading() as read:
                read(
                    'ALTER TABLE events ADD COLUMN written_by VARCHAR(128) '
                    f'DEFAULT ({self.writer})'
                )

    @contextlib.contextmanager
    def reading(self) -> Iterator[Callable[[str], list[Row]]]:
        """Open one transaction; what it yields runs a statement."""
        with contextlib.closing(self.connect()) as connection:

            def run(statement: str) -> list[Row]:
                cursor = connection.cursor()
                cursor.execute(statement)
                return list(cursor.fetchall()) if cursor.description else []

            yield run
            connection.commit()

    def stop(self) -> None:
        """Stop the servers."""
        for one in self.servers:
            one.stop()


class SQLite(Records):
    """A file, without a server that could fail."""

    def start(self) -> None:
        """Do nothing: the schema's creation makes the file."""

    def url(self, login: str, port: int | None = None) -> str:
        """Return the same URL for all processes."""
        return f'sqlite:///{self.directory}/records.sqlite'

    def connect(self) -> Any:
        """Open the file."""
        path = self.directory / 'records.sqlite'
        return sqlite3.connect(path, timeout=_TIMEOUT)


class PostgreSQL(Records):
    """One PostgreSQL server."""

    writer = "current_setting('application_name')"

    def start(self) -> None:
        """Start the server."""
        started = postgresql.PostgreSQL(self.directory)
        self.servers = [started.start()]
        started.create_database(_NAME)

    def url(self, login: str, port: int | None = None) -> str:
        """Name the login as the application."""
        return (
            f'postgresql+psycopg2://postgres@127.0.0.1:'
            f'{port or self.ports[0]}/{_NAME}?application_name={login}'
        )

    def connect(self) -> Any:
        """Connect; each transaction sees one snapshot."""
        connection = psycopg2.connect(
            host='127.0.0.1',
            port=self.ports[0],
            user='postgres',
            dbname=_NAME,
            connect_timeout=_TIMEOUT,
        )
        connection.set_session(
            psycopg2.extensions.ISOLATION_LEVEL_REPEATABLE_READ
        )
        return connection


class Replicated(PostgreSQL):
    """A primary with a synchronous standby that takes over.

    All clients use one address, which leads to the primary.
    """

    can_fail_over = can_be_parted = True
    synchronous = True

    def start(self) -> None:
        """Start both servers."""
        self._pair = replication.Replication(self.directory)
        self._pair.start()
        self._pair.primary.create_database(_NAME)
        self._pair.wait_until_streaming()
        self._pair.set_synchronous(synchronous=self.synchronous)
        self._address = proxy.Proxy(self._pair.primary.port)
        self.servers = [self._pair.primary]

    @property
    def ports(self) -> Sequence[int]:
        """The port of the address."""
        return [self._address.port]

    @contextlib.contextmanager
    def isolated(self, number: int) -> Iterator[None]:
        """Cut the standby off; commits wait for it."""
        pair = self._pair
        assert pair.link is not None
        pair.link.cut()
        try:
            yield
        finally:
            pair.link.forward()
            pair.wait_until_streaming()

    def lose_primary(self) -> None:
        """Kill the primary; its address leads nowhere."""
        self._pair.primary.kill()

    def promote(self) -> None:
        """Promote the standby, move the address, copy a new standby."""
        self._pair.promote()
        self.servers = [self._pair.primary]
        self._address.retarget(self._pair.primary.port)
        self._pair.add_standby()
        self._pair.set_synchronous(synchronous=self.synchronous)

    def stop(self) -> None:
        """Stop both servers."""
        self._pair.stop()
        self._address.close()


class Asynchronous(Replicated):
    """A primary with a standby that may lack the last commits."""

    loses_commits = True
    synchronous = False

    def stop_replication(self) -> None:
        """End the replication."""
        self._pair.wait_until_streaming()
        self._pair.cut()


class MariaDB(Records):
    """One MariaDB server."""

    session = ''
    """A statement for each connection of the checker."""

    writer = "substring_index(user(), '@', 1)"

    def start(self) -> None:
        """Start the server."""
        started = mariadb.MariaDB(self.directory)
        self.servers = [started.start()]
        started.create_database(_NAME)

    def url(self, login: str, port: int | None = None) -> str:
        """Name the login as the user; the server asks for no password."""
        return (
            f'mysql+pymysql://{login}@127.0.0.1:{port or self.ports[0]}/'
            f'{_NAME}?charset=utf8mb4'
        )

    @property
    def _direct(self) -> Sequence[int]:
        """The ports by which the checker connects."""
        return self.ports

    def connect(self) -> Any:
        """Connect to a server that answers; it shows one snapshot each."""
        ports = self._direct
        for attempt in range(len(ports)):
            self.serving = (self.serving + min(attempt, 1)) % len(ports)
            try:
                return self._connect(ports[self.serving])
            except pymysql.Error:
                if attempt + 1 == len(ports):
                    raise
        raise OSError('no server')

    def _connect(self, port: int) -> Any:
        connection = pymysql.connect(
            host='127.0.0.1',
            port=port,
            user='checker',
            database=_NAME,
            connect_timeout=_TIMEOUT,
            read_timeout=_TIMEOUT,
            init_command=self.session or None,
        )
        # A server may accept connections and nothing else.
        connection.cursor().execute('SELECT 1 FROM information_schema.tables')
        connection.rollback()
        return connection


class Galera(MariaDB):
    """Three servers that replicate each other, with writes on all of them.

    Each process uses one of them. The ids of events are given by each server
    for itself, so only the clock, which all three share, orders them.
    """

    ordered_by = 'at, id'
    can_be_parted = True
    session = 'SET SESSION wsrep_sync_wait = 15'

    def start(self) -> None:
        """Start the cluster."""
        started = galera.Galera(self.directory)
        self.servers = self._nodes = started.nodes
        started.start()
        started.create_database(_NAME)

    def targets(self) -> Sequence[galera.Node]:
        """Return all nodes."""
        return self._nodes

    @contextlib.contextmanager
    def isolated(self, number: int) -> Iterator[None]:
        """Cut one node off; clients reach it, and it refuses them."""
        nodes = self.targets()
        if not nodes:
            raise LookupError('no server works')
        node = nodes[number % len(nodes)]
        node.isolate()
        try:
            yield
        finally:
            node.rejoin()

    def stop(self) -> None:
        """End every server; a clean stop of all takes long."""
        for one in self.servers:
            with contextlib.suppress(process.LabError):
                one.kill()


class GaleraBehindProxy(Galera):
    """The same servers behind HAProxy: one of them gets all connections.

    That one is the server of which faults are.
    """

    def start(self) -> None:
        """Start the cluster and the proxy."""
        super().start()
        home = self.directory / 'haproxy'
        home.mkdir()
        self._front = haproxy.HAProxy(home, self._nodes)
        self.proxies = [self._front.start()]

    @property
    def ports(self) -> Sequence[int]:
        """The port of the proxy."""
        return [self._front.port]

    @property
    def _direct(self) -> Sequence[int]:
        return [node.port for node in self._nodes]

    def targets(self) -> Sequence[galera.Node]:
        """Return the server that gets the connections."""
        with contextlib.suppress(process.LabError):
            return [self._front.writer()]
        return []

    def stop(self) -> None:
        """End everything."""
        for one in self.proxies:
            one.stop()
        super().stop()


RECORDS: Mapping[str, Callable[[pathlib.Path], Records]] = {
    'sqlite': SQLite,
    'postgresql': PostgreSQL,
    'postgresql-standby': Replicated,
    'postgresql-async': Asynchronous,
    'mariadb': MariaDB,
    'galera': Galera,
    'galera-proxy': GaleraBehindProxy,
}
"""Each database by its name on the command line."""
