"""Schedule of beats and polls. The clock is a number: no test waits."""

from __future__ import annotations

import unittest
import unittest.mock
from unittest.mock import ANY

from ironic_ownership.contracts import backend, exceptions
from ironic_ownership.contracts.calls import Clock
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import heartbeat
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.unit.engine.virtual_time import VirtualTime

LOGGER = 'ironic_ownership.engine'


ZERO = 'ERROR heartbeat failed with an unexpected error: ZeroDivisionError: '


class FakeMember:
    """Records the times of beats and polls.

    :ivar beat_takes: seconds, as is ``look_takes``.
    """

    def __init__(self, now: FakeClock, fence: Fence) -> None:
        self.clock, self.fence = now, fence
        self.is_member = True
        self.may_poll = True
        self.wants_beat = False
        self.wants_poll = False
        self.registration = unittest.mock.Mock(is_pending=False)
        self.expiries: list[float] = []
        self.beat_takes = self.poll_takes = 0.0
        self.beats: list[float] = []
        self.polls: list[float] = []
        self.rightless: list[float] = []

    def beat(self) -> None:
        started = self.clock()
        self.beats.append(started - 1000)
        self.wants_beat = False
        self.clock.elapse(self.beat_takes)
        self.fence.open(started, 1)
        self._poll()

    def poll(self) -> None:
        self.polls.append(self.clock() - 1000)
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
        self.tells: list[float | Exception] = []

    def watch(self, timeout: float) -> bool:
        tells = self.tells[0] if self.tells else timeout
        if isinstance(tells, Exception):
            raise self.tells.pop(0)
        if tells >= timeout:
            self.clock.elapse(timeout)
            if self.tells:
                self.tells[0] -= timeout
            return False
        self.clock.elapse(self.tells.pop(0))
        return True


def context_of(backend: Backend, fence: Fence, now: Clock) -> ServiceContext:
    return ServiceContext(
        'host1',
        Ports(ANY, ANY, backend, ANY),
        fence,
        conditions.Conditions(),
        now,
    )


class HeartbeatCase(unittest.TestCase):
    TTL, MARGIN, BEAT, POLL = 20.0, 1.0, 5.0, 1.0

    def setUp(self) -> None:
        super().setUp()
        self.clock = FakeClock()
        self.fence = Fence(self.TTL, self.MARGIN, self.clock)
        self.member = FakeMember(self.clock, self.fence)
        self.backend = Backend(self.clock, self.BEAT)

    def build(self) -> heartbeat.Heartbeat:
        return heartbeat.Heartbeat(
            context_of(self.backend, self.fence, self.clock),
            self.member,
            interval=self.BEAT,
            watch_interval=self.POLL,
        )

    def run_for(self, seconds: float) -> None:
        time = VirtualTime(conditions.Conditions(), self.clock)
        time.start('heartbeat', self.build())
        # The last moment is no part of it.
        time.advance(seconds - 0.0001)


class TestTimes(HeartbeatCase):
    def test_beats_and_polls_keep_their_intervals(self) -> None:
        self.run_for(11)
        self.assertEqual([0, 5, 10], self.member.beats)
        self.assertEqual(
            [1, 2, 3, 4, 6, 7, 8, 9], [round(t, 3) for t in self.member.polls]
        )

    def test_interval_counts_from_the_start_of_a_slow_beat(self) -> None:
        self.member.beat_takes = 3.0
        self.run_for(16)
        self.assertEqual([0, 5, 10, 15], self.member.beats)

    def test_beat_longer_than_the_interval_is_followed_immediately(
        self,
    ) -> None:
        self.member.beat_takes = 7.0
        self.run_for(20)
        self.assertEqual([0, 7, 14], self.member.beats)

    def test_wanted_beat_is_immediate(self) -> None:
        built = self.build()
        self.assertEqual(0, built.step())
        self.member.wants_beat = True
        built.step()
        self.assertEqual([0, 0], self.member.beats)

    def test_members_are_polled_when_one_expires(self) -> None:
        self.member.expiries = [1.25, 7.5]
        self.run_for(9)
        polls = [round(t, 3) for t in self.member.polls]
        self.assertEqual(
            [1, 1.25, 2.25, 3.25, 4.25, 6, 7, 7.5, 8.5][: len(polls)], polls
        )
        self.assertGreater(len(polls), 7)

    def test_members_that_expire_all_the_time_are_no_busy_loop(self) -> None:
        self.member.expiries = [0.001 * n for n in range(5000)]
        self.run_for(4)
        self.assertLess(len(self.member.polls), 100)

    def test_failed_beat_is_followed_by_no_poll(self) -> None:
        self.member.may_poll = False
        self.run_for(11)
        self.assertEqual([], self.member.polls)
        self.assertEqual([0, 5, 10], self.member.beats)


class TestRight(HeartbeatCase):
    def test_view_that_hangs_costs_no_right(self) -> None:
        self.member.poll_takes = self.backend.call_timeout
        self.run_for(200)
        self.assertEqual([], self.member.rightless)

    def test_view_and_beat_that_are_slow_cost_no_right(self) -> None:
        self.member.poll_takes = self.member.beat_takes = (
            0.9 * self.backend.call_timeout
        )
        self.run_for(200)
        self.assertEqual([], self.member.rightless)


class TestRightAtTheSmallestTimes(TestRight):
    """As short as the options may be."""

    TTL, MARGIN, BEAT, POLL = 1.5, 0.1, 0.5, 0.1


class TestShortRight(HeartbeatCase):
    """The margin leaves little more than one interval."""

    TTL, MARGIN, BEAT, POLL = 20.0, 14.5, 5.0, 1.0

    def test_view_that_hangs_costs_no_right(self) -> None:
        self.member.poll_takes = self.backend.call_timeout
        self.run_for(200)
        self.assertEqual([], self.member.rightless)

    def test_no_poll_begins_that_could_outlast_the_right(self) -> None:
        self.run_for(20)
        self.assertEqual([], self.member.polls)
        self.assertLess(4, len(self.member.beats))


class TestWatch(HeartbeatCase):
    def setUp(self) -> None:
        super().setUp()
        self.backend.capabilities = frozenset({backend.Capability.WATCH})

    def test_watched_store_is_polled_after_an_event(self) -> None:
        self.run_for(11)
        self.assertEqual([0, 5, 10], self.member.beats)
        self.assertEqual([], self.member.polls)

    def test_event_of_the_store_is_polled_immediately(self) -> None:
        self.backend.tells = [2.5, 0.25]
        self.run_for(4)
        self.assertEqual([2.5, 2.75], self.member.polls)

    def test_members_are_polled_when_one_expires(self) -> None:
        self.member.expiries = [2.5]
        self.run_for(4)
        self.assertEqual([2.5], self.member.polls)

    def test_pending_request_is_polled_nevertheless(self) -> None:
        self.member.wants_poll = True
        self.run_for(4.5)
        self.assertEqual([1, 2, 3, 4], self.member.polls)

    def test_store_whose_watch_fails_is_polled(self) -> None:
        down = exceptions.BackendUnavailableError('down')
        self.backend.tells = [down] * 100
        self.run_for(4.5)
        self.assertGreaterEqual(len(self.member.polls), 3)
        self.assertLessEqual(len(self.member.polls), 6)


class TestErrors(HeartbeatCase):
    def test_failing_membership_is_logged_once_and_retried(self) -> None:
        broken = exceptions.MembershipError('the store is of a newer release')
        failures = [None, broken, broken, ZeroDivisionError(), None, None]
        built = self.build()

        def beat() -> None:
            failure = failures.pop(0)
            if failure is not None:
                raise failure

        self.member.beat, self.member.wants_beat = beat, True
        with self.assertLogs(LOGGER, 'INFO') as logs:
            pauses = [built.run_step() for _ in range(6)]
        self.assertEqual([0, *[self.POLL] * 3, 0, 0], pauses)
        self.assertEqual(
            [
                'WARNING heartbeat failed: the store is of a newer release',
                ZERO,
                'INFO heartbeat succeeded again',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_wait_for_the_next_beat_is_no_success(self) -> None:
        broken = exceptions.MembershipError('the store is of a newer release')
        self.member.beat = unittest.mock.Mock(side_effect=broken)
        self.member.may_poll = False
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_for(12)
        self.assertEqual(3, self.member.beat.call_count)
        self.assertEqual(
            ['heartbeat failed: the store is of a newer release'],
            [record.getMessage() for record in logs.records],
        )

    def test_join_is_retried_until_it_is_a_member(self) -> None:
        self.member.is_member = False
        built = self.build()
        self.assertEqual([self.BEAT] * 2, [built.join(), built.join()])
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
