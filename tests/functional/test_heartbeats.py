"""Heartbeats have times by the clock of the database."""

from __future__ import annotations

import concurrent.futures
import time
import unittest
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.db import (
    connection,
    dialects,
    heartbeats,
    schema,
    tables,
)
from tests.functional.support import databases

_NOW = sa.select(dialects.EpochSeconds())


class _Case(unittest.TestCase):
    kind: databases.DatabaseServer | databases.Sqlite

    def setUp(self) -> None:
        super().setUp()
        self.url = self.kind.fresh()
        self.database = connection.open_database(self.url)
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)

    def join(self, host: str, incarnation: str) -> heartbeats.DatabaseBackend:
        made = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=30, call_timeout=60
        )
        self.addCleanup(made.close)
        made.join(host, incarnation, model.MemberSettings())
        return made

    def now(self) -> float:
        return self.database.read(lambda conn: conn.scalars(_NOW).one())

    def update(self, **values: Any) -> None:
        """Write columns of all members."""
        statement = sa.update(tables.members).values(values)
        self.database.write(lambda conn: conn.execute(statement))


class TestHeartbeatsOnPostgreSQL(_Case):
    """Laws that hold on every database."""

    kind = databases.POSTGRESQL

    def test_clock_is_in_seconds_since_1970_with_fractions(self) -> None:
        # Server and test share one machine, in any time zone.
        before = time.time() - 0.01
        now = self.now()
        self.assertIsInstance(now, float)
        self.assertLess(before, now)
        self.assertLess(now, time.time() + 0.01)
        samples = {self.now() % 1 for _ in range(5)}
        self.assertNotEqual({0.0}, samples)

    def test_clock_moves_within_a_transaction(self) -> None:
        def work(conn: sa.Connection) -> float:
            first = conn.scalars(_NOW).one()
            time.sleep(0.05)
            return conn.scalars(_NOW).one() - first

        self.assertGreater(self.database.read(work), 0.02)

    def test_join_spares_a_process_that_is_just_coming_back(self) -> None:
        self.join('host1', 'back')
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def come_back(conn: sa.Connection) -> concurrent.futures.Future:
                conn.execute(
                    sa.update(tables.members).values(
                        expires_at=dialects.EpochSeconds() + 60
                    )
                )
                joining = threads.submit(self.join, 'host1', 'late')
                # Enough for one that does not wait to be through.
                concurrent.futures.wait([joining], timeout=0.5)
                return joining

            self.update(expires_at=0)
            late = self.database.write(come_back).result(timeout=60)
        self.assertEqual({'back', 'late'}, late.view().incarnations('host1'))

    def test_expiry_lies_one_ttl_after_the_beat(self) -> None:
        member = self.join('host1', 'one')
        before = self.now()
        member.beat()
        after = self.now()
        expires = self.database.read(
            lambda conn: conn.scalars(
                sa.select(tables.members.c.expires_at)
            ).one()
        )
        self.assertLessEqual(before + 30 - 0.01, expires)
        self.assertLessEqual(expires, after + 30 + 0.01)


class TestHeartbeatsOnMariaDB(TestHeartbeatsOnPostgreSQL):
    kind = databases.MARIADB


class TestHeartbeatsOnSqlite(TestHeartbeatsOnPostgreSQL):
    kind = databases.SQLITE


class TestRows(_Case):
    """One database is enough."""

    kind = databases.SQLITE

    def test_rows_of_a_host_do_not_pile_up_with_its_starts(self) -> None:
        for number in range(3):
            self.join('host1', f'number{number}')
            self.update(expires_at=0)
        self.join('host2', 'two')
        self.join('host1', 'last')
        rows = self.database.read(
            lambda conn: conn.scalars(
                sa.select(tables.members.c.incarnation)
            ).all()
        )
        self.assertEqual(['last', 'two'], sorted(rows))

    def test_unreadable_settings_do_not_hide_the_members(self) -> None:
        observer = self.join('host1', 'one')
        for text in ('{', '[]', '{"contract_version": 9}', 'null'):
            self.update(settings=text)
            view = observer.view()
            self.assertEqual({'host1'}, view.hosts)
            self.assertEqual(
                model.MemberSettings((), 0), view.get('host1').settings
            )
