"""Deletions, imports and the outbox keep their contracts on servers."""

from __future__ import annotations

from tests.contract import test_node_imports, test_outbox, test_removals
from tests.contract.suites import node_imports, outbox, removals
from tests.functional.support import databases


class TestRemovalsOnPostgreSQL(
    test_removals.RemovalsOnDatabase, removals.RemovalContract
):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.for_services()


class TestRemovalsOnMariaDB(
    test_removals.RemovalsOnDatabase, removals.RemovalContract
):
    def fresh_url(self) -> str:
        return databases.MARIADB.for_services()


class TestImportsOnPostgreSQL(
    test_node_imports.ImportsOnDatabase, node_imports.NodeImportContract
):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.for_services()


class TestImportsOnMariaDB(
    test_node_imports.ImportsOnDatabase, node_imports.NodeImportContract
):
    def fresh_url(self) -> str:
        return databases.MARIADB.for_services()


class TestOutboxOnPostgreSQL(
    test_outbox.OutboxOnDatabase, outbox.OutboxContract
):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.for_services()


class TestOutboxOnMariaDB(test_outbox.OutboxOnDatabase, outbox.OutboxContract):
    def fresh_url(self) -> str:
        return databases.MARIADB.for_services()
