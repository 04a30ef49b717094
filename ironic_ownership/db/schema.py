"""Create, upgrade and check the schema of a database.

An SQLite file is created by a service and upgraded by the first process that
opens it, a server database only by its operator. Migrations only add: what the
release before needs goes one release later. So a release also runs on the
schema of the next one, which names the oldest revision that still works.
alembic is imported only when there is work: every start of a command calls
:func:`ensure`.
"""

from __future__ import annotations

import logging
import pathlib
from typing import TYPE_CHECKING

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, schema_lock, tables

if TYPE_CHECKING:
    import alembic.config

# Not oslo.log, which no command needs to import.
LOG = logging.getLogger(__name__)

HEAD = '0020'
"""The newest revision of ``migrations``; a unit test compares them."""

_VERSIONS = sa.table('alembic_version', sa.column('version_num', sa.String))
_MIGRATIONS = pathlib.Path(__file__).parent / 'migrations'


def version(database: connection.Database) -> str | None:
    """Return the revision of the schema, or ``None`` without a schema.

    A file that does not exist is not created.
    """
    return database.read(_version) if database.exists else None


def _version(conn: sa.Connection) -> str | None:
    if not sa.inspect(conn).has_table(_VERSIONS.name):
        return None
    found: str | None = conn.execute(
        sa.select(_VERSIONS.c.version_num)
    ).scalar()
    return found


def ensure(database: connection.Database, *, create: bool = True) -> None:
    """Make sure that this release can use the schema.

    :param create: whether an SQLite file is created, as services do: for a
        command its path is a mistake.
    :raises SchemaError: if it cannot, and the schema cannot be upgraded here.
    """
    found = version(database)
    if found == HEAD:
        return
    if found is None and database.is_file and not create:
        raise exceptions.SchemaError(
            f'no services are registered: there is no database '
            f'{database.where}',
            hint='Correct [database] connection; or create it: start '
            'ironic-ownership-host, or run ironic-ownership-dbsync upgrade',
        )
    if database.read(lambda conn: _is_compatible(conn, found)):
        LOG.info(
            'database %s has the schema %s of a newer release, which this '
            'one can use',
            database.where,
            found,
        )
        return
    check_known(database, found)
    if not database.is_file:
        what = 'has no schema' if found is None else 'has an old schema'
        raise exceptions.SchemaError(
            f'database {database.where} {what}',
            hint='Run ironic-ownership-dbsync upgrade',
        )
    upgrade(database)


def upgrade(
    database: connection.Database, revision: str = 'head'
) -> str | None:
    """Run the migrations up to a revision, and return the one reached.

    :raises SchemaError: if a revision is unknown, or the database holds the
        tables of another program.
    """
    import alembic.command

    def work(conn: sa.Connection) -> None:
        found = _version(conn)
        check_known(database, found)
        if found is None:
            _check_empty(database, conn)
        alembic.command.upgrade(_config(conn), revision)

    return _change(database, revision, work)


def stamp(database: connection.Database, revision: str = 'head') -> str | None:
    """Write a revision into the database without changing any table."""
    import alembic.command

    return _change(
        database,
        revision,
        lambda conn: alembic.command.stamp(
            _config(conn), revision, purge=True
        ),
    )


def _change(
    database: connection.Database,
    revision: str,
    work: connection.Work[None],
) -> str | None:
    def locked(conn: sa.Connection) -> None:
        with schema_lock.held(conn):
            work(conn)

    _check_target(revision)
    database.write(locked)
    return version(database)


def _config(conn: sa.Connection | None = None) -> alembic.config.Config:
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option(
        'script_location', str(_MIGRATIONS).replace('%', '%%')
    )
    config.attributes['connection'] = conn
    return config


def revisions() -> tuple[str, ...]:
    """Return the revisions that this release knows, oldest first."""
    import alembic.script

    scripts = alembic.script.ScriptDirectory.from_config(_config())
    return tuple(s.revision for s in scripts.walk_revisions())[::-1]


def _check_target(revision: str) -> None:
    if revision != 'head' and revision not in revisions():
        raise exceptions.SchemaError(
            f'this release does not know the revision {revision!r}',
            hint=f'It knows: {", ".join(revisions())}, head',
        )


def _is_compatible(conn: sa.Connection, found: str | None) -> bool:
    """Tell whether a newer schema has all that this release needs."""
    if found is None or found in revisions():
        return False
    table = tables.schema_compatibility
    if not sa.inspect(conn).has_table(table.name):
        return False
    return conn.scalar(sa.select(table.c.oldest)) in revisions()


def check_known(database: connection.Database, found: str | None) -> None:
    """Refuse a revision that this release does not know.

    :raises SchemaError: if it is from a newer release or another program.
    """
    if found is None or found in (known := revisions()):
        return
    if found.isdecimal() and found < known[0]:
        raise exceptions.SchemaError(
            f'database {database.where} has the schema {found!r} from before '
            'release 1.0.0',
            hint='Run ironic-ownership-dbsync upgrade of release 1.0.0 first',
        )
    raise exceptions.SchemaError(
        f'database {database.where} has the schema {found!r}, which is from a '
        'newer release or from another program',
        hint=f'Upgrade ironic-ownership (this one knows up to {HEAD}), or '
        'correct [database] connection',
    )


def _check_empty(database: connection.Database, conn: sa.Connection) -> None:
    foreign = set(sa.inspect(conn).get_table_names())
    foreign -= {_VERSIONS.name, schema_lock.TABLE.name}
    if foreign:
        raise exceptions.SchemaError(
            f'database {database.where} has tables of another program, such '
            f'as {min(foreign)!r}',
            hint='Give ironic-ownership a database of its own',
        )
