"""Transactions that begin before another one has ended, on every database.

The later one waits, and sees what the first one has changed.
"""

from __future__ import annotations

import concurrent.futures
import functools
import unittest
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Claim, Release
from ironic_ownership.db import (
    change_transaction,
    connection,
    registration,
    schema,
    service_admin,
    tables,
)
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.db.reservation_transaction import close
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.db.transaction import Transaction
from tests.contract.suites import records as suite
from tests.contract.suites import reservations
from tests.functional.support import databases

TIMEOUT = 180.0
Future = concurrent.futures.Future


class Overlaps:
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
        self.records = SqlRecords(other)
        self.epochs = {
            host: self.records.register(host, suite.SETTINGS)
            for host in ('host1', 'host2', 'host3')
        }

    def overlap(
        self, first: Callable[[Transaction], object], second: Callable
    ) -> Future:
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def work(conn: sa.Connection) -> Future:
                first(Transaction(conn))
                writing = threads.submit(second)
                # Enough for a writer that does not wait to be through.
                concurrent.futures.wait([writing], timeout=0.5)
                return writing

            return self.database.write(work)

    def claims(self, host: str, claim: Claim) -> Callable[[Transaction], Any]:
        return lambda tx: change_transaction.apply(
            tx, host, self.epochs[host], [claim]
        )

    def claim(self, host: str, claim: Claim) -> Callable[[], Any]:
        return lambda: self.records.apply(host, self.epochs[host], [claim])

    def test_service_that_loses_its_right_meanwhile_writes_nothing(
        self,
    ) -> None:
        taken = suite.claim(
            1, seen_host='host3', seen_epoch=self.epochs['host3']
        )
        self.claim('host3', suite.claim(1))()
        for host, ends in (
            ('host3', self.claims('host2', taken)),
            (
                'host2',
                lambda tx: service_admin.change(
                    tx, 'host2', actor='x', forced_down=True
                ),
            ),
            ('host1', lambda tx: service_admin.delete(tx, 'host1', actor='x')),
        ):
            with self.subTest(host):
                late = self.overlap(ends, self.claim(host, suite.claim(2)))
                with self.assertRaises(exceptions.FencedError):
                    late.result(TIMEOUT)
        self.assertEqual(
            [(suite.uuid(1), 'host2')],
            [(n.uuid, n.host) for n in self.records.compute_nodes()],
        )

    def test_claim_is_refused_for_what_changed_meanwhile(self) -> None:
        free = Release(suite.uuid(1))
        self.records.apply('host1', self.epochs['host1'], [suite.claim(1)])
        self.records.apply('host1', self.epochs['host1'], [free])
        for number in (2, 3):
            self.claim(f'host{number}', suite.claim(number))()
        lost = sa.delete(tables.services).where(
            tables.services.c.host == 'host3'
        )
        self.database.write(lambda conn: conn.execute(lost))
        two = self.epochs['host2']
        for number, first, seen in (
            (1, self.claims('host2', suite.claim(1)), {}),
            # It is not on record yet.
            (4, self.claims('host2', suite.claim(4)), {}),
            # It counts as away, not as dead.
            (
                2,
                lambda tx: registration.retire(tx, 'host2', two, grace=600),
                {'seen_host': 'host2', 'seen_epoch': two},
            ),
            (
                3,
                lambda tx: registration.register(tx, 'host3', suite.SETTINGS),
                {'seen_host': 'host3'},
            ),
        ):
            with self.subTest(number):
                claim = suite.claim(number, **seen)
                late = self.overlap(first, self.claim('host1', claim))
                self.assertEqual((claim,), late.result(TIMEOUT).refused)
        owners = {n.uuid: n.host for n in self.records.compute_nodes()}
        self.assertEqual(
            ['host2', 'host2', 'host3', 'host2'],
            [owners[suite.uuid(number)] for number in (1, 2, 3, 4)],
        )

    def test_service_that_claims_meanwhile_is_not_deleted(self) -> None:
        deleting = self.overlap(
            self.claims('host1', suite.claim(1)),
            lambda: self.records.delete_service('host1', actor='x'),
        )
        with self.assertRaises(exceptions.ServiceInUseError):
            deleting.result(TIMEOUT)
        (node,) = self.records.compute_nodes()
        self.assertEqual('host1', node.host)
        self.assertIsNotNone(self.records.service('host1'))

    def test_registration_waits_for_a_faster_process(self) -> None:
        for host in ('host1', 'unknown'):
            late = self.overlap(
                lambda tx, host=host: registration.register(
                    tx, host, suite.SETTINGS, incarnation='faster'
                ),
                lambda host=host: self.records.register(
                    host,
                    suite.SETTINGS,
                    incarnation='late',
                    alive=['faster', 'late'],
                ),
            )
            with (
                self.subTest(host),
                self.assertRaises(exceptions.StandbyError) as caught,
            ):
                late.result(TIMEOUT)
            self.assertEqual('faster', caught.exception.active)

    def test_reservation_that_ends_meanwhile_is_not_kept(self) -> None:
        stored = SqlReservations(self.records._database)
        for number, keep in enumerate((stored.confirm, stored.keep)):
            made, words = stored.begin(reservations.wanted(number)).id, []
            node, epoch = suite.node(number), self.epochs['host1']
            stored.activate(made, node, epoch=epoch)
            if keep == stored.keep:
                words = [stored.begin_deletion(made, 'x').detail]
            self.overlap(
                lambda tx, made=made: close(tx, made, 'gone'),
                functools.partial(keep, made, *words),
            ).exception(TIMEOUT)
            found = stored.find(made)
            self.assertEqual(
                ('closed', False), (found.state.value, found.confirmed)
            )

    def test_two_operators_leave_one_event(self) -> None:
        second = self.overlap(
            lambda tx: service_admin.change(
                tx, 'host1', actor='x', forced_down=True
            ),
            lambda: self.records.set_service(
                'host1', actor='y', forced_down=True
            ),
        )
        self.assertEqual(
            self.epochs['host1'] + 1, second.result(TIMEOUT).epoch
        )
        event, *registered = self.records.events()
        self.assertEqual('x', event.actor)
        self.assertEqual(3, len(registered))


class TestOnSqlite(Overlaps, unittest.TestCase):
    kind = databases.SQLITE


class TestOnPostgreSQL(Overlaps, unittest.TestCase):
    kind = databases.POSTGRESQL


class TestOnMariaDB(Overlaps, unittest.TestCase):
    kind = databases.MARIADB
