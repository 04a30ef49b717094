"""Membership stores: one real store of each kind, and its failures.

A store has nothing to do with the records here, so that a network may fail
between a host and either of them.
"""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable
from typing import Any, Protocol

import sqlalchemy as sa

from ironic_ownership.db import connection, schema, tables
from lab import cluster, etcd, redis, zookeeper
from tests.functional.support import databases, hosts

Server = etcd.Etcd | redis.Redis | zookeeper.ZooKeeper


class Store(Protocol):
    """The store of one membership backend."""

    port: int
    """Where it listens on 127.0.0.1."""

    def sections(self, port: int) -> hosts.Sections:
        """Return the options of a host that reaches it by some port."""
        ...

    def stop(self) -> None:
        """Stop the server; it answers no client."""
        ...

    def start(self) -> None:
        """Start it again, with what it knew if it keeps that at all."""
        ...

    def wipe(self) -> None:
        """Let it forget every member; it runs."""
        ...


class DatabaseStore:
    """The backend ``db``, on a database beside that of the records."""

    def __init__(self, kind: databases.PostgreSQL | databases.MariaDB) -> None:
        self._kind = kind
        self._url = sa.make_url(kind.fresh())
        self.port = int(self._url.port or 0)
        database = connection.open_database(self._text(self.port))
        schema.upgrade(database)
        database.close()

    def sections(self, port: int) -> hosts.Sections:
        """Return the options of a host that reaches it by some port."""
        return {
            'ownership': {'backend': 'db'},
            'backend_db': {'connection': self._text(port)},
        }

    def stop(self) -> None:
        """Stop the server; it answers no client."""
        self._kind.server.stop()

    def start(self) -> None:
        """Start it again."""
        self._kind.server.start()

    def wipe(self) -> None:
        """Delete the row of every member."""
        database = connection.open_database(self._text(self.port))
        database.write(lambda conn: conn.execute(sa.delete(tables.members)))
        database.close()

    def _text(self, port: int) -> str:
        return self._url.set(port=port).render_as_string(hide_password=False)


class RecordsStore:
    """The backend ``db`` as most use it: the members are with the records.

    What happens to the one happens to the other.

    :param url: of the records' database.
    """

    def __init__(self, url: str) -> None:
        self.port = int(sa.make_url(url).port or 0)

    def sections(self, port: int) -> hosts.Sections:
        """Return no options: this is the default."""
        return {'ownership': {'backend': 'db'}}

    def stop(self) -> None:
        """Not supported: the owner of the records' server stops it."""
        raise NotImplementedError

    start = wipe = stop


class CoordinationStore:
    """The backend ``tooz``: one server of a test class, a group a test."""

    _numbers = itertools.count(1)

    def __init__(self, server: Server) -> None:
        self._server = server
        self._group = f'test{next(self._numbers)}'
        self.port = server.port

    @classmethod
    def serve(
        cls,
        build: Callable[[pathlib.Path], Server],
        clean: Callable[..., object],
    ) -> Server:
        """Start a server.

        :param clean: takes what has to be done in the end.
        """
        server = build(databases.temporary_directory('store'))
        clean(server.stop)
        server.start()
        return server

    def sections(self, port: int) -> hosts.Sections:
        """Return the options of a host that reaches it by some port."""
        url = self._server.url.replace(f':{self.port}', f':{port}')
        return {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': url, 'group': self._group},
        }

    def stop(self) -> None:
        """Stop the server; it answers no client."""
        self._server.stop()

    def start(self) -> None:
        """Start it again, with what it keeps."""
        self._server.start()

    def wipe(self) -> None:
        """Start it again, empty."""
        self._server.lose_data()


class ClusterStore:
    """The backend ``tooz`` on several servers, a group a test."""

    _numbers = itertools.count(1)

    def __init__(self, cluster: cluster.Cluster[Any]) -> None:
        self.cluster = cluster
        self._group = f'test{next(self._numbers)}'
        self.port = cluster.ports[0]

    def sections(self, port: int) -> hosts.Sections:
        """Return the options of every host."""
        return {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {
                'backend_url': self.cluster.url,
                'group': self._group,
            },
        }

    def stop(self) -> None:
        """Stop all servers."""
        self.cluster.stop()

    def start(self) -> None:
        """Start all servers again."""
        self.cluster.start()

    def wipe(self) -> None:
        """Not supported with several servers.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError
