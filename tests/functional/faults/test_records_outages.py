"""A database that stops, freezes or comes back under the records' feet.

The kernel of a frozen server acknowledges what is sent to it, so no time-out
of TCP ends such a call, and no time-out of the server either.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import socket
import unittest
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import connection, heartbeats, records, schema, tables
from tests.functional.support import databases

CLAIM = Claim(
    model.Node('00000000-0000-0000-0000-000000000001'),
    reasons.Reason.EXCLUSIVE,
)
TIMEOUT = 4.0
"""Seconds for which a call waits without an answer; a busy server answers
earlier."""

PATIENCE = 60.0
"""Seconds after which a call is unbounded."""


class Outages:
    """Laws that hold on every server, of one ``kind``."""

    kind: databases.PostgreSQL | databases.MariaDB | databases.HAProxy

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.url = self.kind.fresh()
        # To create the schema takes as long as the disk needs.
        self.patient = self.open(self.url)
        schema.upgrade(self.patient)
        self.database = self.open(
            self.url, connect_timeout=TIMEOUT, statement_timeout=TIMEOUT
        )
        self.records = records.SqlRecords(self.database)
        self.threads = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.threads.shutdown, wait=False)

    def open(self, url: str, **options: float) -> connection.Database:
        opened = connection.open_database(url, **options)
        self.addCleanup(opened.close)
        return opened

    def register(self) -> int:
        return self.records.register('host1', model.MemberSettings())

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        self.kind.server.freeze()
        try:
            yield
        finally:
            self.kind.server.thaw()

    def assert_bounded(
        self, call: Callable[[], object], where: str = 'database'
    ) -> str:
        """Check that a call ends in time, with an error that names it."""
        error = self.threads.submit(call).exception(timeout=PATIENCE)
        self.assertIsInstance(error, exceptions.RecordsUnavailableError)
        self.assertIn(where, str(error))
        return str(error)

    def test_stopped_server_is_unavailable_then_all_goes_on(self) -> None:
        self.records = records.SqlRecords(self.patient)
        member = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=120, call_timeout=10
        )
        self.addCleanup(member.close)
        epoch = self.register()
        member.join('host1', 'one', model.MemberSettings())
        self.kind.server.stop()
        try:
            for call in (
                self.records.compute_nodes,
                lambda: self.records.apply('host1', epoch, [CLAIM]),
                self.register,
            ):
                with self.assertRaises(
                    exceptions.RecordsUnavailableError
                ) as caught:
                    call()
                self.assertNotEqual('', caught.exception.hint)
                self.assertNotIn('\n', str(caught.exception))
            for call in (member.beat, member.view):
                with self.assertRaises(exceptions.BackendUnavailableError):
                    call()
        finally:
            self.kind.server.start()
        member.beat()
        self.assertEqual({'host1'}, member.view().hosts)
        # Nor is a restart between two calls noticed.
        self.kind.server.restart()
        member.beat()
        outcome = self.records.apply('host1', epoch, [CLAIM])
        self.assertEqual((CLAIM,), outcome.applied)

    def test_lock_that_is_never_freed_is_unavailable_in_the_end(self) -> None:
        self.register()

        def work(conn: sa.Connection) -> None:
            conn.execute(sa.update(tables.services).values(epoch=7))
            self.assert_bounded(self.register)

        # The second time it is a connection that was given back before.
        for _ in range(2):
            self.records.services()
            self.patient.write(work)
        self.assertLess(7, self.register())

    def test_calls_on_pooled_connections_end_and_all_are_replaced(
        self,
    ) -> None:
        epoch = self.register()
        nested = [1, 2, 3]

        def hold(conn: sa.Connection) -> None:
            conn.execute(sa.select(tables.services)).all()
            if nested:
                nested.pop()
                self.database.read(hold)

        self.database.read(hold)
        with self.frozen():
            for call in (self.records.services, self.register):
                self.assert_bounded(call, f':{self.kind.server.port}/')
        for _ in range(6):
            self.assertEqual(1, len(self.records.services()))
        self.assertLess(epoch, self.register())

    def test_statement_within_a_transaction_ends(self) -> None:
        epoch = self.register()

        def work(conn: sa.Connection) -> None:
            conn.execute(sa.update(tables.services).values(epoch=7))
            self.enterContext(self.frozen())
            conn.execute(sa.update(tables.services).values(epoch=8))

        try:
            self.assert_bounded(lambda: self.database.write(work))
        finally:
            self.kind.server.thaw()
        self.assertEqual([epoch], [s.epoch for s in self.records.services()])

    def test_commit_without_an_answer_is_of_unknown_outcome(self) -> None:
        self.register()
        attempts = []

        def work(conn: sa.Connection) -> None:
            attempts.append(1)
            conn.execute(sa.update(tables.services).values(epoch=7))
            self.enterContext(self.frozen())

        try:
            error = self.assert_bounded(lambda: self.database.write(work))
        finally:
            self.kind.server.thaw()
        self.assertIn('may have been committed', error)
        self.assertEqual([1], attempts)

    def test_silent_listener_is_bounded_while_connecting(self) -> None:
        with socket.create_server(('127.0.0.1', 0)) as silent:
            port = silent.getsockname()[1]
            database = self.open(
                sa.make_url(self.url)
                .set(port=port)
                .render_as_string(hide_password=False),
                connect_timeout=TIMEOUT,
            )
            self.assert_bounded(
                records.SqlRecords(database).services, f':{port}/'
            )


class TestOutagesOfPostgreSQL(Outages, unittest.TestCase):
    kind = databases.POSTGRESQL


class TestOutagesOfMariaDB(Outages, unittest.TestCase):
    kind = databases.MARIADB
