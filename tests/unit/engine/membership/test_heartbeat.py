"""Schedule of beats and polls. The clock is a number: no test waits."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock
from unittest.mock import ANY

from ironic_ownership.contracts import backend, exceptions
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import heartbeat
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.unit.engine.virtual_time import VirtualTime

LOGGER = 'ironic_ownership.engine'
BROKEN = exceptions.MembershipError('the store is of a newer release')


class FakeMember:
    """Records the times of beats and polls.

    :ivar beat_takes: seconds, as is ``poll_takes``.
    :ivar rightless: times at which a poll ended without the right to act.
    """

    def __init__(self, now: FakeClock, fence: Fence) -> None:
        self.clock, self.fence = now, fence
        self.is_member = self.may_poll = True
        self.wants_beat = self.wants_poll = False
        self.registration = mock.Mock(is_pending=False)
        self.expiries: list[float] = []
        self.beat_takes = self.poll_takes = 0.0
        self.beats: list[float] = []
        self.polls: list[float] = []
        self.rightless: list[float] = []

    def beat(self) -> None:
        started = self.clock()
        self.beats.append(round(started - 1000, 3))
        self.wants_beat = False
        self.clock.elapse(self.beat_takes)
        self.fence.open(started, 1)
        self._poll()

    def poll(self) -> None:
        self.polls.append(round(self.clock() - 1000, 3))
        self._poll()

    @property
    def next_expiry(self) -> float | None:
        now = self.clock() - 1000
        return next((1000 + at for at in self.expiries if at > now), None)

    def _poll(self) -> None:
        self.clock.elapse(self.poll_takes)
        if not self.fence.may_act:
            self.rightless.append(self.clock() - 1000)


class Backend:
    """Reports changes at the times that a test sets.

    :ivar tells: seconds after which something changes, one after the other.
    """

    def __init__(self, now: FakeClock, call_timeout: float) -> None:
        self.clock = now
        self.call_timeout = call_timeout
        self.capabilities: frozenset[backend.Capability] = frozenset()
        self.tells: list[float] = []

    def watch(self, timeout: float) -> bool:
        tells = self.tells[0] if self.tells else timeout
        if tells >= timeout:
            self.clock.elapse(timeout)
            if self.tells:
                self.tells[0] -= timeout
            return False
        self.clock.elapse(self.tells.pop(0))
        return True


class TestHeartbeat(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.prepare(20.0, 1.0, 5.0, 1.0)

    def prepare(
        self, ttl: float, margin: float, interval: float, poll: float
    ) -> None:
        self.clock = FakeClock()
        self.fence = Fence(ttl, margin, self.clock)
        self.member = FakeMember(self.clock, self.fence)
        self.backend = Backend(self.clock, interval)
        self.intervals = interval, poll

    def build(self) -> heartbeat.Heartbeat:
        interval, watch_interval = self.intervals
        return heartbeat.Heartbeat(
            ServiceContext(
                'host1',
                Ports(ANY, ANY, self.backend, ANY),
                self.fence,
                conditions.Conditions(),
                self.clock,
            ),
            self.member,
            interval=interval,
            watch_interval=watch_interval,
        )

    def run_for(self, seconds: float) -> None:
        time = VirtualTime(conditions.Conditions(), self.clock)
        time.start('heartbeat', self.build())
        # The last moment is no part of it.
        time.advance(seconds - 0.0001)

    def test_each_time_of_beats_and_polls(self) -> None:
        expiring = [1, 1.25, 2.25, 3.25, 4.25, 6, 7, 7.5, 8.5]
        values: dict[str, Any]
        for name, values, seconds, beats, polls in (
            ('intervals', {}, 7, [0, 5], [1, 2, 3, 4, 6]),
            (
                'from the start of a slow beat',
                {'beat_takes': 3.0},
                16,
                [0, 5, 10, 15],
                [4, 9, 14],
            ),
            ('longer than the interval', {'beat_takes': 7}, 9, [0, 7], []),
            (
                'a member expires',
                {'expiries': [1.25, 7.5]},
                9,
                [0, 5],
                expiring,
            ),
            ('failed beats', {'may_poll': False}, 11, [0, 5, 10], []),
            ('watched', {}, 11, [0, 5, 10], []),
            ('watched, an event', {'tells': [2.5, 0.25]}, 4, [0], [2.5, 2.75]),
            ('watched, one expires', {'expiries': [2.5]}, 4, [0], [2.5]),
            ('watched, pending', {'wants_poll': True}, 3.5, [0], [1, 2, 3]),
        ):
            with self.subTest(name):
                self.setUp()
                if name.startswith('watched'):
                    self.backend.capabilities = {backend.Capability.WATCH}
                self.backend.tells = values.pop('tells', [])
                vars(self.member).update(values)
                self.run_for(seconds)
                self.assertEqual(
                    (beats, polls), (self.member.beats, self.member.polls)
                )

    def test_wanted_beat_is_immediate(self) -> None:
        built = self.build()
        self.assertEqual(0, built.step())
        self.member.wants_beat = True
        built.step()
        self.assertEqual([0, 0], self.member.beats)

    def test_expiries_all_the_time_and_failing_watches_are_no_busy_loop(
        self,
    ) -> None:
        self.member.expiries = [0.001 * n for n in range(5000)]
        self.run_for(4)
        self.assertLess(len(self.member.polls), 100)
        self.setUp()
        self.backend.capabilities = frozenset({backend.Capability.WATCH})
        down = exceptions.BackendUnavailableError('down')
        self.backend.watch = mock.Mock(side_effect=down)
        self.run_for(4.5)
        self.assertIn(len(self.member.polls), range(3, 7))

    def test_slow_store_costs_no_right(self) -> None:
        for name, times in (
            ('default', (20.0, 1.0, 5.0, 1.0)),
            ('the smallest times', (1.5, 0.1, 0.5, 0.1)),
            ('little more than one interval', (20.0, 14.5, 5.0, 1.0)),
        ):
            for beat, poll in ((0.0, 1.0), (0.9, 0.9)):
                if beat and name.startswith('little'):
                    continue
                with self.subTest(name, beat=beat):
                    self.prepare(*times)
                    timeout = self.backend.call_timeout
                    self.member.beat_takes = beat * timeout
                    self.member.poll_takes = poll * timeout
                    self.run_for(200)
                    self.assertEqual([], self.member.rightless)

    def test_no_poll_begins_that_could_outlast_the_right(self) -> None:
        self.prepare(20.0, 14.5, 5.0, 1.0)
        self.run_for(20)
        self.assertEqual([], self.member.polls)
        self.assertLess(4, len(self.member.beats))

    def test_failing_membership_is_logged_once_and_retried(self) -> None:
        failures = [None, BROKEN, BROKEN, ZeroDivisionError(), None, None]
        built = self.build()
        self.member.beat = mock.Mock(side_effect=failures)
        self.member.wants_beat = True
        with self.assertLogs(LOGGER, 'INFO') as logs:
            pauses = [built.run_step() for _ in range(6)]
        self.assertEqual([0, 1.0, 1.0, 1.0, 0, 0], pauses)
        for text, line in zip(
            (
                'heartbeat failed: the store is of a newer release',
                'unexpected error: ZeroDivisionError',
                'heartbeat succeeded again',
            ),
            logs.output,
            strict=True,
        ):
            self.assertIn(text, line)

    def test_wait_for_the_next_beat_is_no_success(self) -> None:
        self.member.beat = mock.Mock(side_effect=BROKEN)
        self.member.may_poll = False
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_for(12)
        self.assertEqual(3, self.member.beat.call_count)
        self.assertEqual(1, len(logs.records))

    def test_join_is_retried_until_it_is_a_member(self) -> None:
        self.member.is_member = False
        built = self.build()
        self.assertEqual([5.0] * 2, [built.join(), built.join()])
        self.member.is_member = True
        self.assertIsNone(built.join())

    def test_long_old_interval_is_not_waited_for(self) -> None:
        built = self.build()
        built.change_intervals(3600.0, 3600.0)
        time = VirtualTime(conditions.Conditions(), self.clock)
        time.start('heartbeat', built)
        time.advance(100)
        self.assertEqual([0], self.member.beats)
        built.change_intervals(60.0, 60.0)
        time.advance(70)
        self.assertEqual([0, 100, 160], self.member.beats)
