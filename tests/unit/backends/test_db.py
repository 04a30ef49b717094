from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.backends import db
from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.contract import newer_schema
from tests.unit.db import sqlite

SETTINGS = model.MemberSettings()
TTL, INTERVAL, HOUR = 30.0, 5.0, 3600.0
JUMPS = (-HOUR, -30.4, -5.3, 5.1, 31.2, HOUR, 20 * HOUR)


class TestDatabaseBackend(sqlite.SqliteCase):
    def build(self, call_timeout: float = 60) -> db.DatabaseBackend:
        made = db.DatabaseBackend(
            {'connection': self.url}, member_ttl=30, call_timeout=call_timeout
        )
        self.addCleanup(made.close)
        return made

    def test_building_it_does_no_io(self) -> None:
        db.DatabaseBackend(
            {'connection': 'nonsense'}, member_ttl=30, call_timeout=5
        ).close()
        self.build()
        self.assertEqual([], list(self.directory.iterdir()))

    def test_first_call_makes_the_schema_of_a_file(self) -> None:
        self.assertEqual((), self.build().view().members)

    def test_locked_database_is_unavailable(self) -> None:
        self.open_with_schema()
        member = self.build(call_timeout=6)
        member.join('host1', 'one', model.MemberSettings())

        def work(conn: sa.Connection) -> None:
            with self.assertRaises(
                exceptions.BackendUnavailableError
            ) as caught:
                member.beat()
            hint = caught.exception.hint
            self.assertNotEqual('', hint)
            self.assertEqual(1, str(caught.exception).count(hint))
            # A view only reads: it does not wait for the writer.
            self.assertEqual({'host1'}, member.view().hosts)

        self.open().write(work)
        member.beat()

    def test_wrong_url_is_no_outage(self) -> None:
        member = db.DatabaseBackend(
            {'connection': 'sqlite:////nonexistent/dir/a'},
            member_ttl=30,
            call_timeout=5,
        )
        with self.assertRaises(exceptions.MembershipError) as caught:
            member.view()
        self.assertNotIsInstance(
            caught.exception, exceptions.BackendUnavailableError
        )
        self.assertIn('/nonexistent/dir', str(caught.exception))

    def test_database_of_a_newer_release_is_refused(self) -> None:
        newer_schema.mark(self.open_with_schema(), 'f')
        with self.assertRaisesRegex(
            exceptions.MembershipError, 'newer release'
        ):
            self.build().view()

    def test_backend_works_again_after_it_was_closed(self) -> None:
        member = self.build()
        member.join('host1', 'one', model.MemberSettings())
        member.close()
        member.beat()

    def test_it_declares_the_clock_of_the_store(self) -> None:
        self.assertIn(
            backend.Capability.STORE_CLOCK,
            db.DatabaseBackend.capabilities,
        )

    def test_file_is_not_shared_by_machines_and_a_server_is(self) -> None:
        shared = backend.Capability.SHARED
        self.assertNotIn(shared, self.build().capabilities)
        server = db.DatabaseBackend(
            {'connection': 'mysql+pymysql://u:p@127.0.0.1/x'},
            member_ttl=30,
            call_timeout=5,
        )
        self.assertIn(shared, server.capabilities)

    def test_url_is_secret_and_follows_the_records(self) -> None:
        (option,) = db.DatabaseBackend.options
        self.assertTrue(option.secret)
        self.assertEqual('$database.connection', option.default)


class TestClockOfTheDatabase(sqlite.SqliteCase):
    """It jumps, and the processes measure with clocks that do not."""

    def setUp(self) -> None:
        super().setUp()
        self.open_with_schema()
        self.clock = FakeClock()
        self.ahead = 1e9
        sqlite.set_clock(self, lambda: self.clock() + self.ahead)
        self.member = self.joined('host1', 'one')
        self.peer = self.joined('host2', 'two')
        self.peer.view()

    def build(self) -> db.DatabaseBackend:
        made = db.DatabaseBackend(
            {'connection': self.url},
            member_ttl=TTL,
            call_timeout=60,
            clock=self.clock,
        )
        self.addCleanup(made.close)
        return made

    def joined(self, host: str, incarnation: str) -> db.DatabaseBackend:
        made = self.build()
        made.join(host, incarnation, SETTINGS)
        return made

    def live(self, seconds: float, *members: db.DatabaseBackend) -> None:
        """Let members beat, which read each other once a second."""
        for second in range(1, int(seconds) + 1):
            self.clock.elapse(1)
            for member in members:
                if second % INTERVAL == 0:
                    member.beat()
                member.view()

    def test_jump_ends_no_membership_and_hides_no_member(self) -> None:
        both = {'host1', 'host2'}
        for jump in JUMPS:
            self.live(2 * INTERVAL, self.member, self.peer)
            self.ahead += jump
            for _ in range(int(INTERVAL)):
                self.assertEqual(both, self.peer.view().hosts, jump)
                self.live(1, self.peer)
            self.member.beat()
            self.member.advertise(SETTINGS)
            self.peer.beat()
            self.assertEqual(both, self.peer.view().hosts, jump)
            self.assertEqual(both, self.build().view().hosts, jump)

    def test_death_is_noticed_after_one_ttl_by_any_clock(self) -> None:
        for jump in JUMPS:
            self.member.beat()
            self.live(INTERVAL, self.peer)
            self.ahead += jump
            self.live(TTL - INTERVAL - 1, self.peer)
            self.assertIn('host1', self.peer.view().hosts, jump)
            self.live(1, self.peer)
            self.assertNotIn('host1', self.peer.view().hosts, jump)
            self.member.join('host1', 'one', SETTINGS)
            self.peer.view()

    def test_member_that_is_late_by_its_own_clock_joins_again(self) -> None:
        self.ahead -= HOUR
        self.clock.elapse(TTL)
        for change in (
            self.member.beat,
            lambda: self.member.advertise(SETTINGS),
        ):
            with self.assertRaises(exceptions.NotMemberError):
                change()
        self.assertEqual(set(), self.peer.view().hosts)

    def test_beat_that_waited_until_the_member_had_expired_is_none(
        self,
    ) -> None:
        self.live(INTERVAL, self.member)
        beat = self.member._row.beat

        class Slow:
            host = 'host1'

            def beat(slow, database: object) -> bool:  # noqa: N805
                self.clock.elapse(TTL)
                return beat(database)

        self.member._row = Slow()
        with self.assertRaises(exceptions.NotMemberError):
            self.member.beat()

    def test_start_of_a_process_deletes_no_live_one_of_its_host(self) -> None:
        self.ahead += 20 * HOUR
        self.joined('host1', 'another')
        self.member.beat()
        self.assertEqual(
            {'one', 'another'}, self.build().view().incarnations('host1')
        )

    def test_process_that_starts_after_a_jump_back_sees_the_dead_briefly(
        self,
    ) -> None:
        self.live(TTL, self.peer)
        self.ahead -= HOUR
        late = self.joined('host3', 'three')
        self.assertIn('host1', late.view().hosts)
        self.live(TTL, self.peer, late)
        self.assertEqual({'host2', 'host3'}, late.view().hosts)
