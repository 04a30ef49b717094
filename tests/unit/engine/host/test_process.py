"""The two loops and how they end. Threads are real, intervals tiny."""

from __future__ import annotations

import threading
import time
import unittest
import unittest.mock
from unittest.mock import ANY

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import process
from ironic_ownership.engine.host.activity import Activity
from ironic_ownership.engine.host.condition_monitor import ConditionMonitor
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from tests.unit.engine import clock

LOGGER = 'ironic_ownership.engine'
PATIENCE = 180.0
"""Seconds after which a test gives up on a thread."""

TTL, BEAT, WATCH, GRACE = 20.0, 5.0, 1.0, 90.0
TIRED = exceptions.IronicUnavailableError('Ironic is down')


class FakeMember:
    """Counts the calls of the host."""

    def __init__(self) -> None:
        self.is_idle = False
        self.epoch = 1
        self.left: list[float] = []
        self.checked = 0

    def check_epoch(self) -> None:
        self.checked += 1

    def leave(self, grace: float) -> None:
        self.left.append(grace)


class Loop:
    """A heartbeat, or a take-over: runs until it is stopped."""

    def __init__(self) -> None:
        self.joined = 0
        self.ends = threading.Event()
        self.ended = False
        self.on_join = lambda: None

    def join(self) -> None:
        self.joined += 1
        self.on_join()

    def run(self) -> None:
        self.ends.wait(PATIENCE)
        self.ended = True

    def stop(self) -> None:
        self.ends.set()

    def change_intervals(self, *intervals: float) -> None:
        """Ignore them."""


class Refresher:
    """Returns the answers in order, the last one repeatedly."""

    def __init__(self) -> None:
        self.answers: list[Summary | Exception] = [Summary()]
        self.refreshed = 0
        self.requested = 0
        self.is_waiting = False
        self.outdated: list[bool] = []
        self.on_refresh = lambda: None

    def is_outdated(self) -> bool:
        self.requested += self.is_waiting
        return self.outdated.pop(0) if self.outdated else False

    def refresh(self) -> Summary:
        self.refreshed += 1
        self.on_refresh()
        first = self.answers[0]
        answer = self.answers.pop(0) if len(self.answers) > 1 else first
        if isinstance(answer, Exception):
            raise answer
        return answer


class Wake(threading.Event):
    """Records the waits between refreshes, and skips them.

    :param rounds: number of waits after which it really waits.
    """

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.enough = threading.Event()
        self._rounds = rounds

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) >= self._rounds:
            self.enough.set()
            return super().wait(PATIENCE)
        return True


class Sleepless(threading.Event):
    """Never set: each wait returns immediately."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return False


class HostCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.member, self.refresher = FakeMember(), Refresher()
        self.heartbeat, self.takeover = Loop(), Loop()
        self.worker = Loop()
        self.clock = clock.Clock()
        self.fence = fence.Fence(TTL, 1.0, self.clock)
        self.fence.open(self.clock(), 1)
        self.conditions = conditions.Conditions()
        self.prepared: list[Exception | None] = []
        self.failure: Exception | None = None
        self.free_memory = unittest.mock.Mock()
        # All threads end by themselves, if late on a busy machine.
        self.enterContext(
            unittest.mock.patch.object(process, 'STOP_TIMEOUT', PATIENCE)
        )

    def build(self, wake: threading.Event) -> process.Host:
        context = ServiceContext(
            'host1',
            Ports(ANY, ANY, ANY, ANY),
            self.fence,
            self.conditions,
            self.clock,
        )
        intervals = Intervals(BEAT, WATCH, 60.0, GRACE)
        return process.Host(
            context,
            self.member,
            self.heartbeat,
            self.takeover,
            RefreshLoop(
                context,
                self.member,
                self.refresher,
                wake,
                intervals,
                self.free_memory,
            ),
            ANY,
            ANY,
            prepare=self.prepare,
            workers={'worker': self.worker},
            monitor=ConditionMonitor(
                context, 'one', lambda: 60.0, frozenset(), (), lambda: False
            ),
            activity=Activity(),
        )

    def prepare(self) -> None:
        failure = self.prepared.pop(0) if self.prepared else None
        if failure is not None:
            raise failure

    def start(self, served: process.Host) -> threading.Thread:
        def run() -> None:
            try:
                served.run()
            except exceptions.OwnershipError as exc:
                self.failure = exc

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def end(self, served: process.Host, thread: threading.Thread) -> None:
        served.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())

    def run_rounds(self, rounds: int) -> list[float]:
        """Refresh that often, and return the requested waits."""
        wake = Wake(rounds)
        served = self.build(wake)
        thread = self.start(served)
        self.assertTrue(wake.enough.wait(PATIENCE))
        self.end(served, thread)
        self.assertIsNone(self.failure)
        return wake.waits[:rounds]


class TestStop(HostCase):
    def test_stop_ends_the_threads_the_right_and_the_membership(self) -> None:
        before = set(threading.enumerate())
        self.run_rounds(2)
        self.assertEqual(set(), set(threading.enumerate()) - before)
        self.assertFalse(self.fence.may_act)
        self.assertEqual([GRACE], self.member.left)
        self.assertTrue(self.worker.ended)

    def test_process_leaves_after_the_last_call_of_the_heartbeat(self) -> None:
        """The backend is called from one thread at a time."""
        run = self.heartbeat.run

        def run_long() -> None:
            self.heartbeat.ends.wait(PATIENCE)
            time.sleep(0.2)  # a last call that takes its time
            run()

        self.heartbeat.run = run_long
        ended: list[bool] = []
        leave = self.member.leave
        self.member.leave = lambda grace: (
            ended.append(self.heartbeat.ended),
            leave(grace),
        )
        self.run_rounds(1)
        self.assertEqual([True], ended)

    def test_leaving_that_hangs_does_not_hold_up_the_end(self) -> None:
        forever = threading.Event()
        self.addCleanup(forever.set)
        self.member.leave = lambda grace: forever.wait(PATIENCE)
        intervals = Intervals(0.0, WATCH, 60.0)
        with (
            unittest.mock.patch.object(process, 'LEAVE_TIMEOUT', 0.01),
            self.assertLogs(LOGGER, 'WARNING'),
        ):
            wake = Wake(1)
            served = self.build(wake)
            served.change_intervals(intervals)
            thread = self.start(served)
            self.assertTrue(wake.enough.wait(PATIENCE))
            self.end(served, thread)
        self.assertFalse(self.fence.may_act)

    def test_stop_before_the_start_starts_nothing(self) -> None:
        served = self.build(threading.Event())
        served.stop()
        served.run()
        self.assertEqual(
            (0, 0), (self.heartbeat.joined, self.refresher.refreshed)
        )

    def test_stop_interrupts_the_wait_for_dependencies(self) -> None:
        waiting = threading.Event()

        def prepare() -> None:
            waiting.set()
            raise TIRED

        self.prepare = prepare
        served = self.build(threading.Event())
        thread = self.start(served)
        self.assertTrue(waiting.wait(PATIENCE))
        self.end(served, thread)
        self.assertEqual(0, self.heartbeat.joined)

    def test_refresh_that_hangs_does_not_hold_up_the_end(self) -> None:
        """The fence drops first, so a hanging thread can't write."""
        inside, forever = threading.Event(), threading.Event()
        self.addCleanup(forever.set)

        def hang() -> Summary:
            inside.set()
            forever.wait(PATIENCE)
            return Summary()

        self.refresher.refresh = hang
        served = self.build(threading.Event())
        with unittest.mock.patch.object(process, 'STOP_TIMEOUT', 0.01):
            thread = self.start(served)
            self.assertTrue(inside.wait(PATIENCE))
            self.end(served, thread)
        self.assertFalse(forever.is_set())
        self.assertFalse(self.fence.may_act)
        self.assertEqual([GRACE], self.member.left)


class TestRefreshes(HostCase):
    def test_good_refresh_is_followed_by_the_next_after_the_interval(
        self,
    ) -> None:
        self.assertEqual([60.0, 60.0], self.run_rounds(2))

    def test_failures_back_off_and_a_success_ends_that(self) -> None:
        self.refresher.answers = [
            *[TIRED] * 8,
            Summary(),
            TIRED,
            Summary(),
        ]
        self.assertEqual(
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 1.0, 60.0],
            self.run_rounds(11),
        )

    def test_failures_and_recovery_are_logged_once(self) -> None:
        self.refresher.answers = [*[TIRED] * 5, Summary()]
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_rounds(8)
        self.assertEqual(
            [
                'WARNING refresh failed: Ironic is down',
                'INFO refresh succeeded again',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_memory_is_freed_after_a_list_and_a_failure(self) -> None:
        freed: list[int] = []
        self.free_memory.side_effect = lambda: freed.append(
            self.refresher.refreshed
        )
        self.refresher.answers = [Summary(is_whole=True), Summary(), TIRED]
        self.run_rounds(3)
        self.assertEqual([1, 3], freed)

    def test_waiting_for_another_service_refreshes_soon(self) -> None:
        self.refresher.answers = [
            Summary(waiting=1),
            Summary(refused=1),
            Summary(),
        ]
        self.assertEqual([BEAT, BEAT, 60.0], self.run_rounds(3))

    def test_refresh_that_reached_the_limit_goes_on_immediately(self) -> None:
        self.refresher.answers = [
            Summary(limited=True, applied=5),
            Summary(limited=True, applied=5, waiting=1),
            Summary(),
        ]
        with unittest.mock.patch.object(
            RefreshLoop, '_wait_for_refresh', autospec=True
        ) as waits:
            wake = Wake(1)
            waits.side_effect = lambda _, seconds: wake.wait(seconds)
            served = self.build(wake)
            again = threading.Event()
            self.refresher.on_refresh = lambda: (
                again.set() if self.refresher.refreshed == 3 else wake.set()
            )
            thread = self.start(served)
            self.assertTrue(again.wait(PATIENCE))
            self.end(served, thread)
        self.assertEqual([0.0, 0.0], wake.waits[:2])

    def test_fenced_service_polls_its_row_and_logs_it_once(self) -> None:
        """The poll logs why, as the thread of the epoch does."""
        self.refresher.answers = [
            exceptions.FencedError('epoch 1'),
            Summary(),
        ]
        self.refresher.on_refresh = lambda: setattr(self.member, 'epoch', None)
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.run_rounds(2)
        self.assertEqual(1, self.member.checked)

    def test_unexpected_error_does_not_end_the_loop(self) -> None:
        self.refresher.answers = [ZeroDivisionError(), Summary()]
        with self.assertLogs(LOGGER, 'ERROR') as logs:
            self.run_rounds(2)
        self.assertEqual(1, len(logs.records))


class TestStart(HostCase):
    def test_wait_for_dependencies_is_logged_once(self) -> None:
        down = exceptions.RecordsUnavailableError('no database')
        self.prepared = [down, down, down]
        with (
            unittest.mock.patch.object(process, 'back_off', lambda *a: 0),
            self.assertLogs(LOGGER, 'INFO') as logs,
        ):
            self.run_rounds(1)
        self.assertEqual(
            [
                'WARNING waiting to start: no database',
                'INFO database and Ironic answer',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_process_joins_after_the_dependencies_answer(self) -> None:
        joined = []
        self.prepare = lambda: joined.append(self.heartbeat.joined)
        self.run_rounds(1)
        self.assertEqual([0], joined)

    def test_permanent_error_ends_the_process(self) -> None:
        for failure in (
            exceptions.IronicTooOldError('too old'),
            exceptions.SchemaError('of a newer release'),
            exceptions.IronicError('wrong endpoint'),
        ):
            self.prepared = [failure]
            served = self.build(threading.Event())
            with self.assertRaises(type(failure)):
                served.run()
            self.assertEqual(0, self.heartbeat.joined)


class TestJoin(HostCase):
    def test_store_that_can_never_be_used_ends_the_process(self) -> None:
        def refuse() -> None:
            raise exceptions.MembershipError('of a newer release')

        self.heartbeat.on_join = refuse
        served = self.build(threading.Event())
        with self.assertRaises(exceptions.MembershipError):
            served.run()
        self.assertEqual(0, self.refresher.refreshed)


class TestStandby(HostCase):
    def test_standby_refreshes_nothing_and_complains_of_nothing(self) -> None:
        self.member.is_idle, self.member.epoch = True, None
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.assertEqual([60.0, 60.0], self.run_rounds(2))
        self.assertEqual(0, self.refresher.refreshed)

    def test_standby_runs_the_action_before_a_refresh(self) -> None:
        self.member.is_idle, self.member.epoch = True, None
        done = threading.Event()
        served = self.build(threading.Event())
        thread = self.start(served)
        served.before_refresh(done.set)
        self.assertTrue(done.wait(PATIENCE))
        self.end(served, thread)

    def test_standby_that_becomes_active_refreshes(self) -> None:
        self.member.is_idle, self.member.epoch = True, None
        wake = threading.Event()
        served = self.build(wake)
        refreshed = threading.Event()
        self.refresher.on_refresh = refreshed.set
        thread = self.start(served)
        self.member.is_idle, self.member.epoch = False, 2
        wake.set()
        self.assertTrue(refreshed.wait(PATIENCE))
        self.end(served, thread)


class TestWaiting(HostCase):
    def test_refresh_that_waits_for_nothing_is_not_checked(self) -> None:
        self.run_rounds(3)
        self.assertEqual(0, self.refresher.requested)

    def test_awaited_event_starts_the_next_refresh(self) -> None:
        """The handover limit, a death, or the end of a grace time."""
        self.refresher.is_waiting = True
        self.refresher.outdated = [False, False, True]
        again = threading.Event()
        self.refresher.on_refresh = lambda: (
            again.set() if self.refresher.refreshed == 2 else None
        )
        wake = Sleepless()
        served = self.build(wake)
        thread = self.start(served)
        self.assertTrue(again.wait(PATIENCE))
        self.end(served, thread)
        self.assertEqual([WATCH, WATCH], wake.waits[:2])
