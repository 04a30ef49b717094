"""Records on a server that accepts everything and answers nothing: a case.

The kernel of a frozen server acknowledges what is sent to it, so no time-out
of TCP ends such a call, and no time-out of the server either.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import socket
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import connection, records, schema, tables
from lab import proxy
from tests.functional.support import databases

TIMEOUT = 4.0
"""Seconds for which a call waits without an answer; a busy server answers
earlier."""

PATIENCE = 60.0
"""Seconds after which a call is unbounded."""


def _open(url: str) -> connection.Database:
    return connection.open_database(
        url, connect_timeout=TIMEOUT, statement_timeout=TIMEOUT
    )


def _create_schema(url: str) -> None:
    # It takes as long as the disk needs.
    patient = connection.open_database(url)
    try:
        schema.upgrade(patient)
    finally:
        patient.close()


class FrozenServer:
    """Laws that hold on every server, of one ``kind``."""

    kind: databases.PostgreSQL | databases.MariaDB | databases.HAProxy

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.url = self.kind.fresh()
        _create_schema(self.url)
        self.database = _open(self.url)
        self.addCleanup(self.database.close)
        self.records = records.SqlRecords(self.database)
        self.threads = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.threads.shutdown, wait=False)

    def assert_bounded(
        self, call: Callable[[], object], where: str
    ) -> exceptions.RecordsUnavailableError:
        """Check that a call ends in time, with an error that names it."""
        error = self.threads.submit(call).exception(timeout=PATIENCE)
        self.assertIsInstance(error, exceptions.RecordsUnavailableError)
        self.assertIn(where, str(error))
        return error

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        server = self.kind.server
        server.freeze()
        try:
            yield
        finally:
            server.thaw()

    def register(self) -> int:
        return self.records.register('host1', model.MemberSettings())

    def test_call_on_a_pooled_connection_ends_and_the_pool_recovers(
        self,
    ) -> None:
        where = f':{self.kind.server.port}/'
        epoch = self.register()
        with self.frozen():
            for call in (self.records.services, self.register):
                self.assert_bounded(call, where)
        self.assertLess(epoch, self.register())

    def test_many_pooled_connections_are_all_replaced(self) -> None:
        together = concurrent.futures.ThreadPoolExecutor(4)
        self.addCleanup(together.shutdown, wait=False)

        def hold(conn: sa.Connection) -> None:
            conn.execute(sa.select(tables.services)).all()
            with contextlib.suppress(IndexError):
                nested.pop()
                self.database.read(hold)

        nested = [1, 2, 3]
        self.database.read(hold)
        with self.frozen():
            self.assert_bounded(self.records.services, 'database')
        for _ in range(6):
            self.assertEqual([], self.records.services())

    def test_statement_within_a_transaction_ends(self) -> None:
        epoch = self.register()

        def work(conn: sa.Connection) -> None:
            conn.execute(sa.update(tables.services).values(epoch=7))
            self.enterContext(self.frozen())
            conn.execute(sa.update(tables.services).values(epoch=8))

        try:
            self.assert_bounded(lambda: self.database.write(work), 'database')
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
            error = self.assert_bounded(
                lambda: self.database.write(work), 'database'
            )
        finally:
            self.kind.server.thaw()
        self.assertIn('may have been committed', str(error))
        self.assertEqual([1], attempts)

    def test_silent_listener_is_bounded_while_connecting(self) -> None:
        with socket.create_server(('127.0.0.1', 0)) as silent:
            port = silent.getsockname()[1]
            database = _open(
                sa.make_url(self.url)
                .set(port=port)
                .render_as_string(hide_password=False)
            )
            self.addCleanup(database.close)
            other = records.SqlRecords(database)
            self.assert_bounded(other.services, f':{port}/')

    def test_silent_network_is_bounded_and_recovers(self) -> None:
        with proxy.Proxy(self.kind.server.port) as network:
            database = _open(
                sa.make_url(self.url)
                .set(port=network.port)
                .render_as_string(hide_password=False)
            )
            self.addCleanup(database.close)
            other = records.SqlRecords(database)
            other.services()
            network.silence()
            self.assert_bounded(other.services, f':{network.port}/')
            network.forward()
            self.assertEqual([], other.services())
