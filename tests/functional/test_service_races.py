"""An operator and a host that write at the same moment, on every database.

The second one sees the changes of the first: no node is ever left with a
service that was deleted, and no service writes after it was forced down.
"""

from __future__ import annotations

import concurrent.futures
import unittest
from collections.abc import Callable

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import (
    change_transaction,
    connection,
    records,
    schema,
    service_admin,
)
from ironic_ownership.db.transaction import Transaction
from tests.contract.suites import records as samples
from tests.functional.support import databases

Future = concurrent.futures.Future


class Races:
    """On one ``kind`` of database."""

    kind: (
        databases.Sqlite
        | databases.PostgreSQL
        | databases.MariaDB
        | databases.HAProxy
    )

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        url = self.kind.fresh()
        self.database, other = (
            connection.open_database(url) for _ in range(2)
        )
        self.addCleanup(self.database.close)
        self.addCleanup(other.close)
        schema.upgrade(self.database)
        self.records = records.SqlRecords(other)
        self.epoch = self.records.register('host1', model.MemberSettings())

    def overlap(
        self,
        first: Callable[[Transaction], object],
        second: Callable[[], object],
    ) -> Future:
        """Let the second begin before the first has ended."""
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def work(conn: sa.Connection) -> Future:
                first(Transaction(conn))
                writing = threads.submit(second)
                # Enough for a writer that does not wait to be through.
                concurrent.futures.wait([writing], timeout=0.5)
                return writing

            return self.database.write(work)

    def claim(self, tx: Transaction) -> None:
        change_transaction.apply(tx, 'host1', self.epoch, [samples.claim(1)])

    def late_claim(self) -> object:
        return self.records.apply('host1', self.epoch, [samples.claim(1)])

    def test_service_that_claims_meanwhile_is_not_deleted(self) -> None:
        deleting = self.overlap(
            self.claim,
            lambda: self.records.delete_service('host1', actor='x'),
        )
        with self.assertRaises(exceptions.ServiceInUseError):
            deleting.result(60)
        (node,) = self.records.compute_nodes()
        self.assertEqual('host1', node.host)
        self.assertEqual(1, len(self.records.services()))

    def test_service_that_is_deleted_meanwhile_claims_nothing(self) -> None:
        claiming = self.overlap(
            lambda tx: service_admin.delete(tx, 'host1', actor='x'),
            self.late_claim,
        )
        with self.assertRaises(exceptions.FencedError):
            claiming.result(60)
        self.assertEqual([], list(self.records.compute_nodes()))

    def test_service_that_is_forced_down_meanwhile_claims_nothing(
        self,
    ) -> None:
        claiming = self.overlap(
            lambda tx: service_admin.change(
                tx, 'host1', actor='x', forced_down=True
            ),
            self.late_claim,
        )
        with self.assertRaises(exceptions.FencedError):
            claiming.result(60)
        self.assertEqual([], list(self.records.compute_nodes()))

    def test_two_operators_leave_one_event(self) -> None:
        second = self.overlap(
            lambda tx: service_admin.change(
                tx, 'host1', actor='x', forced_down=True
            ),
            lambda: self.records.set_service(
                'host1', actor='y', forced_down=True
            ),
        )
        self.assertEqual(self.epoch + 1, second.result(60).epoch)
        (event, _) = self.records.events()
        self.assertEqual('x', event.actor)


class TestOnSqlite(Races, unittest.TestCase):
    kind = databases.SQLITE


class TestOnPostgreSQL(Races, unittest.TestCase):
    kind = databases.POSTGRESQL


class TestOnMariaDB(Races, unittest.TestCase):
    kind = databases.MARIADB
