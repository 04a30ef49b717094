"""The two loops and how they end. Threads are real, intervals tiny."""

from __future__ import annotations

import threading
import unittest
import unittest.mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import fence, host, notices, refresh
from tests.unit.engine import clock

LOGGER = 'ironic_ownership.engine'
PATIENCE = 30.0
"""Seconds after which a test gives up on a thread."""

TTL, BEAT = 20.0, 5.0
TIRED = exceptions.IronicUnavailableError('Ironic is down')


class Membership:
    """Counts what the host asks for."""

    def __init__(self) -> None:
        self.is_member = False
        self.beats = 0
        self.left = 0
        self.lost = 0
        self.failures: list[Exception | None] = []
        self.on_beat = lambda: None

    def beat(self) -> None:
        self.beats += 1
        self.on_beat()
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.is_member = True

    def lose_epoch(self) -> None:
        self.lost += 1

    def leave(self) -> None:
        self.left += 1


class Refresher:
    """Answers one after the other, the last one for ever."""

    def __init__(self) -> None:
        self.answers: list[refresh.Report | Exception] = [refresh.Report()]
        self.refreshed = 0

    def refresh(self) -> refresh.Report:
        self.refreshed += 1
        first = self.answers[0]
        answer = self.answers.pop(0) if len(self.answers) > 1 else first
        if isinstance(answer, Exception):
            raise answer
        return answer


class Wake(threading.Event):
    """Does not wait between two refreshes, and notes how long it should.

    :param rounds: after so many waits it really waits, to be woken.
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


class HostCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.membership, self.refresher = Membership(), Refresher()
        self.fence = fence.Fence(TTL, 1.0)
        self.fence.extend(fence.monotonic(), 1)
        self.notices = notices.Notices()
        self.prepared: list[Exception | None] = []
        self.failure: Exception | None = None

    def build(self, wake: threading.Event, beat=BEAT) -> host.Host:
        return host.Host(
            self.membership,
            self.refresher,
            self.fence,
            self.notices,
            wake,
            unittest.mock.sentinel.guard,
            prepare=self.prepare,
            heartbeat_interval=beat,
            refresh_interval=60.0,
            member_ttl=TTL,
        )

    def prepare(self) -> None:
        failure = self.prepared.pop(0) if self.prepared else None
        if failure is not None:
            raise failure

    def start(self, served: host.Host) -> threading.Thread:
        def run() -> None:
            try:
                served.run()
            except exceptions.OwnershipError as exc:
                self.failure = exc

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def end(self, served: host.Host, thread: threading.Thread) -> None:
        served.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())

    def run_rounds(self, rounds: int) -> list[float]:
        """Refresh that often and return the waits that were asked for."""
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
        self.assertEqual(1, self.membership.left)

    def test_stop_before_the_start_serves_nobody(self) -> None:
        served = self.build(threading.Event())
        served.stop()
        served.run()
        self.assertEqual(
            (0, 0), (self.membership.beats, self.refresher.refreshed)
        )

    def test_stop_while_waiting_for_dependencies_ends_at_once(self) -> None:
        waiting = threading.Event()

        def prepare() -> None:
            waiting.set()
            raise TIRED

        self.prepare = prepare
        served = self.build(threading.Event())
        thread = self.start(served)
        self.assertTrue(waiting.wait(PATIENCE))
        self.end(served, thread)
        self.assertEqual(0, self.membership.beats)

    def test_refresh_that_hangs_does_not_hold_up_the_end(self) -> None:
        """The right is taken first, so what hangs can't write any more."""
        inside, forever = threading.Event(), threading.Event()
        self.addCleanup(forever.set)

        def hang() -> refresh.Report:
            inside.set()
            forever.wait(PATIENCE)
            return refresh.Report()

        self.refresher.refresh = hang
        served = self.build(threading.Event())
        with unittest.mock.patch.object(host, 'STOP_PATIENCE', 0.01):
            thread = self.start(served)
            self.assertTrue(inside.wait(PATIENCE))
            self.end(served, thread)
        self.assertFalse(forever.is_set())
        self.assertFalse(self.fence.may_act)
        self.assertEqual(1, self.membership.left)


class TestRefreshes(HostCase):
    def test_good_refresh_is_followed_by_the_next_after_the_interval(
        self,
    ) -> None:
        self.assertEqual([60.0, 60.0], self.run_rounds(2))

    def test_failures_back_off_and_a_success_ends_that(self) -> None:
        self.refresher.answers = [
            *[TIRED] * 8,
            refresh.Report(),
            TIRED,
            refresh.Report(),
        ]
        self.assertEqual(
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 1.0, 60.0],
            self.run_rounds(11),
        )

    def test_failures_are_said_once_and_their_end_once(self) -> None:
        self.refresher.answers = [*[TIRED] * 5, refresh.Report()]
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_rounds(8)
        self.assertEqual(
            [
                'WARNING no refresh: Ironic is down',
                'INFO refreshes succeed again',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_waiting_for_another_service_refreshes_soon(self) -> None:
        self.refresher.answers = [
            refresh.Report(waiting=1),
            refresh.Report(refused=1),
            refresh.Report(),
        ]
        self.assertEqual([BEAT, BEAT, 60.0], self.run_rounds(3))

    def test_fenced_service_registers_anew(self) -> None:
        self.refresher.answers = [
            exceptions.FencedError('epoch 1'),
            refresh.Report(),
        ]
        self.run_rounds(2)
        self.assertEqual(1, self.membership.lost)

    def test_what_nobody_foresaw_does_not_end_the_loop(self) -> None:
        self.refresher.answers = [ZeroDivisionError(), refresh.Report()]
        with self.assertLogs(LOGGER, 'ERROR') as logs:
            self.run_rounds(2)
        self.assertEqual(1, len(logs.records))


class TestStart(HostCase):
    def test_dependencies_are_waited_for_and_that_is_said_once(self) -> None:
        down = exceptions.RecordsUnavailableError('no database')
        self.prepared = [down, down, down]
        with (
            unittest.mock.patch.object(host.Host, '_back_off', lambda *a: 0),
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

    def test_nobody_joins_before_the_dependencies_answer(self) -> None:
        joined = []
        self.prepare = lambda: joined.append(self.membership.beats)
        self.run_rounds(1)
        self.assertEqual([0], joined)

    def test_what_will_not_pass_ends_the_process(self) -> None:
        for failure in (
            exceptions.IronicTooOldError('too old'),
            exceptions.SchemaError('of a newer release'),
            exceptions.IronicError('wrong endpoint'),
        ):
            self.prepared = [failure]
            served = self.build(threading.Event())
            with self.assertRaises(type(failure)):
                served.run()
            self.assertEqual(0, self.membership.beats)


class TestJoin(HostCase):
    """Time passes with each beat; nobody really waits for it."""

    def setUp(self) -> None:
        super().setUp()
        self.clock = clock.Clock()
        patch = unittest.mock.patch.object(fence, 'monotonic', self.clock)
        patch.start()
        self.addCleanup(patch.stop)
        self.membership.on_beat = lambda: self.clock.elapse(BEAT)

    def build_quick(self, wake: threading.Event) -> host.Host:
        served = self.build(wake)
        wait = served._stopping.wait
        served._stopping.wait = lambda timeout=None: (
            served._stopping.is_set() if timeout == BEAT else wait(timeout)
        )
        return served

    def exists(self) -> exceptions.MemberExistsError:
        return exceptions.MemberExistsError('host1 is served already')

    def test_dead_predecessor_is_waited_for(self) -> None:
        self.membership.failures = [self.exists() for _ in range(4)]
        wake = Wake(1)
        served = self.build_quick(wake)
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            thread = self.start(served)
            self.assertTrue(wake.enough.wait(PATIENCE))
            self.end(served, thread)
        self.assertIsNone(self.failure)
        self.assertEqual(1, len(logs.records))

    def test_one_that_lives_longer_than_the_dead_could_is_refused(
        self,
    ) -> None:
        self.membership.failures = [self.exists() for _ in range(100)]
        served = self.build_quick(threading.Event())
        began = self.clock()
        with self.assertRaises(exceptions.MemberExistsError):
            served.run()
        self.assertGreaterEqual(self.clock() - began, TTL + BEAT)
        self.assertLess(self.clock() - began, 2 * TTL)
        self.assertEqual(0, self.refresher.refreshed)


class TestHeartbeats(HostCase):
    def test_membership_that_fails_for_good_is_said_once_and_tried_again(
        self,
    ) -> None:
        broken = exceptions.MembershipError('the store is of a newer release')
        self.membership.failures = [None, broken, broken, None, None]
        done = threading.Event()
        self.membership.on_beat = lambda: (
            done.set() if self.membership.beats == 6 else None
        )
        served = self.build(threading.Event(), beat=0.001)
        with self.assertLogs(LOGGER, 'INFO') as logs:
            thread = self.start(served)
            self.assertTrue(done.wait(PATIENCE))
            self.end(served, thread)
        self.assertEqual(
            [
                'WARNING no heartbeat: the store is of a newer release',
                'INFO heartbeats succeed again',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )
