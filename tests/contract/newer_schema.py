"""Schemas of releases that do not exist yet."""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.db import connection, tables


def mark(
    database: connection.Database, revision: str, oldest: str | None = None
) -> None:
    """Give a database the schema of a newer release.

    :param revision: of the newer release.
    :param oldest: revision whose release can still use it; ``revision``
        by default, so that no older one can.
    """

    def write(conn: sa.Connection) -> None:
        conn.execute(
            sa.text('UPDATE alembic_version SET version_num = :revision'),
            {'revision': revision},
        )
        conn.execute(
            sa.update(tables.schema_compatibility).values(
                oldest=oldest or revision
            )
        )

    database.write(write)
