from __future__ import annotations

import subprocess
import sys
from typing import Any

import sqlalchemy as sa
from alembic import autogenerate
from alembic.runtime import migration

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import schema, tables
from tests.contract import newer_schema
from tests.unit.db import sqlite

_STEADY = """
import sys
from ironic_ownership.db import connection, records, heartbeats
database = connection.open_database(sys.argv[1])
assert database.is_current
records.SqlRecords(database).services()
unused = 'alembic', 'mako', 'ironic_ownership.db.schema'
print([n for n in unused if n in sys.modules])
"""


def differences(conn: sa.Connection) -> list[object]:
    """Return in what a schema differs from the tables in use."""
    context = migration.MigrationContext.configure(
        conn, opts={'compare_type': True}
    )
    return autogenerate.compare_metadata(context, tables.metadata)


_CUT = 'the process ends here'


class PowerCutError(Exception):
    """Stands for the end of the process."""


class TestSchema(sqlite.SqliteCase):
    def test_head_is_the_newest_migration(self) -> None:
        self.assertEqual(tables.HEAD, schema.revisions()[-1])

    def test_migrations_make_exactly_the_tables_in_use(self) -> None:
        database = self.open_with_schema()
        self.assertEqual([], database.read(differences))

    def test_new_file_gets_the_schema(self) -> None:
        database = self.open()
        self.assertIsNone(database.revision())
        schema.ensure(database)
        self.assertEqual(tables.HEAD, database.revision())
        # That of the next release can be used.
        newer_schema.mark(database, 'f00', tables.HEAD)
        schema.ensure(database)
        self.assertEqual('f00', database.revision())
        # It lacks what this release needs, or is one of another program.
        newer_schema.mark(database, 'f00', 'f00')
        self.assertRaises(exceptions.SchemaError, schema.ensure, database)
        newer_schema.mark(database, 'f00', tables.HEAD)
        sqlite.run_sql(database, 'DROP TABLE schema_compatibility')
        self.assertRaises(exceptions.SchemaError, schema.ensure, database)

    def test_schema_from_before_the_first_release_names_that(self) -> None:
        database = self.open_with_schema()
        newer_schema.mark(database, '0007', '0007')
        for work in (schema.ensure, schema.upgrade):
            with self.assertRaises(exceptions.SchemaError) as caught:
                work(database)
            self.assertIn("'0007' from before", str(caught.exception))
            self.assertIn('of release 1.0.0', caught.exception.hint)
        # An operator has brought it to the newest one by other means.
        self.assertEqual(tables.HEAD, schema.stamp(database))

    def test_failed_migration_leaves_no_table(self) -> None:
        database = self.open()

        def work(conn: sa.Connection) -> None:
            tables.metadata.create_all(conn)
            raise sa.exc.OperationalError('', {}, Exception('power cut'))

        with self.assertRaises(Exception):  # noqa: B017 - only the rest counts
            database.write(work)
        self.assertEqual(
            [], database.read(lambda c: sa.inspect(c).get_table_names())
        )

    def test_killed_upgrade_of_mariadb_is_finished_by_the_next_one(
        self,
    ) -> None:
        """MariaDB commits with each statement that changes a table."""
        database = self.open(sqlite_synchronous=False)

        def commit(
            conn: sa.Connection, cursor: Any, statement: str, *_: object
        ) -> None:
            if statement.split(maxsplit=1)[0] in ('CREATE', 'ALTER', 'DROP'):
                cursor.connection.execute('COMMIT')
                killed.append(statement)
                raise PowerCutError(_CUT)

        engine = database._writer
        sa.event.listen(engine, 'after_cursor_execute', commit)
        killed: list[str] = []
        while len(killed) < 200:
            try:
                schema.upgrade(database)
                break
            except exceptions.RecordsError as exc:
                self.assertIn(_CUT, str(exc))
        self.assertGreater(len(killed), 40)
        self.assertEqual(tables.HEAD, database.revision())
        self.assertEqual([], database.read(differences))
        table = tables.schema_compatibility
        rows = database.read(lambda c: c.scalars(sa.select(table)).all())
        self.assertEqual(1, len(rows))

    def test_tables_of_another_program_are_refused(self) -> None:
        database = self.open()
        for name, columns in (
            ('services', 'x INTEGER'),
            ('alembic_version', 'version_num TEXT'),
            ('flavors', 'x INTEGER'),
        ):
            sqlite.run_sql(database, f'CREATE TABLE {name} ({columns})')
            if name == 'alembic_version':
                continue
            with self.assertRaises(exceptions.SchemaError):
                schema.upgrade(database)

    def test_steady_start_does_not_import_alembic(self) -> None:
        self.open_with_schema()
        found = subprocess.run(
            [sys.executable, '-c', _STEADY, self.url],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual('[]', found.stdout.strip())
