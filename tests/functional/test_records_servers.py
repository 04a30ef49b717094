"""The contracts of records and membership on real database servers.

The same suites run on SQLite in ``tests/contract``.
"""

from __future__ import annotations

import unittest
from typing import ClassVar

import sqlalchemy as sa

from ironic_ownership.db import connection
from tests.contract import database, database_suites
from tests.functional.support import databases


class _OnServer(database.OnDatabase):
    kind: ClassVar[databases.DatabaseServer]
    # The many are on SQLite, where each costs a tenth.
    histories = 5

    @property
    def server(self) -> databases.Server:
        return self.kind.server

    def fresh_url(self) -> str:
        return str(getattr(self.kind, self.access)())


class _OnPostgreSQL(_OnServer):
    kind = databases.POSTGRESQL


class _OnMariaDB(_OnServer):
    kind = databases.MARIADB


globals().update(
    database_suites.classes(__name__, _OnPostgreSQL, 'OnPostgreSQL')
)
globals().update(database_suites.classes(__name__, _OnMariaDB, 'OnMariaDB'))


class TestIsolationOnPostgreSQL(unittest.TestCase):
    def test_default_of_the_database_does_not_count(self) -> None:
        url = str(databases.POSTGRESQL.fresh())
        name = sa.make_url(url).database
        first = connection.open_database(url)
        self.addCleanup(first.close)
        first.write(
            lambda conn: conn.execute(
                sa.text(
                    f'ALTER DATABASE {name} SET '
                    "default_transaction_isolation = 'serializable'"
                )
            )
        )
        second = connection.open_database(url)
        self.addCleanup(second.close)
        show = sa.text('SHOW transaction_isolation')
        self.assertEqual(
            'read committed', second.read(lambda conn: conn.scalar(show))
        )
