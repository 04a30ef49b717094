"""Heartbeats have times by the clock of the database."""

from __future__ import annotations

import concurrent.futures
import time
import unittest

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


class _Heartbeats:
    """Laws that hold on every database; ``fresh_url`` says which."""

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.url = self.fresh_url()
        self.database = connection.open_database(self.url)
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)

    def member(self, ttl: float) -> heartbeats.DatabaseBackend:
        made = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=ttl, call_timeout=60
        )
        self.addCleanup(made.close)
        return made

    def now(self) -> float:
        return self.database.read(
            lambda conn: conn.execute(
                sa.select(dialects.EpochSeconds())
            ).scalar_one()
        )

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
            statement = sa.select(dialects.EpochSeconds())
            first = conn.execute(statement).scalar_one()
            time.sleep(0.05)
            return conn.execute(statement).scalar_one() - first

        self.assertGreater(self.database.read(work), 0.02)

    def expire_both_in(self, seconds: float) -> float:
        """Let members expire soon if they do not beat; return when."""
        columns = tables.members.c
        at = dialects.EpochSeconds() + seconds

        def work(conn: sa.Connection) -> float:
            conn.execute(sa.update(tables.members).values(expires_at=at))
            soonest = sa.select(sa.func.min(columns.expires_at))
            return conn.execute(soonest).scalar_one()

        return self.database.write(work)

    def test_silent_member_expires_and_beating_one_does_not(self) -> None:
        silent, beating, watcher = (self.member(60) for _ in range(3))
        silent.join('host1', 'one', model.MemberSettings())
        beating.join('host2', 'two', model.MemberSettings())
        expiry = self.expire_both_in(0.2)
        beating.beat()
        while 'host1' in watcher.view().hosts:
            time.sleep(0.02)
        self.assertLessEqual(expiry, self.now())
        self.assertEqual({'host2'}, watcher.view().hosts)

    def test_join_spares_a_process_that_is_just_coming_back(self) -> None:
        self.member(60).join('host1', 'back', model.MemberSettings())
        late = self.member(60)
        now = dialects.EpochSeconds()
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def expire(conn: sa.Connection) -> None:
                conn.execute(sa.update(tables.members).values(expires_at=0))

            def come_back(conn: sa.Connection) -> concurrent.futures.Future:
                conn.execute(
                    sa.update(tables.members).values(expires_at=now + 60)
                )
                joining = threads.submit(
                    late.join, 'host1', 'late', model.MemberSettings()
                )
                # Enough for one that does not wait to be through.
                concurrent.futures.wait([joining], timeout=0.5)
                return joining

            self.database.write(expire)
            joining = self.database.write(come_back)
            joining.result(timeout=60)
        self.assertEqual({'back', 'late'}, late.view().incarnations('host1'))

    def test_rows_of_a_host_do_not_pile_up_with_its_starts(self) -> None:
        for number in range(3):
            self.member(30).join(
                'host1', f'number{number}', model.MemberSettings()
            )
            self.database.write(
                lambda conn: conn.execute(
                    sa.update(tables.members).values(expires_at=0)
                )
            )
        self.member(30).join('host2', 'two', model.MemberSettings())
        self.member(30).join('host1', 'last', model.MemberSettings())
        rows = self.database.read(
            lambda conn: (
                conn.execute(sa.select(tables.members.c.incarnation))
                .scalars()
                .all()
            )
        )
        self.assertEqual(['last', 'two'], sorted(rows))

    def test_expiry_lies_one_ttl_after_the_beat(self) -> None:
        member = self.member(30)
        member.join('host1', 'one', model.MemberSettings())
        before = self.now()
        member.beat()
        after = self.now()
        expires = self.database.read(
            lambda conn: conn.execute(
                sa.select(tables.members.c.expires_at)
            ).scalar_one()
        )
        self.assertLessEqual(before + 30 - 0.01, expires)
        self.assertLessEqual(expires, after + 30 + 0.01)

    def test_unreadable_settings_do_not_hide_the_members(self) -> None:
        for host in ('host1', 'host2'):
            self.member(60).join(host, host, model.MemberSettings())
        for text in ('{', '[]', '{"contract_version": 9}', 'null'):
            self.database.write(
                lambda conn, text=text: conn.execute(
                    sa.update(tables.members)
                    .where(tables.members.c.host == 'host1')
                    .values(settings=text)
                )
            )
            view = self.member(60).view()
            self.assertEqual({'host1', 'host2'}, view.hosts)
            self.assertEqual(
                model.MemberSettings((), 0), view.get('host1').settings
            )


class TestHeartbeatsOnSqlite(_Heartbeats, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()


class TestHeartbeatsOnPostgreSQL(_Heartbeats, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestHeartbeatsOnMariaDB(_Heartbeats, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()
