"""Permissions on the tables of a cell, tried without changing a row."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from ironic_ownership_nova.cell.model import MissingGrant
from ironic_ownership_nova.cell.tables import WRITTEN, CellTables

_DENIED_ON_MYSQL = frozenset((1142, 1143))
_POSTGRESQL = 'postgresql'


def missing(conn: sa.Connection, tables: CellTables) -> Sequence[MissingGrant]:
    """Return the missing permissions, in the order of the tables."""
    user = conn.scalar(sa.select(sa.literal_column('CURRENT_USER')))
    account = _account(conn, str(user))
    lacks, found = _is_denied, []
    if conn.dialect.name == _POSTGRESQL:
        lacks = _lacks
        if not _may_use(conn, tables.schema):
            # Without it the server tells nothing about the tables.
            lacks = _is_unknown
            name = conn.dialect.identifier_preparer.quote(tables.schema)
            found.append(
                MissingGrant(
                    f'USAGE on schema {tables.schema}',
                    f'GRANT USAGE ON SCHEMA {name} TO {account}',
                )
            )
    return [
        *found,
        *(
            MissingGrant(
                f'{one.privilege} on {one.table.fullname}',
                f'GRANT {one.privilege} ON {_quoted(conn, one.table)} '
                f'TO {account}',
            )
            for one in _needed(tables)
            if lacks(conn, one)
        ),
    ]


@dataclasses.dataclass(frozen=True)
class _Needed:
    """One permission.

    :param column: ``None`` to read the whole table.
    """

    table: sa.Table
    column: sa.Column[Any] | None = None

    @property
    def privilege(self) -> str:
        if self.column is None:
            return 'SELECT'
        return f'UPDATE ({self.column.name})'

    @property
    def attempt(self) -> sa.Executable:
        """A statement that needs it, and changes no row."""
        column = self.column
        if column is None:
            return sa.select(self.table).where(sa.false())
        value = sa.null() if column.nullable else column
        return (
            sa.update(self.table)
            .where(sa.false())
            .values({column.name: value})
        )


def _needed(tables: CellTables) -> Iterator[_Needed]:
    for table in (tables.services, tables.compute_nodes, tables.instances):
        yield _Needed(table)
        for name in WRITTEN[table.name]:
            yield _Needed(table, table.c[name])


def _may_use(conn: sa.Connection, schema: str) -> bool:
    usage = sa.func.has_schema_privilege(schema, 'USAGE')
    return bool(conn.scalar(sa.select(usage)))


def _is_unknown(conn: sa.Connection, one: _Needed) -> bool:
    return True


def _lacks(conn: sa.Connection, one: _Needed) -> bool:
    """Ask PostgreSQL: oslo.db would log each attempt that fails there."""
    name = _quoted(conn, one.table)
    function = (
        sa.func.has_table_privilege(name, 'SELECT')
        if one.column is None
        else sa.func.has_column_privilege(name, one.column.name, 'UPDATE')
    )
    return not conn.scalar(sa.select(function))


def _is_denied(conn: sa.Connection, one: _Needed) -> bool:
    try:
        with conn.begin_nested():
            conn.execute(one.attempt)
    except (db_exc.DBError, sa_exc.DBAPIError) as exc:
        if _says_denied(exc):
            return True
        raise
    return False


def _says_denied(exc: BaseException) -> bool:
    cause: Any = exc
    while cause is not None:
        if cause.args and cause.args[0] in _DENIED_ON_MYSQL:
            return True
        cause = getattr(cause, 'inner_exception', None) or getattr(
            cause, 'orig', None
        )
    return False


def _quoted(conn: sa.Connection, table: sa.Table) -> str:
    return str(conn.dialect.identifier_preparer.format_table(table))


def _account(conn: sa.Connection, user: str) -> str:
    """Return a user as in ``GRANT``: MariaDB adds the client's address."""
    name, at, place = user.rpartition('@')
    if at and conn.dialect.name != _POSTGRESQL:
        return f"'{name}'@'{place}'"
    return conn.dialect.identifier_preparer.quote(user)
