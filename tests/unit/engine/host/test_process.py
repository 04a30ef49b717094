"""The loops of a host, its start, and how it ends, in virtual time."""

from __future__ import annotations

import collections
import itertools
import threading
import unittest
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock
from unittest.mock import ANY

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop as LoopName
from ironic_ownership.contracts.records import Budget, Change, Claim
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import process
from ironic_ownership.engine.host.health import ConditionMonitor
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.worker import Scheduler, Worker
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.unit.engine import service, world
from tests.unit.engine.virtual_time import VirtualTime

LOGGER = 'ironic_ownership.engine'
PATIENCE = 180.0
"""Seconds after which a test gives up on a thread."""
SIX = collections.Counter[type[Change]]({Claim: 6})
TTL, BEAT, WATCH, GRACE = 20.0, 5.0, 1.0, 90.0
UNEXPECTED = 'failed with an unexpected error: '
TIRED = exceptions.IronicUnavailableError('Ironic is down')


class Loop(Worker):
    """A heartbeat, or another worker: waits until it is stopped.

    It is a member after the third attempt to join.
    """

    def __init__(self, member: mock.Mock) -> None:
        super().__post_init__()
        self.member = member
        self.joined = 0
        self.finished = False

    def join(self) -> float | None:
        self.joined += 1
        self.member.is_member = self.joined > 2
        return None if self.member.is_member else BEAT

    def step(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        self.finished = True


class Refresher:
    """Returns the answers in order, the last one repeatedly."""

    def __init__(self, context: ServiceContext) -> None:
        self.context = context
        self.answers: list[Summary | Exception] = [Summary()]
        self.at: list[float] = []
        self.is_waiting = False
        self.outdated: list[bool] = []
        self.on_refresh: Callable[[], object] = lambda: None

    def is_outdated(self) -> bool:
        return self.outdated.pop(0) if self.outdated else False

    def refresh(self) -> Summary:
        self.at.append(self.context.clock())
        self.on_refresh()
        first = self.answers[0]
        answer = self.answers.pop(0) if len(self.answers) > 1 else first
        if isinstance(answer, Exception):
            raise answer
        return answer


class HostCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = FakeClock()
        self.fence = fence.Fence(TTL, 1.0, self.clock)
        self.fence.open(self.clock(), 1)
        self.conditions = conditions.Conditions(self.clock)
        self.context = ServiceContext(
            'host1',
            Ports(ANY, ANY, ANY, ANY),
            self.fence,
            self.conditions,
            self.clock,
        )
        self.time = VirtualTime(self.conditions, self.clock)
        self.member = mock.Mock(
            context=self.context, is_member=False, is_idle=False, epoch=1
        )
        self.refresher = Refresher(self.context)
        self.heartbeat, self.worker = Loop(self.member), Loop(self.member)
        self.prepare = mock.Mock()
        self.free_memory = mock.Mock()

    def build(self, scheduler: Scheduler | None = None) -> process.Host:
        """Return a process that consists of parts of the test."""
        scheduler = scheduler or self.time
        self.loop = RefreshLoop(
            self.member,
            self.refresher,
            Intervals(BEAT, WATCH, 60.0, GRACE),
            self.free_memory,
        )
        built = object.__new__(process.Host)
        vars(built).update(
            member=self.member,
            context=self.context,
            scheduler=scheduler,
            heartbeat=self.heartbeat,
            refresh_loop=self.loop,
            workers={'refresh': self.loop, 'worker': self.worker},
            monitor=ConditionMonitor(
                self.member, scheduler, lambda: 60.0, (), ()
            ),
            prepare=self.prepare,
        )
        built._start = process._Start(built)
        return built

    def run_for(self, seconds: float) -> None:
        self.time.lasts = seconds
        self.build().run()

    def logged_in(self, seconds: float) -> list[str]:
        """Run for that time, and return the lines of the log."""
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_for(seconds)
        return [f'{r.levelname} {r.getMessage()}' for r in logs.records]

    def pauses(self, seconds: float) -> Sequence[float]:
        """Return the pauses between the refreshes in that time."""
        self.run_for(seconds)
        at = itertools.pairwise(self.refresher.at)
        return [later - one for one, later in at]


class TestStop(HostCase):
    """With threads: those of a process."""

    def setUp(self) -> None:
        super().setUp()
        # All threads end by themselves, if late on a busy machine.
        self.limit('STOP_TIMEOUT', PATIENCE)
        self.heartbeat.joined = 2
        self.inside = threading.Event()
        self.forever = threading.Event()
        self.addCleanup(self.forever.set)
        self.refresher.on_refresh = self.inside.set

    def limit(self, name: str, seconds: float) -> None:
        self.enterContext(mock.patch.object(process, name, seconds))

    def stop_inside(self) -> None:
        """Run a host, and stop it when something has begun."""
        served = self.build(Scheduler(self.conditions, self.clock))
        thread = threading.Thread(target=served.run, daemon=True)
        thread.start()
        self.assertTrue(self.inside.wait(PATIENCE))
        served.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertFalse(self.fence.may_act)

    def test_stop_ends_the_threads_the_right_and_the_membership(self) -> None:
        before = set(threading.enumerate())
        self.stop_inside()
        self.assertEqual(set(), set(threading.enumerate()) - before)
        self.member.leave.assert_called_once_with(GRACE)
        self.assertTrue(self.worker.finished)

    def test_process_leaves_after_the_last_call_of_the_heartbeat(self) -> None:
        """The backend is called from one thread at a time."""
        order: list[str] = []
        self.heartbeat.finish = lambda: (
            self.forever.wait(0.2),  # a last call that takes its time
            order.append('beat'),
        )
        self.member.leave = lambda grace: order.append('left')
        self.stop_inside()
        self.assertEqual(['beat', 'left'], order)

    def test_leaving_that_hangs_does_not_hold_up_the_end(self) -> None:
        self.member.leave = lambda grace: self.forever.wait(PATIENCE)
        self.limit('LEAVE_TIMEOUT', 0.01)
        with self.assertLogs(LOGGER, 'WARNING'):
            self.stop_inside()

    def test_refresh_that_hangs_does_not_hold_up_the_end(self) -> None:
        """The fence drops first, so a hanging thread can't write."""
        self.refresher.on_refresh = lambda: (
            self.inside.set(),
            self.forever.wait(PATIENCE),
        )
        self.limit('STOP_TIMEOUT', 0.01)
        self.stop_inside()
        self.assertFalse(self.forever.is_set())
        self.member.leave.assert_called_once_with(GRACE)

    def test_stop_interrupts_the_wait_for_dependencies(self) -> None:
        def prepare() -> None:
            self.inside.set()
            raise TIRED

        self.prepare = prepare
        self.stop_inside()
        self.assertEqual(2, self.heartbeat.joined)

    def test_stop_before_the_start_starts_nothing(self) -> None:
        served = self.build()
        served.stop()
        served.run()
        self.assertEqual((2, []), (self.heartbeat.joined, self.refresher.at))


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
                self.refresher.answers = answers
                found = self.pauses(sum(pauses) + 30)
                self.assertEqual(pauses, found[: len(pauses)])

    def test_budget_is_asked_again_when_its_rate_allows_more(self) -> None:
        log = self.refresher.operator_log = mock.Mock()
        self.refresher.reconciler = mock.Mock(budget=Budget(rate=6))
        self.refresher.answers = [
            Summary(limited=True, done=SIX, delayed=12, retry_in=20.0),
            Summary(delayed=6, retry_in=0.5),
            Summary(delayed=6, retry_in=90.0),
            Summary(),
        ]
        self.assertEqual([20.0, BEAT, 60.0], self.pauses(120)[:3])
        told = [call.args for call in log.delayed.call_args_list]
        self.assertEqual([(12, 120.0), (6, 60.0), (6, 90.0), (0, 0.0)], told)

    def test_failures_and_recovery_are_logged_once(self) -> None:
        self.refresher.answers = [
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
        self.refresher.answers = [
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
        (refresh,) = self.conditions.of_loops([LoopName.REFRESH])
        self.assertEqual(texts[-1], refresh.did)

    def test_memory_is_freed_after_a_list_and_a_failure(self) -> None:
        freed: list[int] = []
        self.free_memory.side_effect = lambda: freed.append(
            len(self.refresher.at)
        )
        whole = Summary(is_whole=True)
        self.refresher.answers = [whole, Summary(), TIRED, Summary()]
        self.run_for(300)
        self.assertEqual([1, 3], freed)

    def test_fenced_service_polls_its_row_and_logs_it_once(self) -> None:
        """The poll logs why, as the thread of the epoch does."""
        self.refresher.answers = [exceptions.FencedError('epoch 1')]
        self.refresher.on_refresh = lambda: setattr(self.member, 'epoch', None)
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.run_for(100)
        self.member.check_epoch.assert_called_once()

    def test_awaited_event_starts_the_next_refresh(self) -> None:
        """The handover limit, a death, or the end of a grace time."""
        self.refresher.is_waiting = True
        self.refresher.outdated = [False, False, False, True]
        self.assertEqual([3 * WATCH, 60.0], self.pauses(100)[:2])

    def test_wanted_refresh_follows_one_under_way(self) -> None:
        self.refresher.on_refresh = lambda: (
            self.loop.wake() if len(self.refresher.at) == 1 else None
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
            self.logged_in(8 + 2 * BEAT),
        )
        self.assertEqual([1000 + 1 + 2 + 4 + 2 * BEAT], self.refresher.at)

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
                    self.heartbeat.join = mock.Mock(side_effect=failure)
                else:
                    self.prepare.side_effect = failure
                with self.assertRaises(type(failure)):
                    self.run_for(100)
                self.assertEqual(
                    (0, []), (self.heartbeat.joined, self.refresher.at)
                )

    def test_standby_refreshes_once_it_is_active(self) -> None:
        """It runs the action before a refresh, and complains of nothing."""
        self.member.is_idle, self.member.epoch = True, None
        loop, action = self.build().refresh_loop, mock.Mock()
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.assertEqual(60.0, loop.run_step())
        loop.before_refresh(action)
        loop.run_step()
        action.assert_called_once()
        self.assertEqual([], self.refresher.at)
        self.member.is_idle, self.member.epoch = False, 2
        loop.wake()
        loop.run_step()
        self.assertEqual(1, len(self.refresher.at))


class TestWholeHost(service.ServiceCase):
    """All parts of a host, for minutes that take no time."""

    def test_it_owns_nodes_follows_its_row_and_leaves(self) -> None:
        self.ironic.put(*map(world.node, range(1, 5)))
        host = service.Service('host1', world.ALL, self.shared)
        began, time = self.shared.clock(), host.process.scheduler
        ended: list[float] = []

        def force_down() -> None:
            self.assertEqual({'host1'}, {*self.owners().values()})
            self.records.set_service('host1', actor='x', forced_down=True)
            host.fence.changes.subscribe(
                lambda: ended.append(self.shared.clock() - began)
            )

        worker = Loop(mock.Mock())
        worker.first_due, worker.step = 302, force_down
        time.start('test', worker)
        time.lasts = 600
        host.process.run()
        # Within an interval of the heartbeat.
        self.assertLessEqual(302, ended[0])
        self.assertLessEqual(ended[0], 302 + BEAT)
        self.assertEqual(600, self.shared.clock() - began)
        self.assertFalse(host.backend.view().hosts)
