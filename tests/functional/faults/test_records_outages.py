"""A database that stops, freezes or comes back under the records' feet."""

from __future__ import annotations

import concurrent.futures
import threading
import unittest

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import connection, heartbeats, records, schema, tables
from tests.functional.support import databases

NODE = model.Node('00000000-0000-0000-0000-000000000001')


class Outages:
    """Laws that hold on every server, of one ``kind``."""

    kind: databases.PostgreSQL | databases.MariaDB | databases.HAProxy

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.url = self.kind.fresh()
        self.database = connection.open_database(self.url)
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)
        self.records = records.SqlRecords(self.database)
        self.member = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=120, call_timeout=10
        )
        self.addCleanup(self.member.close)

    def test_stopped_server_is_unavailable_then_all_goes_on(self) -> None:
        server = self.kind.server
        epoch = self.records.register('host1', model.MemberSettings())
        self.member.join('host1', 'one', model.MemberSettings())
        server.stop()
        try:
            with self.assertRaises(
                exceptions.RecordsUnavailableError
            ) as caught:
                self.records.compute_nodes()
            self.assertNotEqual('', caught.exception.hint)
            self.assertNotIn('\n', str(caught.exception))
            claim = Claim(NODE, reasons.Reason.EXCLUSIVE)
            with self.assertRaises(exceptions.RecordsUnavailableError):
                self.records.apply('host1', epoch, [claim])
            with self.assertRaises(exceptions.RecordsUnavailableError):
                self.records.register('host1', model.MemberSettings())
            for call in (self.member.beat, self.member.view):
                with self.assertRaises(exceptions.BackendUnavailableError):
                    call()
        finally:
            server.start()
        self.member.beat()
        self.assertEqual({'host1'}, self.member.view().hosts)
        self.assertEqual(
            1, len(self.records.apply('host1', epoch, [claim]).applied)
        )

    def test_restart_between_two_calls_is_not_noticed(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        self.member.join('host1', 'one', model.MemberSettings())
        self.kind.server.restart()
        self.member.beat()
        claim = Claim(NODE, reasons.Reason.EXCLUSIVE)
        outcome = self.records.apply('host1', epoch, [claim])
        self.assertEqual((claim,), outcome.applied)

    def test_lock_that_is_never_freed_is_unavailable_in_the_end(self) -> None:
        self.records.register('host1', model.MemberSettings())
        impatient = connection.open_database(self.url, statement_timeout=6)
        self.addCleanup(impatient.close)
        other = records.SqlRecords(impatient)
        # The second time it is a connection that was given back before.
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            for _ in range(2):
                other.services()

                def work(conn: sa.Connection) -> BaseException | None:
                    conn.execute(sa.update(tables.services).values(epoch=7))
                    waiting = threads.submit(
                        other.register, 'host1', model.MemberSettings()
                    )
                    # The bound is for a broken time-out, not for a slow one.
                    return waiting.exception(timeout=120)

                self.assertIsInstance(
                    self.database.write(work),
                    exceptions.RecordsUnavailableError,
                )
        self.assertLess(7, other.register('host1', model.MemberSettings()))

    def test_frozen_server_does_not_hold_the_heartbeat(self) -> None:
        self.member.join('host1', 'one', model.MemberSettings())
        server = self.kind.server
        server.freeze()
        # If the calls waited for the server, they would succeed then.
        thaw = threading.Timer(60, server.thaw)
        thaw.start()
        try:
            for call in (self.member.beat, self.member.view):
                with self.assertRaises(exceptions.BackendUnavailableError):
                    call()
        finally:
            thaw.cancel()
            server.thaw()
        self.records.services()  # waits as long as the server needs
        self.member.beat()


class TestOutagesOfPostgreSQL(Outages, unittest.TestCase):
    kind = databases.POSTGRESQL


class TestOutagesOfMariaDB(Outages, unittest.TestCase):
    kind = databases.MARIADB
