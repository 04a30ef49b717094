"""Create, upgrade and check the schema of a database.

An SQLite file is created by a service and upgraded by the first process that
opens it, a server database only by its operator. Migrations only add: what the
release before needs goes one release later. So a release also runs on the
schema of the next one, which names the oldest revision that still works.
This is imported only where a database has another schema: every start of a
command reads the revision. So is alembic, only when there is work.

One process at a time changes it. MariaDB's own locks belong to one server: on
a Galera cluster the lock is a row, since of two insertions, through any nodes,
certification refuses one.
"""

from __future__ import annotations

import contextlib
import logging
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import sqlalchemy as sa
from oslo_db import exception as db_exc

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, dialects, servers, tables
from ironic_ownership.db.dialects import MYSQL, POSTGRESQL

if TYPE_CHECKING:
    import alembic.config


# Not oslo.log, which no command needs to import.
LOG = logging.getLogger(__name__)

_MIGRATIONS = pathlib.Path(__file__).parent / 'migrations'


def ensure(database: connection.Database, *, create: bool = True) -> None:
    """Make sure that this release can use the schema.

    :param create: whether an SQLite file is created, as services do: for a
        command its path is a mistake.
    :raises SchemaError: if it cannot, and the schema cannot be upgraded here.
    """
    found = database.revision()
    if found == tables.HEAD:
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
        found = connection.revision_of(conn)
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
    database: connection.Database, revision: str, work: connection.Work[None]
) -> str | None:
    def locked(conn: sa.Connection) -> None:
        with _locked(conn):
            work(conn)
            # Who gets the lock next must see the revision that was reached.
            with connection.committing(database.where):
                conn.commit()

    if revision != 'head' and revision not in revisions():
        raise exceptions.SchemaError(
            f'this release does not know the revision {revision!r}',
            hint=f'It knows: {", ".join(revisions())}, head',
        )
    database.write(locked)
    return database.revision()


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
        hint='Upgrade ironic-ownership (this one knows up to '
        f'{tables.HEAD}), or correct [database] connection',
    )


def _check_empty(database: connection.Database, conn: sa.Connection) -> None:
    foreign = set(sa.inspect(conn).get_table_names())
    if tables.VERSIONS.name in foreign:
        # MariaDB keeps what an upgrade made before it was killed.
        foreign -= tables.metadata.tables.keys()
    foreign -= {tables.VERSIONS.name, TABLE.name}
    if foreign:
        raise exceptions.SchemaError(
            f'database {database.where} has tables of another program, such '
            f'as {min(foreign)!r}',
            hint='Give ironic-ownership a database of its own',
        )


TABLE = sa.Table(
    'schema_lock',
    sa.MetaData(),
    sa.Column('name', sa.String(64), primary_key=True),
    sa.Column('taken_at', sa.Double, nullable=False),
    mysql_engine='InnoDB',
)
"""Exists on Galera clusters only."""

# MariaDB's locks have names that the whole server knows; PostgreSQL's have
# numbers, and each database its own.
_NAME = sa.func.md5(
    sa.func.concat('ironic_ownership_schema.', sa.func.database())
)
_NUMBER = 0x69726F6E
_TIMEOUT = 600.0
"""Seconds to wait, and after which the row of a killed process is void."""
_PAUSE = 0.1


@contextlib.contextmanager
def _locked(conn: sa.Connection) -> Iterator[None]:
    """Hold the lock while the block runs.

    :raises RecordsUnavailableError: if another process does not release it.
    """
    # SQLite needs no lock: it has one writer at a time.
    if conn.dialect.name == POSTGRESQL:
        lock = sa.func.pg_try_advisory_xact_lock(_NUMBER)
        _poll(lambda: conn.scalar(sa.select(lock)))
        # It ends with the transaction.
        yield
    elif conn.dialect.name not in MYSQL:
        yield
    elif _is_galera(conn):
        with _row(conn.engine):
            yield
    else:
        # Changing a table ends the transaction there, so this lock belongs
        # to the connection.
        _poll(lambda: conn.scalar(sa.select(sa.func.get_lock(_NAME, 0))))
        try:
            yield
        finally:
            conn.execute(sa.select(sa.func.release_lock(_NAME)))


@contextlib.contextmanager
def _row(engine: sa.Engine) -> Iterator[None]:
    # A transaction of its own for each statement: the lock is what is
    # committed.
    with engine.begin() as conn:
        conn.execute(sa.schema.CreateTable(TABLE, if_not_exists=True))
    insertion = sa.insert(TABLE).values(
        name='schema', taken_at=dialects.EpochSeconds()
    )
    void = TABLE.c.taken_at < dialects.EpochSeconds() - _TIMEOUT

    def insert() -> bool:
        try:
            with engine.begin() as conn:
                conn.execute(sa.delete(TABLE).where(void))
                conn.execute(insertion)
        except (db_exc.DBDuplicateEntry, db_exc.DBDeadlock):
            return False
        return True

    _poll(insert)
    try:
        yield
    finally:
        with engine.begin() as conn:
            conn.execute(sa.delete(TABLE))


def _is_galera(conn: sa.Connection) -> bool:
    with contextlib.closing(conn.connection.cursor()) as cursor:
        return servers.is_galera(cursor)


def _poll(attempt: Callable[[], object]) -> None:
    # A wait inside the server would end with the time-out of the statement,
    # and an upgrade may take longer.
    deadline = time.monotonic() + _TIMEOUT
    while not attempt():
        if time.monotonic() > deadline:
            raise exceptions.RecordsUnavailableError(
                'another process is changing the schema',
                hint='Wait until it is done, and try again',
            )
        time.sleep(_PAUSE)
