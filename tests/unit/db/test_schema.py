from __future__ import annotations

import subprocess
import sys

import sqlalchemy as sa
from alembic import autogenerate
from alembic.runtime import migration

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import schema, tables
from tests.contract import newer_schema
from tests.unit.db import sqlite

_STEADY = """
import sys
from ironic_ownership.db import connection, records, heartbeats, schema
database = connection.open_database(sys.argv[1])
schema.ensure(database)
records.SqlRecords(database).services()
print([n for n in ('alembic', 'mako') if n in sys.modules])
"""


class TestSchema(sqlite.SqliteCase):
    def test_head_is_the_newest_migration(self) -> None:
        self.assertEqual(schema.HEAD, schema.revisions()[-1])

    def test_migrations_make_exactly_the_tables_in_use(self) -> None:
        database = self.open_with_schema()

        def differences(conn: sa.Connection) -> list[object]:
            context = migration.MigrationContext.configure(
                conn, opts={'compare_type': True}
            )
            return autogenerate.compare_metadata(context, tables.metadata)

        self.assertEqual([], database.read(differences))

    def test_new_file_gets_the_schema(self) -> None:
        database = self.open()
        self.assertIsNone(schema.version(database))
        schema.ensure(database)
        self.assertEqual(schema.HEAD, schema.version(database))

    def test_schema_of_the_next_release_can_be_used(self) -> None:
        database = self.open_with_schema()
        newer_schema.mark(database, 'f00', schema.HEAD)
        schema.ensure(database)
        self.assertEqual('f00', schema.version(database))

    def test_schema_that_lacks_what_this_release_needs_is_refused(
        self,
    ) -> None:
        database = self.open_with_schema()
        newer_schema.mark(database, 'f00', 'f00')
        with self.assertRaises(exceptions.SchemaError):
            schema.ensure(database)

    def test_schema_of_another_program_is_refused(self) -> None:
        database = self.open_with_schema()
        newer_schema.mark(database, 'f00', schema.HEAD)
        sqlite.run_sql(database, 'DROP TABLE schema_compatibility')
        with self.assertRaises(exceptions.SchemaError):
            schema.ensure(database)

    def test_schema_from_before_the_first_release_names_that(self) -> None:
        database = self.open_with_schema()
        newer_schema.mark(database, '0007', '0007')
        for work in (schema.ensure, schema.upgrade):
            with self.assertRaises(exceptions.SchemaError) as caught:
                work(database)
            self.assertIn("'0007' from before", str(caught.exception))
            self.assertIn('of release 1.0.0', caught.exception.hint)

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

    def test_steady_start_does_not_import_alembic(self) -> None:
        self.open_with_schema()
        found = subprocess.run(
            [sys.executable, '-c', _STEADY, self.url],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual('[]', found.stdout.strip())
