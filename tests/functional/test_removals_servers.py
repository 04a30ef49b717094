"""Deletions by operators keep their contract on real database servers."""

from __future__ import annotations

from tests.contract import test_removals
from tests.contract.suites import removals
from tests.functional.support import databases


class TestRemovalsOnPostgreSQL(
    test_removals.RemovalsOnDatabase, removals.RemovalContract
):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestRemovalsOnMariaDB(
    test_removals.RemovalsOnDatabase, removals.RemovalContract
):
    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()
