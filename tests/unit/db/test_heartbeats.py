from __future__ import annotations

import unittest
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.db import connection, heartbeats
from ironic_ownership.db.heartbeats import Heartbeat, HeartbeatLog
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.contract import newer_schema
from tests.unit.db import sqlite

LIFETIME = 20.0


class TestHeartbeatLog(unittest.TestCase):
    """One member that beats every 5 s, read once a second."""

    def setUp(self) -> None:
        super().setUp()
        self.log = HeartbeatLog(LIFETIME)
        self.beat_at = self.joined_at = 0.0
        self.now = 0.0

    def read(
        self, skew: float = 0.0, host: str = 'host1', took: float = 0.0
    ) -> model.View:
        """Read through a server that is ahead by so many seconds."""
        member = model.Member(
            host, 'one', self.joined_at, model.MemberSettings()
        )
        expires_at = 1000 + self.beat_at + LIFETIME
        left = expires_at - (1000 + self.now + skew)
        beat = Heartbeat(member, left, expires_at)
        self.now += took
        return self.log.view([beat], self.now - took, self.now)

    def live(self, seconds: int, skew: float = 0.0) -> None:
        """Let the member live, and see it in each view."""
        for _ in range(seconds):
            self.now += 1
            if self.now - self.beat_at >= 5:
                self.beat_at = self.now
            self.assertEqual({'host1'}, self.read(skew).hosts)

    def assert_dies(self, moment: float, skew: float = 0.0) -> None:
        """Read shortly before a moment, and then."""
        self.now = moment - 0.1
        view = self.read(skew)
        self.assertEqual({'host1'}, view.hosts)
        self.assertAlmostEqual(0.1, view.expires_in or 0.0)
        self.now = moment
        self.assertEqual(set(), self.read(skew).hosts)

    def test_first_read_uses_the_clock_of_the_server(self) -> None:
        self.assertEqual({'host1'}, self.read().hosts)
        self.assertEqual(set(), HeartbeatLog(LIFETIME).view([], 0, 0).hosts)
        self.log = HeartbeatLog(LIFETIME)
        self.assertEqual(set(), self.read(skew=LIFETIME).hosts)

    def test_silent_member_is_dead_one_ttl_after_it_was_seen(self) -> None:
        self.live(6)
        self.live(4, skew=3600)
        self.assertEqual(self.now, self.beat_at)
        self.assert_dies(self.now + LIFETIME, skew=3600)

    def test_slow_answer_delays_a_death_and_hastens_none(self) -> None:
        # The heartbeat may have come at the end of the read.
        self.read()
        self.now = self.beat_at = 5.0
        self.read(took=4, skew=3600)
        self.now = 9 + LIFETIME - 0.1
        self.assertEqual({'host1'}, self.read(took=1, skew=3600).hosts)

    def test_answer_that_was_overtaken_is_no_heartbeat(self) -> None:
        """Two threads read; the first one gets its answer last."""
        self.live(6)
        first, asked_at = self.beat_at, self.now
        last = self.beat_at = self.now = asked_at + 1
        self.read()
        self.beat_at, self.now = first, asked_at
        self.read(took=4)
        self.beat_at = last
        self.assert_dies(last + LIFETIME)

    def test_slow_first_answer_hastens_no_death(self) -> None:
        # The server may have told its time at the end of the read.
        self.read(took=4)
        self.assert_dies(4 + LIFETIME)

    def test_clock_of_the_server_decides_after_a_long_pause(self) -> None:
        # It beat for the last time long before this read.
        self.live(6)
        self.beat_at += 5
        self.now += 10 * LIFETIME
        self.assertEqual(set(), self.read().hosts)

    def test_clock_that_jumped_in_an_outage_hastens_no_death(self) -> None:
        # One that can't read the members for a time to live joins again.
        self.live(6)
        self.beat_at += 2
        self.now += LIFETIME - 1
        self.assertEqual({'host1'}, self.read(skew=3600).hosts)
        self.now += LIFETIME
        self.assertEqual(set(), self.read(skew=3600).hosts)

    def test_time_that_went_back_is_that_of_a_heartbeat(self) -> None:
        # Accepted by another server, whose clock is behind.
        self.live(6)
        self.now += 1
        self.beat_at -= 3600
        self.assertEqual({'host1'}, self.read().hosts)
        self.now += LIFETIME
        self.assertEqual(set(), self.read().hosts)

    def test_another_membership_is_seen_for_the_first_time(self) -> None:
        self.live(6)
        self.joined_at += 1
        self.beat_at -= LIFETIME
        self.assertEqual(set(), self.read().hosts)

    def test_member_that_is_gone_is_forgotten(self) -> None:
        self.live(6)
        self.assertEqual(set(), self.log.view([], 7, 7).hosts)
        self.now = 8
        self.beat_at = 7
        self.assertEqual(set(), self.read(skew=LIFETIME).hosts)

    def test_largest_lead_of_the_last_heartbeats_counts(self) -> None:
        self.assertEqual({}, self.read(skew=3).ahead)
        self.now = self.beat_at = 5.0
        self.assertEqual({'host1': 3.0}, self.read(skew=-3).ahead)
        self.now, self.beat_at = 10.9, 10.0
        self.assertEqual({'host1': 3.0}, self.read(skew=-3).ahead)

    def test_lead_is_gone_after_some_heartbeats(self) -> None:
        self.live(50, skew=-0.5)
        self.live(39)
        self.assertEqual({'host1'}, set(self.read().ahead))
        self.live(5)
        self.assertEqual({}, self.read().ahead)


SETTINGS = model.MemberSettings()
TTL, INTERVAL, HOUR = 30.0, 5.0, 3600.0
JUMPS = (-HOUR, -30.4, -5.3, 5.1, 31.2, HOUR, 20 * HOUR)


class BackendCase(sqlite.SqliteCase):
    def build(
        self, call_timeout: float = 60, url: str | None = None, **options: Any
    ) -> heartbeats.DatabaseBackend:
        made = heartbeats.DatabaseBackend(
            {'connection': url or self.url},
            member_ttl=TTL,
            call_timeout=call_timeout,
            **options,
        )
        self.addCleanup(made.close)
        return made


class TestDatabaseBackend(BackendCase):
    def test_join_makes_the_schema_and_no_earlier_call_a_file(self) -> None:
        self.build(url='nonsense').close()
        member = self.build()
        self.assertEqual((), member.view().members)
        self.assertEqual([], list(self.directory.iterdir()))
        member.join('host1', 'one', SETTINGS)
        self.assertEqual({'host1'}, member.view().hosts)

    def test_locked_database_is_unavailable(self) -> None:
        self.open_with_schema()
        member = self.build(call_timeout=6)
        member.join('host1', 'one', SETTINGS)

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
        # It works again, also after it was closed.
        member.close()
        member.beat()

    def test_wrong_database_is_no_outage(self) -> None:
        newer_schema.mark(self.open_with_schema(), 'f')
        for url, text in (
            ('sqlite:////nonexistent/dir/a', '/nonexistent/dir'),
            (self.url, 'newer release'),
        ):
            with self.assertRaisesRegex(
                exceptions.MembershipError, text
            ) as caught:
                self.build(url=url).view()
            self.assertNotIsInstance(
                caught.exception, exceptions.BackendUnavailableError
            )

    def test_connection_parameters_of_the_records_count(self) -> None:
        made = heartbeats.DatabaseBackend(
            {'connection': self.url, 'connection_parameters': 'timeout=7'},
            member_ttl=TTL,
            call_timeout=60,
        )
        self.addCleanup(made.close)
        url = made._open(create=True).engine.url
        self.assertEqual('7', url.query['timeout'])

    def test_only_a_server_is_shared_by_machines(self) -> None:
        for url, is_shared in (
            (self.url, False),
            ('mysql+pymysql://u:p@127.0.0.1/x', True),
        ):
            found = self.build(url=url).capabilities
            self.assertIs(is_shared, backend.Capability.SHARED in found)
            self.assertIn(backend.Capability.STORE_CLOCK, found)
        (option,) = heartbeats.DatabaseBackend.options
        self.assertTrue(option.secret)
        self.assertEqual('$database.connection', option.default)


class TestClockOfTheDatabase(BackendCase):
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

    def joined(
        self, host: str, incarnation: str
    ) -> heartbeats.DatabaseBackend:
        made = self.build(clock=self.clock)
        made.join(host, incarnation, SETTINGS)
        return made

    def live(
        self, seconds: float, *members: heartbeats.DatabaseBackend
    ) -> None:
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
            self.assertEqual(
                both, self.build(clock=self.clock).view().hosts, jump
            )

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
        write = self.member._database.write

        def late(work: connection.Work[bool]) -> bool:
            self.clock.elapse(TTL)
            return write(work)

        self.member._database.write = late
        with self.assertRaises(exceptions.NotMemberError):
            self.member.beat()

    def test_start_of_a_process_deletes_no_live_one_of_its_host(self) -> None:
        self.ahead += 20 * HOUR
        self.joined('host1', 'another')
        self.member.beat()
        late = self.build(clock=self.clock).view()
        self.assertEqual({'one', 'another'}, late.incarnations('host1'))

    def test_process_that_starts_after_a_jump_back_sees_the_dead_briefly(
        self,
    ) -> None:
        self.live(TTL, self.peer)
        self.ahead -= HOUR
        late = self.joined('host3', 'three')
        self.assertIn('host1', late.view().hosts)
        self.live(TTL, self.peer, late)
        self.assertEqual({'host2', 'host3'}, late.view().hosts)
