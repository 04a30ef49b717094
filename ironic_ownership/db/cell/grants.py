"""Permissions on the tables of a cell, tried without changing a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from ironic_ownership.contracts.cell import MissingGrant
from ironic_ownership.db.cell.tables import WRITTEN, CellTables

_DENIED_ON_MYSQL = frozenset((1142, 1143))
_DENIED_ON_POSTGRESQL = '42501'


def missing(conn: sa.Connection, tables: CellTables) -> Sequence[MissingGrant]:
    """Return the missing permissions, in the order of the tables."""
    user = conn.scalar(sa.select(sa.literal_column('CURRENT_USER')))
    return [
        MissingGrant(
            f'{privilege} on {table.fullname}',
            f'GRANT {privilege} ON {_quoted(conn, table)} '
            f'TO {_account(conn, str(user))}',
        )
        for table, privilege, statement in _attempts(tables)
        if _is_denied(conn, statement)
    ]


def _attempts(
    tables: CellTables,
) -> Iterator[tuple[sa.Table, str, sa.Executable]]:
    for table in (tables.services, tables.compute_nodes, tables.instances):
        yield table, 'SELECT', sa.select(table).where(sa.false())
        for name in WRITTEN[table.name]:
            column = table.c[name]
            yield (
                table,
                f'UPDATE ({name})',
                sa.update(table)
                .where(sa.false())
                .values({name: sa.null() if column.nullable else column}),
            )


def _is_denied(conn: sa.Connection, statement: sa.Executable) -> bool:
    try:
        with conn.begin_nested():
            conn.execute(statement)
    except (db_exc.DBError, sa_exc.DBAPIError) as exc:
        if _says_denied(exc):
            return True
        raise
    return False


def _says_denied(exc: BaseException) -> bool:
    cause: Any = exc
    while cause is not None:
        if getattr(cause, 'pgcode', None) == _DENIED_ON_POSTGRESQL:
            return True
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
    if at and conn.dialect.name != 'postgresql':
        return f"'{name}'@'{place}'"
    return conn.dialect.identifier_preparer.quote(user)
