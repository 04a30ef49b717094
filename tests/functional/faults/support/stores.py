"""Stores of the members, and how a host reaches them.

A store has nothing to do with the records here, so that a network may fail
between a host and either of them.
"""

from __future__ import annotations

import itertools
from typing import Protocol

import sqlalchemy as sa

from ironic_ownership.db import connection, schema
from tests.functional.support import databases, hosts


class Store(Protocol):
    """The store of one membership backend."""

    port: int
    """Where it listens on 127.0.0.1."""

    def sections(self, port: int) -> hosts.Sections:
        """Return the options of a host that reaches it by some port."""
        ...


class DatabaseStore:
    """The backend ``db``, on a database beside that of the records."""

    def __init__(self, kind: databases.PostgreSQL | databases.MariaDB) -> None:
        self._url = kind.fresh()
        self.port = int(sa.make_url(self._url).port or 0)
        database = connection.open_database(self._url)
        schema.upgrade(database)
        database.close()

    def sections(self, port: int) -> hosts.Sections:
        url = sa.make_url(self._url).set(port=port)
        text = url.render_as_string(hide_password=False)
        return {
            'ownership': {'backend': 'db'},
            'backend_db': {'connection': text},
        }


class RecordsStore:
    """The backend ``db`` as most use it: the members are with the records.

    What happens to the one happens to the other.
    """

    port = 0

    def sections(self, port: int) -> hosts.Sections:
        return {'ownership': {'backend': 'db'}}


class CoordinationStore:
    """The backend ``tooz`` on any server or cluster, a group a test.

    :param port: in the URL; a cluster is reached by all of its own.
    """

    _numbers = itertools.count(1)

    def __init__(self, url: str, port: int = 0) -> None:
        self._url = url
        self._group = f'test{next(self._numbers)}'
        self.port = port

    def sections(self, port: int) -> hosts.Sections:
        url = self._url.replace(f':{self.port}', f':{port}')
        return {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': url, 'group': self._group},
        }
