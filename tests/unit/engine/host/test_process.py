"""The loops of a host, its start, and how it ends, in virtual time."""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.records import Budget, Change, Claim
from ironic_ownership.engine.host import process
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.worker import Scheduler
from tests.unit.engine import service, world

PATIENCE = 180.0
"""Seconds after which a test gives up on a thread."""
SIX = collections.Counter[type[Change]]({Claim: 6})
BEAT, WATCH, GRACE = 5.0, 1.0, 30.0
UNEXPECTED = 'failed with an unexpected error: '
TIRED = exceptions.IronicUnavailableError('Ironic is down')


class HostCase(service.ServiceCase):
    """A host of which each refresh has an answer of the test.

    :ivar answers: in order, the last one repeatedly.
    :ivar at: times of the refreshes.
    """

    def setUp(self) -> None:
        super().setUp()
        self.clock = self.shared.clock
        self.use(service.Service('host1', world.ALL, self.shared))

    def use(self, host: service.Service) -> None:
        self.host, self.member = host, host.member
        self.process = host.process
        self.loop = self.process.refresh_loop
        self.refresher = host.refresher
        self.answers: list[Summary | Exception] = [Summary()]
        self.at: list[float] = []
        self.on_refresh: Callable[[], object] = lambda: None
        self.refresher.refresh = self.refresh
        self.process.prepare = self.prepare = mock.Mock()

    def refresh(self) -> Summary:
        self.at.append(self.clock())
        self.on_refresh()
        first = self.answers[0]
        answer = self.answers.pop(0) if len(self.answers) > 1 else first
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run_for(self, seconds: float) -> None:
        self.process.scheduler.lasts = seconds
        self.process.run()

    def logged_in(self, seconds: float) -> list[str]:
        """Run for that time; return what is logged of start and refreshes."""
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.run_for(seconds)
        return [
            f'{r.levelname} {r.getMessage()}'
            for r in logs.records
            if not r.getMessage().startswith('host1 ')
        ]

    def pauses(self, seconds: float) -> Sequence[float]:
        """Return the pauses between the refreshes in that time."""
        self.run_for(seconds)
        return [later - one for one, later in itertools.pairwise(self.at)]


class TestStop(HostCase):
    """With threads: those of a process."""

    def setUp(self) -> None:
        super().setUp()
        # All threads end by themselves, if late on a busy machine.
        self.limit('STOP_TIMEOUT', PATIENCE)
        self.inside = threading.Event()
        self.forever = threading.Event()
        self.addCleanup(self.forever.set)
        self.on_refresh = self.inside.set
        self.left = self.member.leave = mock.Mock()
        scheduler = Scheduler(self.host.conditions, self.clock)
        self.process.scheduler = self.process.monitor.scheduler = scheduler

    def limit(self, name: str, seconds: float) -> None:
        self.enterContext(mock.patch.object(process, name, seconds))

    def stop_inside(self) -> None:
        """Run a host, and stop it when something has begun."""
        thread = threading.Thread(target=self.process.run, daemon=True)
        thread.start()
        self.assertTrue(self.inside.wait(PATIENCE))
        self.process.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertFalse(self.host.fence.may_act)

    def test_stop_ends_the_threads_the_right_and_the_membership(self) -> None:
        before = set(threading.enumerate())
        self.stop_inside()
        self.assertEqual(set(), set(threading.enumerate()) - before)
        self.left.assert_called_once_with(GRACE)

    def test_process_leaves_after_its_last_calls(self) -> None:
        """The backend is called from one thread at a time.

        What an answer of the records gives is given back.
        """
        # A slow machine is no reason to leave before.
        self.limit('LEAVE_TIMEOUT', PATIENCE)
        order: list[str] = []
        self.process.heartbeat.finish = lambda: (
            self.forever.wait(0.2),  # a last call that takes its time
            order.append('beat'),
        )
        self.member.leave = lambda grace: order.append('left')
        self.on_refresh = lambda: (
            self.member.registration.run_in_background(
                lambda: (self.forever.wait(0.4), order.append('answered'))
            ),
            self.inside.set(),
        )
        self.stop_inside()
        self.assertEqual({'beat', 'answered'}, {*order[:2]})
        self.assertEqual('left', order[-1])

    def test_leaving_that_hangs_does_not_hold_up_the_end(self) -> None:
        self.member.leave = lambda grace: self.forever.wait(PATIENCE)
        self.limit('LEAVE_TIMEOUT', 0.01)
        with self.assertLogs(service.LOGGER, 'WARNING'):
            self.stop_inside()

    def test_refresh_that_hangs_does_not_hold_up_the_end(self) -> None:
        """The fence drops first, so a hanging thread can't write."""
        self.on_refresh = lambda: (
            self.inside.set(),
            self.forever.wait(PATIENCE),
        )
        self.limit('STOP_TIMEOUT', 0.01)
        self.stop_inside()
        self.assertFalse(self.forever.is_set())
        self.left.assert_called_once_with(GRACE)

    def test_stop_interrupts_the_wait_for_dependencies(self) -> None:
        def prepare() -> None:
            self.inside.set()
            raise TIRED

        self.process.prepare = prepare
        self.stop_inside()
        self.assertFalse(self.member.is_member)

    def test_stop_before_the_start_starts_nothing(self) -> None:
        self.process.stop()
        self.process.run()
        self.assertEqual((False, []), (self.member.is_member, self.at))


class TestRefreshes(HostCase):
    def test_each_answer_has_its_pause(self) -> None:
        soon: dict[str, Any] = {'limited': True, 'done': SIX}
        for name, answers, pauses in (
            ('good', [Summary()], [60.0, 60.0]),
            (
                'failures back off, and a success ends that',
                [*[TIRED] * 8, Summary(), TIRED, Summary()],
                [1, 2, 4, 8, 16, 32, 60, 60, 60, 1, 60],
            ),
            (
                'another service is waited for',
                [Summary(waiting=1), Summary(refused=1), Summary()],
                [BEAT, BEAT, 60.0],
            ),
            (
                'the limit is reached',
                [Summary(**soon), Summary(**soon, waiting=1), Summary()],
                [0.0, 0.0, 60.0],
            ),
            (
                'an unexpected error',
                [ZeroDivisionError(), Summary()],
                [60.0, 60.0],
            ),
        ):
            with self.subTest(name):
                self.setUp()
                self.answers = answers
                found = self.pauses(sum(pauses) + 30)
                self.assertEqual(pauses, found[: len(pauses)])

    def test_budget_is_asked_again_when_its_rate_allows_more(self) -> None:
        log = self.refresher.operator_log = mock.Mock()
        self.refresher.reconciler.budget = Budget(rate=6)
        self.answers = [
            Summary(limited=True, done=SIX, delayed=12, retry_in=20.0),
            Summary(delayed=6, retry_in=0.5),
            Summary(delayed=6, retry_in=90.0),
            Summary(),
        ]
        self.assertEqual([20.0, BEAT, 60.0], self.pauses(120)[:3])
        told = [call.args for call in log.delayed.call_args_list]
        self.assertEqual([(12, 120.0), (6, 60.0), (6, 90.0), (0, 0.0)], told)

    def test_failures_and_recovery_are_logged_once(self) -> None:
        self.answers = [
            *[TIRED] * 5,
            *[ZeroDivisionError()] * 2,
            Summary(),
        ]
        self.assertEqual(
            [
                'WARNING refresh failed: Ironic is down',
                f'ERROR refresh {UNEXPECTED}ZeroDivisionError: ',
                'INFO refresh succeeded again',
                'INFO refreshed: nothing to change; owns 0 nodes',
            ],
            self.logged_in(500),
        )

    def test_what_a_refresh_did_is_stored_and_logged_when_it_changes(
        self,
    ) -> None:
        self.answers = [
            *[Summary(owned=3, waiting=1, owners={'host2': 1})] * 3,
            Summary(owned=3, done=SIX),
            *[Summary(owned=9)] * 3,
        ]
        texts = [
            'changed nothing; owns 3 nodes; 1 node waits for release by host2',
            'claimed 6 nodes',
            'nothing to change; owns 9 nodes',
        ]
        self.assertEqual(
            [f'INFO refreshed: {text}' for text in texts], self.logged_in(400)
        )
        (refresh,) = self.host.conditions.of_loops([Loop.REFRESH])
        self.assertEqual(texts[-1], refresh.did)

    def test_memory_is_freed_after_a_list_and_a_failure(self) -> None:
        freed: list[int] = []
        self.loop.free_memory = lambda: freed.append(len(self.at))
        whole = Summary(is_whole=True)
        self.answers = [whole, Summary(), TIRED, Summary()]
        self.run_for(300)
        self.assertEqual([1, 3], freed)

    def test_fenced_service_polls_its_row_and_logs_it_once(self) -> None:
        self.answers = [exceptions.FencedError('epoch 1')]
        self.on_refresh = lambda: self.records.set_service(
            'host1', actor='x', forced_down=True
        )
        lines = self.logged_in(100)
        (warning,) = [one for one in lines if one.startswith('WARNING')]
        self.assertIn('is forced down', warning)
        self.assertEqual(1, len(self.at))

    def test_awaited_event_starts_the_next_refresh(self) -> None:
        """The handover limit, a death, or the end of a grace time."""
        self.refresher._last = Summary(deferred=1)
        due = iter([False, False, False, True])
        self.refresher.is_outdated = lambda: next(due, False)
        self.assertEqual([3 * WATCH, 60.0], self.pauses(100)[:2])

    def test_wanted_refresh_follows_one_under_way(self) -> None:
        self.on_refresh = lambda: (
            self.loop.wake() if len(self.at) == 1 else None
        )
        self.assertEqual([0.0, 60.0], self.pauses(90))


class TestStart(HostCase):
    def test_wait_for_dependencies_is_logged_once(self) -> None:
        down = exceptions.RecordsUnavailableError('no database')
        self.prepare.side_effect = [down, down, down, None]
        self.assertEqual(
            [
                'WARNING waiting to start: no database',
                'INFO database and Ironic answer',
                'INFO refreshed: nothing to change; owns 0 nodes',
            ],
            self.logged_in(8),
        )
        self.assertEqual([1000 + 1 + 2 + 4], self.at)

    def test_permanent_error_ends_the_process(self) -> None:
        newer = exceptions.MembershipError('of a newer release')
        for failure in (
            exceptions.IronicTooOldError('too old'),
            exceptions.SchemaError('of a newer release'),
            exceptions.IronicError('wrong endpoint'),
            newer,
        ):
            with self.subTest(failure):
                self.setUp()
                if failure is newer:
                    self.member.beat = mock.Mock(side_effect=failure)
                else:
                    self.prepare.side_effect = failure
                with self.assertRaises(type(failure)):
                    self.run_for(100)
                self.assertEqual((False, []), (self.member.is_member, self.at))

    def test_standby_refreshes_once_it_is_active(self) -> None:
        """It runs the action before a refresh, and complains of nothing."""
        active, action = self.start('host1'), mock.Mock()
        self.use(service.Service('host1', world.ALL, self.shared))
        self.host.beat()
        with self.assertNoLogs(service.LOGGER, 'WARNING'):
            self.assertEqual(60.0, self.loop.run_step())
        self.loop.before_refresh = action
        self.loop.wake()
        self.loop.run_step()
        action.assert_called_once()
        self.assertEqual([], self.at)
        active.member.leave(0.0)
        self.host.beat()
        self.loop.run_step()
        self.assertEqual(1, len(self.at))
