from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.db.heartbeats import Heartbeat, HeartbeatLog

TTL = 20.0


class TestHeartbeatLog(unittest.TestCase):
    """One member that beats every 5 s, read once a second."""

    def setUp(self) -> None:
        super().setUp()
        self.log = HeartbeatLog(TTL)
        self.beat_at = self.joined_at = 0.0
        self.now = 0.0

    def read(
        self, skew: float = 0.0, host: str = 'host1', took: float = 0.0
    ) -> model.View:
        """Read through a server that is ahead by so many seconds."""
        member = model.Member(
            host, 'one', self.joined_at, model.MemberSettings()
        )
        expires_at = 1000 + self.beat_at + TTL
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

    def test_first_read_uses_the_clock_of_the_server(self) -> None:
        self.assertEqual({'host1'}, self.read().hosts)
        self.assertEqual(set(), HeartbeatLog(TTL).view([], 0, 0).hosts)
        self.log = HeartbeatLog(TTL)
        self.assertEqual(set(), self.read(skew=TTL).hosts)

    def test_member_that_beats_is_alive_by_any_clock(self) -> None:
        self.live(6)
        for skew in (-3600.0, -2.0, 2.0, 30.0, 3600.0):
            self.live(30, skew)

    def test_silent_member_is_dead_one_ttl_after_it_was_seen(self) -> None:
        self.live(6)
        self.live(4, skew=3600)
        self.assertEqual(self.now, self.beat_at)
        self.now += TTL - 0.5
        view = self.read(skew=3600)
        self.assertEqual({'host1'}, view.hosts)
        assert view.expires_in is not None
        self.assertAlmostEqual(0.5, view.expires_in)
        self.now += 0.5
        self.assertEqual(set(), self.read(skew=3600).hosts)

    def test_slow_answer_delays_a_death_and_hastens_none(self) -> None:
        # The heartbeat may have come at the end of the read.
        self.read()
        self.now = self.beat_at = 5.0
        self.read(took=4, skew=3600)
        self.now = 9 + TTL - 0.1
        self.assertEqual({'host1'}, self.read(took=1, skew=3600).hosts)

    def test_answer_that_was_overtaken_is_no_heartbeat(self) -> None:
        """Two threads read; the first one gets its answer last."""
        self.live(6)
        first, asked_at = self.beat_at, self.now
        self.beat_at = self.now = asked_at + 1
        self.read()
        dies_at = self.now + TTL
        last, self.beat_at = self.beat_at, first
        self.now = asked_at
        self.read(took=4)
        self.beat_at, self.now = last, dies_at - 0.1
        self.assertEqual({'host1'}, self.read().hosts)
        self.now = dies_at
        self.assertEqual(set(), self.read().hosts)

    def test_slow_first_answer_hastens_no_death(self) -> None:
        # The server may have told its time at the end of the read.
        self.read(took=4)
        self.now = 4 + TTL - 0.1
        self.assertEqual({'host1'}, self.read().hosts)
        self.now += 0.1
        self.assertEqual(set(), self.read().hosts)

    def test_clock_of_the_server_decides_after_a_long_pause(self) -> None:
        # It beat for the last time long before this read.
        self.live(6)
        self.beat_at += 5
        self.now += 10 * TTL
        self.assertEqual(set(), self.read().hosts)

    def test_clock_that_jumped_in_an_outage_hastens_no_death(self) -> None:
        # One that can't read the members for a time to live joins again.
        self.live(6)
        self.beat_at += 2
        self.now += TTL - 1
        self.assertEqual({'host1'}, self.read(skew=3600).hosts)
        self.now += TTL
        self.assertEqual(set(), self.read(skew=3600).hosts)

    def test_time_that_went_back_is_that_of_a_heartbeat(self) -> None:
        # Accepted by another server, whose clock is behind.
        self.live(6)
        self.now += 1
        self.beat_at -= 3600
        self.assertEqual({'host1'}, self.read().hosts)
        self.now += TTL
        self.assertEqual(set(), self.read().hosts)

    def test_another_membership_is_seen_for_the_first_time(self) -> None:
        self.live(6)
        self.joined_at += 1
        self.beat_at -= TTL
        self.assertEqual(set(), self.read().hosts)

    def test_member_that_is_gone_is_forgotten(self) -> None:
        self.live(6)
        self.assertEqual(set(), self.log.view([], 7, 7).hosts)
        self.now = 8
        self.beat_at = 7
        self.assertEqual(set(), self.read(skew=TTL).hosts)

    def test_largest_lead_of_the_last_heartbeats_counts(self) -> None:
        self.assertEqual({}, self.read(skew=3).ahead)
        self.now = self.beat_at = 5.0
        self.assertEqual({'host1': 3.0}, self.read(skew=-3).ahead)
        self.now, self.beat_at = 10.9, 10.0
        self.assertEqual({'host1': 3.0}, self.read(skew=-3).ahead)

    def test_lead_is_gone_after_some_heartbeats(self) -> None:
        self.live(50, skew=-3)
        self.live(39)
        self.assertEqual({'host1'}, set(self.read().ahead))
        self.live(5)
        self.assertEqual({}, self.read().ahead)
