"""Deletions by operators keep their contract on real database servers."""

from __future__ import annotations

from ironic_ownership.testing import removals
from tests.contract import test_removals
from tests.functional import databases


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
