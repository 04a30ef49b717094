"""When it beats and when it looks. Time is a number, nobody waits for it."""

from __future__ import annotations

import threading
import unittest

from ironic_ownership.contracts import capabilities, exceptions
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import heartbeat
from ironic_ownership.engine.membership.fence import Fence
from tests.unit.engine import clock

LOGGER = 'ironic_ownership.engine'
PATIENCE = 30.0


class Membership:
    """Notes when it was asked to beat and to look.

    :ivar beat_takes: seconds, as is ``look_takes``.
    """

    def __init__(self, now: clock.Clock, fence: Fence) -> None:
        self.clock, self.fence = now, fence
        self.is_member = True
        self.may_look = True
        self.wants_beat = False
        self.wants_look = False
        self.awaits_answer = False
        self.expiries: list[float] = []
        self.beat_takes = self.look_takes = 0.0
        self.beats: list[float] = []
        self.looks: list[float] = []
        self.rightless: list[float] = []

    def beat(self) -> None:
        started = self.clock()
        self.beats.append(started - 1000)
        self.wants_beat = False
        self.clock.elapse(self.beat_takes)
        self.fence.extend(started, 1)
        self._look()

    def look(self) -> None:
        self.looks.append(self.clock() - 1000)
        self._look()

    @property
    def next_expiry(self) -> float | None:
        now = self.clock() - 1000
        return next((1000 + at for at in self.expiries if at > now), None)

    def _look(self) -> None:
        self.clock.elapse(self.look_takes)
        if not self.fence.may_act:
            self.rightless.append(self.clock() - 1000)


class Backend:
    """Watches as it is told.

    :ivar tells: seconds after which something changes, one after the other.
    """

    def __init__(self, now: clock.Clock, call_timeout: float) -> None:
        self.clock = now
        self.call_timeout = call_timeout
        self.capabilities: frozenset[capabilities.Capability] = frozenset()
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


class HeartbeatCase(unittest.TestCase):
    TTL, MARGIN, BEAT, LOOK = 20.0, 1.0, 5.0, 1.0

    def setUp(self) -> None:
        super().setUp()
        self.clock = clock.Clock()
        self.fence = Fence(self.TTL, self.MARGIN, self.clock)
        self.membership = Membership(self.clock, self.fence)
        self.backend = Backend(self.clock, self.BEAT)

    def build(self) -> heartbeat.Heartbeat:
        built = heartbeat.Heartbeat(
            self.membership,
            self.backend,
            self.fence,
            conditions.Conditions(),
            interval=self.BEAT,
            watch_interval=self.LOOK,
            clock=self.clock,
        )
        built._changed.wait = self.wait
        return built

    def wait(self, timeout: float) -> bool:
        self.clock.elapse(max(timeout, 0.001))
        return False

    def run_for(self, seconds: float) -> None:
        built = self.build()
        until = self.clock() + seconds
        while self.clock() < until:
            built._step()


class TestTimes(HeartbeatCase):
    def test_beats_and_looks_come_at_their_intervals(self) -> None:
        self.run_for(11)
        self.assertEqual([0, 5, 10], self.membership.beats)
        self.assertEqual(
            [1, 2, 3, 4, 6, 7, 8, 9],
            [round(t, 3) for t in self.membership.looks],
        )

    def test_interval_counts_from_the_start_of_a_slow_beat(self) -> None:
        self.membership.beat_takes = 3.0
        self.run_for(16)
        self.assertEqual([0, 5, 10, 15], self.membership.beats)

    def test_beat_that_takes_longer_than_the_interval_is_followed_at_once(
        self,
    ) -> None:
        self.membership.beat_takes = 7.0
        self.run_for(20)
        self.assertEqual([0, 7, 14], self.membership.beats)

    def test_beat_that_is_wanted_is_not_waited_for(self) -> None:
        built = self.build()
        built._step()
        self.membership.wants_beat = True
        built._step()
        self.assertEqual([0, 0], self.membership.beats)

    def test_moment_at_which_somebody_expires_is_looked_at(self) -> None:
        self.membership.expiries = [1.25, 7.5]
        self.run_for(9)
        looks = [round(t, 3) for t in self.membership.looks]
        self.assertEqual(
            [1, 1.25, 2.25, 3.25, 4.25, 6, 7, 7.5, 8.5][: len(looks)], looks
        )
        self.assertGreater(len(looks), 7)

    def test_members_that_expire_all_the_time_are_no_busy_loop(self) -> None:
        self.membership.expiries = [0.001 * n for n in range(5000)]
        built = self.build()
        started = self.clock()
        for _ in range(200):
            built._step()
        self.assertGreater(self.clock() - started, 4)

    def test_expiry_that_is_far_away_changes_nothing(self) -> None:
        self.membership.expiries = [500.0]
        self.run_for(4.5)
        self.assertEqual([1, 2, 3, 4], self.membership.looks)

    def test_nobody_looks_after_a_beat_that_failed(self) -> None:
        self.membership.may_look = False
        self.run_for(11)
        self.assertEqual([], self.membership.looks)
        self.assertEqual([0, 5, 10], self.membership.beats)


class TestRight(HeartbeatCase):
    def test_view_that_hangs_costs_no_right(self) -> None:
        self.membership.look_takes = self.backend.call_timeout
        self.run_for(200)
        self.assertEqual([], self.membership.rightless)

    def test_view_and_beat_that_are_slow_cost_no_right(self) -> None:
        self.membership.look_takes = self.membership.beat_takes = (
            0.9 * self.backend.call_timeout
        )
        self.run_for(200)
        self.assertEqual([], self.membership.rightless)


class TestRightAtTheSmallestTimes(TestRight):
    """As short as the options may be."""

    TTL, MARGIN, BEAT, LOOK = 1.5, 0.1, 0.5, 0.1


class TestShortRight(HeartbeatCase):
    """The margin leaves little more than one interval."""

    TTL, MARGIN, BEAT, LOOK = 20.0, 14.5, 5.0, 1.0

    def test_view_that_hangs_costs_no_right(self) -> None:
        self.membership.look_takes = self.backend.call_timeout
        self.run_for(200)
        self.assertEqual([], self.membership.rightless)

    def test_no_look_is_begun_that_could_outlive_the_right(self) -> None:
        self.run_for(20)
        self.assertEqual([], self.membership.looks)
        self.assertLess(4, len(self.membership.beats))


class TestWatch(HeartbeatCase):
    def setUp(self) -> None:
        super().setUp()
        self.backend.capabilities = frozenset({capabilities.Capability.WATCH})

    def test_nobody_looks_before_the_store_tells(self) -> None:
        self.run_for(11)
        self.assertEqual([0, 5, 10], self.membership.beats)
        self.assertEqual([], self.membership.looks)

    def test_what_the_store_tells_is_looked_at_at_once(self) -> None:
        self.backend.tells = [2.5, 0.25]
        self.run_for(4)
        self.assertEqual([2.5, 2.75], self.membership.looks)

    def test_moment_at_which_somebody_expires_is_looked_at(self) -> None:
        self.membership.expiries = [2.5]
        self.run_for(4)
        self.assertEqual([2.5], self.membership.looks)

    def test_open_question_is_looked_at_all_the_same(self) -> None:
        self.membership.wants_look = True
        self.run_for(4.5)
        self.assertEqual([1, 2, 3, 4], self.membership.looks)

    def test_store_that_cannot_tell_is_looked_at(self) -> None:
        down = exceptions.BackendUnavailableError('down')
        self.backend.tells = [down] * 100
        self.run_for(4.5)
        self.assertGreaterEqual(len(self.membership.looks), 3)
        self.assertLessEqual(len(self.membership.looks), 6)


class TestRun(unittest.TestCase):
    """In a thread of its own, with tiny intervals."""

    def setUp(self) -> None:
        super().setUp()
        self.clock = clock.Clock()
        self.fence = Fence(20.0, 1.0, self.clock)
        self.membership = Membership(self.clock, self.fence)
        self.heartbeat = heartbeat.Heartbeat(
            self.membership,
            Backend(self.clock, 5.0),
            self.fence,
            conditions.Conditions(),
            interval=0.001,
            watch_interval=0.001,
        )

    def test_membership_that_fails_is_said_once_and_tried_again(self) -> None:
        broken = exceptions.MembershipError('the store is of a newer release')
        failures = [None, broken, broken, ZeroDivisionError(), None, None]
        done = threading.Event()

        def beat() -> None:
            if not failures:
                done.set()
                return
            failure = failures.pop(0)
            if failure is not None:
                raise failure

        self.membership.beat = beat
        thread = threading.Thread(target=self.heartbeat.run, daemon=True)
        with self.assertLogs(LOGGER, 'INFO') as logs:
            thread.start()
            self.assertTrue(done.wait(PATIENCE))
            self.heartbeat.stop()
            thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertEqual(
            [
                'WARNING no heartbeat: the store is of a newer release',
                'ERROR heartbeat failed in a way nobody foresaw',
                'INFO heartbeats succeed again',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_who_cannot_join_tries_until_it_is_stopped(self) -> None:
        self.membership.is_member = False
        tried = threading.Event()
        self.membership.beat = lambda: (
            self.membership.beats.append(0.0),
            tried.set() if len(self.membership.beats) == 3 else None,
        )
        thread = threading.Thread(target=self.heartbeat.join, daemon=True)
        thread.start()
        self.assertTrue(tried.wait(PATIENCE))
        self.heartbeat.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())

    def test_long_old_interval_is_not_waited_for(self) -> None:
        self.heartbeat.change_intervals(3600.0, 3600.0)
        thread = threading.Thread(target=self.heartbeat.run, daemon=True)
        beaten = threading.Event()
        self.membership.beat = beaten.set
        thread.start()
        self.assertTrue(beaten.wait(PATIENCE))
        beaten.clear()
        self.heartbeat.change_intervals(0.001, 0.001)
        self.assertTrue(beaten.wait(PATIENCE))
        self.heartbeat.stop()
        thread.join(PATIENCE)
