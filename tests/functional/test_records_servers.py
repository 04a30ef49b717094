"""The contracts of records and membership on real database servers.

The same suites run on SQLite in ``tests/contract``.
"""

from __future__ import annotations

from typing import ClassVar

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
