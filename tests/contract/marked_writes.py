"""Check of each transaction: what it changes, it marks.

The contracts run with it on SQLite, where nothing else writes at the same
time. So every transaction that a contract knows is checked, for the cache of
``engine.host.snapshot``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from ironic_ownership.db import (
    connection,
    queries,
    schema,
    tables,
    transaction,
)

T = TypeVar('T')

Rows = Mapping[str, Any]
_PACKAGE = 'ironic_ownership.'
_NO_RECORDS = schema.__name__
_MARKED = tables.services.c.marked.name


def checked(database: connection.Database) -> connection.Database:
    """Check what the package writes through it, and not what a test does."""
    plain = database.write

    def write(work: connection.Work[T]) -> T:
        module = getattr(work, 'func', work).__module__
        if module.startswith(_PACKAGE) and module != _NO_RECORDS:
            return plain(_checked(work))
        return plain(work)

    database.write = write  # type: ignore[method-assign]
    return database


def _checked(work: connection.Work[T]) -> connection.Work[T]:
    def observed(conn: sa.Connection) -> T:
        before = _State(conn)
        result = work(conn)
        if _MARKED in transaction.RAISED:
            # Not in what stands for a release without marks.
            _State(conn).check(before)
        return result

    return observed


class _State:
    def __init__(self, conn: sa.Connection) -> None:
        self.services = _rows(conn, sa.select(tables.services))
        self.rows = _rows(conn, sa.select(tables.compute_nodes))
        self.records = _rows(conn, queries.COMPUTE_NODES)

    def check(self, before: _State) -> None:
        """Raise if a change has no mark that a reader can find."""
        if before.services.keys() != self.services.keys():
            return  # Each reader reads everything.
        unmarked = self._unmarked() - before._unmarked()
        if before.rows.keys() - self.rows.keys():
            if self.services and not unmarked:
                raise AssertionError('rows vanished, and no reader knows')
            return
        if unmarked:
            raise AssertionError(f'a revision without marks: {unmarked}')
        for uuid in before.records.keys() | self.records.keys():
            if before.records.get(uuid) != self.records.get(uuid):
                self._check_mark(uuid, before)

    def _unmarked(self) -> set[tuple[str, int]]:
        return {
            (host, row.revision - row.marked)
            for host, row in self.services.items()
        }

    def _check_mark(self, uuid: str, before: _State) -> None:
        row = self.rows[uuid]
        service = self.services.get(row.revision_host)
        if self.services and not (
            service is not None
            and before.services[service.host].revision
            < row.revision
            <= service.revision
        ):
            raise AssertionError(f'{uuid} changed without a mark: {row}')


def _rows(conn: sa.Connection, statement: sa.Select[Any]) -> Rows:
    return {row[0]: row for row in conn.execute(statement)}
