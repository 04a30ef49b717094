"""The records on a Galera cluster, each transaction through another node."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import ClassVar, TypeVar

import sqlalchemy as sa

from ironic_ownership.db import connection, schema, tables
from tests.contract import database
from tests.functional.support import databases

T = TypeVar('T')


class Alternating(connection.Database):
    """Uses the nodes of a cluster in turn, as a proxy may do.

    :param urls: of one database, at each node.
    """

    def __init__(self, urls: list[str]) -> None:
        self._all = [connection.open_database(url) for url in urls]
        self._turns = itertools.cycle(self._all)
        self.engine = self._all[0].engine

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        return next(self._turns).read(work)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        return next(self._turns).write(work)

    def close(self) -> None:
        for one in self._all:
            one.close()


class OnGalera(database.OnDatabase):
    """One database of a test process, which is empty before each test.

    A new one would take longer than most of the tests.
    """

    _next: ClassVar = itertools.count()
    histories = 5

    @staticmethod
    @functools.cache
    def urls() -> list[str]:
        """Return the URL at each node of a database with the schema."""
        found = databases.GALERA.fresh()
        opened = connection.open_database(found[0])
        schema.upgrade(opened)
        opened.close()
        return found

    def fresh_url(self) -> str:
        return self.urls()[next(self._next) % len(self.urls())]

    def open_database(self) -> connection.Database:
        return Alternating(self.urls())

    def prepare(self) -> None:
        def work(conn: sa.Connection) -> None:
            for table in reversed(tables.metadata.sorted_tables):
                conn.execute(sa.delete(table))

        self.database.write(work)


class BackendOnGalera(database.BackendOnDatabase):
    """Builds the ``db`` backend, each time at another node."""

    def connection(self) -> str:
        return self.fresh_url()
