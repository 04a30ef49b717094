"""Permissions on the tables of a cell, tried without changing a row."""

from __future__ import annotations

from collections.abc import Sequence
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
    preparer = conn.dialect.identifier_preparer
    is_postgresql = conn.dialect.name == _POSTGRESQL
    found = []
    may_use = True
    if is_postgresql:
        usage = sa.func.has_schema_privilege(tables.schema, 'USAGE')
        may_use = bool(conn.scalar(sa.select(usage)))
    if not may_use:
        found.append(
            MissingGrant(
                f'USAGE on schema {tables.schema}',
                f'GRANT USAGE ON SCHEMA {preparer.quote(tables.schema)} '
                f'TO {account}',
            )
        )
    lacks = _lacks if is_postgresql else _is_denied
    for table in (tables.services, tables.compute_nodes, tables.instances):
        name = preparer.format_table(table)
        for written in (None, *WRITTEN[table.name]):
            # Without the schema the server tells nothing about its tables.
            if may_use and not lacks(conn, table, written):
                continue
            privilege = f'UPDATE ({written})' if written else 'SELECT'
            found.append(
                MissingGrant(
                    f'{privilege} on {table.fullname}',
                    f'GRANT {privilege} ON {name} TO {account}',
                )
            )
    return found


def _lacks(conn: sa.Connection, table: sa.Table, written: str | None) -> bool:
    """Ask PostgreSQL: oslo.db would log each attempt that fails there."""
    name = conn.dialect.identifier_preparer.format_table(table)
    function = (
        sa.func.has_column_privilege(name, written, 'UPDATE')
        if written
        else sa.func.has_table_privilege(name, 'SELECT')
    )
    return not conn.scalar(sa.select(function))


def _is_denied(
    conn: sa.Connection, table: sa.Table, written: str | None
) -> bool:
    """Try a statement that needs the permission, and changes no row."""
    attempt: sa.Executable = sa.select(table).where(sa.false())
    if written:
        column = table.c[written]
        value = sa.null() if column.nullable else column
        attempt = sa.update(table).where(sa.false()).values({written: value})
    try:
        with conn.begin_nested():
            conn.execute(attempt)
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


def _account(conn: sa.Connection, user: str) -> str:
    """Return a user as in ``GRANT``: MariaDB adds the client's address."""
    name, at, place = user.rpartition('@')
    if at and conn.dialect.name != _POSTGRESQL:
        return f"'{name}'@'{place}'"
    return conn.dialect.identifier_preparer.quote(user)
