"""The loops of a host, its start, and how it ends, in virtual time."""

from __future__ import annotations

import collections
import itertools
import threading
import unittest
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any
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
SIX = collections.Counter[type[Change]]({Claim: 6})
"""Seconds after which a test gives up on a thread."""

TTL, BEAT, WATCH, GRACE = 20.0, 5.0, 1.0, 90.0
UNEXPECTED = 'failed with an unexpected error: '
TIRED = exceptions.IronicUnavailableError('Ironic is down')


class FakeMember:
    """Counts the calls of the host."""

    incarnation, is_standby = 'one', True

    def __init__(self, context: ServiceContext) -> None:
        self.context = context
        self.is_member = self.is_idle = False
        self.epoch = 1
        self.left: list[float] = []
        self.checked = 0

    def check_epoch(self) -> None:
        self.checked += 1

    def leave(self, grace: float) -> None:
        self.left.append(grace)


class Loop(Worker):
    """A heartbeat, or another worker: waits until it is stopped."""

    def __init__(self, member: FakeMember) -> None:
        super().__post_init__()
        self.member = member
        self.joined = 0
        self.finished = False
        self.on_join: Callable[[], object] = lambda: None

    def join(self) -> float | None:
        self.joined += 1
        self.on_join()
        self.member.is_member = self.joined > 2
        return None if self.member.is_member else BEAT

    def step(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        self.finished = True

    def change_intervals(self, *intervals: float) -> None:
        """Ignore them."""


class Refresher:
    """Returns the answers in order, the last one repeatedly."""

    def __init__(self, context: ServiceContext) -> None:
        self.context = context
        self.answers: list[Summary | Exception] = [Summary()]
        self.at: list[float] = []
        self.requested = 0
        self.is_waiting = False
        self.outdated: list[bool] = []
        self.on_refresh: Callable[[], object] = lambda: None

    def is_outdated(self) -> bool:
        self.requested += self.is_waiting
        return self.outdated.pop(0) if self.outdated else False

    def refresh(self) -> Summary:
        self.at.append(self.context.clock())
        self.on_refresh()
        first = self.answers[0]
        answer = self.answers.pop(0) if len(self.answers) > 1 else first
        if isinstance(answer, Exception):
            raise answer
        return answer


class Parts(process.Host):
    """A process that consists of parts of the test."""

    def __init__(
        self,
        member,
        scheduler,
        heartbeat,
        refresh_loop,
        workers,
        monitor,
        work,
    ) -> None:
        self.member, self.context = member, member.context
        self.scheduler, self.heartbeat = scheduler, heartbeat
        self.refresh_loop, self.workers = refresh_loop, workers
        self.monitor, self.prepare = monitor, work
        self._start = process._Start(self)


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
        self.member = FakeMember(self.context)
        self.refresher = Refresher(self.context)
        self.heartbeat = Loop(self.member)
        self.worker = Loop(self.member)
        self.prepared: list[Exception | None] = []
        self.free_memory = unittest.mock.Mock()

    def build(self, scheduler: Scheduler | None = None) -> process.Host:
        scheduler = scheduler or self.time
        self.loop = RefreshLoop(
            self.member,
            self.refresher,
            Intervals(BEAT, WATCH, 60.0, GRACE),
            self.free_memory,
        )
        return Parts(
            self.member,
            scheduler,
            self.heartbeat,
            self.loop,
            {
                'take-over': Loop(self.member),
                'refresh': self.loop,
                'worker': self.worker,
            },
            ConditionMonitor(
                self.member, scheduler, lambda: 60.0, frozenset(), ()
            ),
            self.prepare,
        )

    def prepare(self) -> None:
        failure = self.prepared.pop(0) if self.prepared else None
        if failure is not None:
            raise failure

    def run_for(self, seconds: float) -> None:
        self.time.lasts = seconds
        self.build().run()

    def refreshes(self, seconds: float) -> Sequence[float]:
        """Return the pauses between the refreshes in that time."""
        self.run_for(seconds)
        at = itertools.pairwise(self.refresher.at)
        return [later - one for one, later in at]


class TestStop(HostCase):
    """With threads: those of a process."""

    def setUp(self) -> None:
        super().setUp()
        # All threads end by themselves, if late on a busy machine.
        self.enterContext(
            unittest.mock.patch.object(process, 'STOP_TIMEOUT', PATIENCE)
        )
        self.heartbeat.joined = 2
        self.inside = threading.Event()
        self.forever = threading.Event()
        self.addCleanup(self.forever.set)

    def hang(self) -> None:
        self.inside.set()
        self.forever.wait(PATIENCE)

    def run_until(self, inside: threading.Event) -> None:
        """Run a host, and stop it when something has begun."""
        served = self.build(Scheduler(self.conditions, self.clock))
        thread = threading.Thread(target=served.run, daemon=True)
        thread.start()
        self.assertTrue(inside.wait(PATIENCE))
        served.stop()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertFalse(self.fence.may_act)

    def test_stop_ends_the_threads_the_right_and_the_membership(self) -> None:
        before = set(threading.enumerate())
        self.refresher.on_refresh = self.inside.set
        self.run_until(self.inside)
        self.assertEqual(set(), set(threading.enumerate()) - before)
        self.assertEqual([GRACE], self.member.left)
        self.assertTrue(self.worker.finished)

    def test_process_leaves_after_the_last_call_of_the_heartbeat(self) -> None:
        """The backend is called from one thread at a time."""
        order: list[str] = []
        self.heartbeat.finish = lambda: (
            self.forever.wait(0.2),  # a last call that takes its time
            order.append('beat'),
        )
        self.member.leave = lambda grace: order.append('left')
        self.refresher.on_refresh = self.inside.set
        self.run_until(self.inside)
        self.assertEqual(['beat', 'left'], order)

    def test_leaving_that_hangs_does_not_hold_up_the_end(self) -> None:
        self.member.leave = lambda grace: self.forever.wait(PATIENCE)
        self.refresher.on_refresh = self.inside.set
        with (
            unittest.mock.patch.object(process, 'LEAVE_TIMEOUT', 0.01),
            self.assertLogs(LOGGER, 'WARNING'),
        ):
            self.run_until(self.inside)

    def test_stop_interrupts_the_wait_for_dependencies(self) -> None:
        def prepare() -> None:
            self.inside.set()
            raise TIRED

        self.prepare = prepare
        self.run_until(self.inside)
        self.assertEqual(2, self.heartbeat.joined)

    def test_refresh_that_hangs_does_not_hold_up_the_end(self) -> None:
        """The fence drops first, so a hanging thread can't write."""
        self.refresher.on_refresh = self.hang
        with unittest.mock.patch.object(process, 'STOP_TIMEOUT', 0.01):
            self.run_until(self.inside)
        self.assertFalse(self.forever.is_set())
        self.assertEqual([GRACE], self.member.left)

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
                found = self.refreshes(sum(pauses) + 30)
                self.assertEqual(pauses, found[: len(pauses)])

    def test_budget_is_asked_again_when_its_rate_allows_more(self) -> None:
        log = unittest.mock.Mock()
        self.refresher.operator_log = log
        self.refresher.reconciler = unittest.mock.Mock(budget=Budget(rate=6))
        self.refresher.answers = [
            Summary(limited=True, done=SIX, delayed=12, retry_in=20.0),
            Summary(delayed=6, retry_in=0.5),
            Summary(delayed=6, retry_in=90.0),
            Summary(),
        ]
        found = self.refreshes(120)
        self.assertEqual([20.0, BEAT, 60.0], found[:3])
        told = [call.args for call in log.delayed.call_args_list]
        self.assertEqual([(12, 120.0), (6, 60.0), (6, 90.0), (0, 0.0)], told)

    def test_failures_and_recovery_are_logged_once(self) -> None:
        self.refresher.answers = [
            *[TIRED] * 5,
            *[ZeroDivisionError()] * 2,
            Summary(),
        ]
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_for(500)
        self.assertEqual(
            [
                'WARNING refresh failed: Ironic is down',
                f'ERROR refresh {UNEXPECTED}ZeroDivisionError: ',
                'INFO refresh succeeded again',
                'INFO refreshed: nothing to change; owns 0 nodes',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_what_a_refresh_did_is_stored_and_logged_when_it_changes(
        self,
    ) -> None:
        self.refresher.answers = [
            *[Summary(owned=3, waiting=1, owners={'host2': 1})] * 3,
            Summary(owned=3, done=SIX),
            *[Summary(owned=9)] * 3,
        ]
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_for(400)
        lines = [one.getMessage() for one in logs.records]
        texts = [
            'changed nothing; owns 3 nodes; 1 node waits for release by host2',
            'claimed 6 nodes',
            'nothing to change; owns 9 nodes',
        ]
        self.assertEqual(
            [f'refreshed: {text}' for text in texts],
            [one for one in lines if one.startswith('refreshed')],
        )
        (refresh,) = self.conditions.of_loops([LoopName.REFRESH])
        self.assertEqual(texts[-1], refresh.did)

    def test_memory_is_freed_after_a_list_and_a_failure(self) -> None:
        freed: list[int] = []
        self.free_memory.side_effect = lambda: freed.append(
            len(self.refresher.at)
        )
        self.refresher.answers = [
            Summary(is_whole=True),
            Summary(),
            TIRED,
            Summary(),
        ]
        self.run_for(300)
        self.assertEqual([1, 3], freed)

    def test_fenced_service_polls_its_row_and_logs_it_once(self) -> None:
        """The poll logs why, as the thread of the epoch does."""
        self.refresher.answers = [exceptions.FencedError('epoch 1')]
        self.refresher.on_refresh = lambda: setattr(self.member, 'epoch', None)
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.run_for(100)
        self.assertEqual(1, self.member.checked)

    def test_refresh_that_waits_for_nothing_is_not_checked(self) -> None:
        self.run_for(200)
        self.assertEqual(0, self.refresher.requested)

    def test_awaited_event_starts_the_next_refresh(self) -> None:
        """The handover limit, a death, or the end of a grace time."""
        self.refresher.is_waiting = True
        self.refresher.outdated = [False, False, False, True]
        self.assertEqual([3 * WATCH, 60.0], self.refreshes(100)[:2])

    def test_wanted_refresh_follows_one_under_way(self) -> None:
        self.refresher.on_refresh = lambda: (
            self.loop.wake() if len(self.refresher.at) == 1 else None
        )
        self.assertEqual([0.0, 60.0], self.refreshes(90))


class TestStart(HostCase):
    def test_wait_for_dependencies_is_logged_once(self) -> None:
        down = exceptions.RecordsUnavailableError('no database')
        self.prepared = [down, down, down]
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.run_for(8 + 2 * BEAT)
        self.assertEqual(
            [
                'WARNING waiting to start: no database',
                'INFO database and Ironic answer',
                'INFO refreshed: nothing to change; owns 0 nodes',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )
        self.assertEqual([1000 + 1 + 2 + 4 + 2 * BEAT], self.refresher.at)

    def test_process_joins_after_the_dependencies_answer(self) -> None:
        joined = []
        self.prepare = lambda: joined.append(self.heartbeat.joined)
        self.run_for(100)
        self.assertEqual([0], joined)

    def test_permanent_error_ends_the_process(self) -> None:
        for failure in (
            exceptions.IronicTooOldError('too old'),
            exceptions.SchemaError('of a newer release'),
            exceptions.IronicError('wrong endpoint'),
        ):
            self.prepared = [failure]
            with self.assertRaises(type(failure)):
                self.run_for(100)
            self.assertEqual(0, self.heartbeat.joined)

    def test_store_that_can_never_be_used_ends_the_process(self) -> None:
        self.heartbeat.on_join = unittest.mock.Mock(
            side_effect=exceptions.MembershipError('of a newer release')
        )
        with self.assertRaises(exceptions.MembershipError):
            self.run_for(100)
        self.assertEqual([], self.refresher.at)


class TestStandby(HostCase):
    def setUp(self) -> None:
        super().setUp()
        self.member.is_idle, self.member.epoch = True, None

    def test_standby_refreshes_nothing_and_complains_of_nothing(self) -> None:
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.run_for(200)
        self.assertEqual([], self.refresher.at)

    def test_standby_runs_the_action_before_a_refresh(self) -> None:
        loop = self.build().refresh_loop
        self.assertEqual(60.0, loop.run_step())
        done = unittest.mock.Mock()
        loop.before_refresh(done)
        loop.run_step()
        done.assert_called_once()

    def test_standby_that_becomes_active_refreshes(self) -> None:
        loop = self.build().refresh_loop
        loop.run_step()
        self.member.is_idle, self.member.epoch = False, 2
        loop.wake()
        loop.run_step()
        self.assertEqual(1, len(self.refresher.at))


class TestWholeHost(service.ServiceCase):
    """All parts of a host, for minutes that take no time."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 5)))
        self.host = service.Service('host1', world.ALL, self.shared)
        self.time = self.host.process.scheduler

    def run_with(self, seconds: float, action: Callable[[], object]) -> None:
        """Run for ten minutes, with something that happens meanwhile."""
        worker = Loop(ANY)
        worker.first_due, worker.step = seconds, action
        self.time.start('test', worker)
        self.time.lasts = 600
        self.host.process.run()

    def test_it_joins_owns_nodes_and_leaves(self) -> None:
        owners: list[object] = []
        self.run_with(500, lambda: owners.append({*self.owners().values()}))
        self.assertEqual([{'host1'}], owners)
        self.assertEqual(600, self.shared.clock() - 1000)
        self.assertFalse(self.host.backend.view().hosts)
        self.assertTrue(self.records.service('host1').away)

    def test_end_of_the_right_is_noticed_within_an_interval(self) -> None:
        self.run_with(302, self.force_down)
        self.assertLessEqual(302, self.ended)
        self.assertLessEqual(self.ended, 302 + 5)

    def force_down(self) -> None:
        self.ended = float('inf')
        self.records.set_service('host1', actor='x', forced_down=True)
        self.host.fence.changes.subscribe(
            lambda: setattr(
                self, 'ended', min(self.ended, self.shared.clock() - 1000)
            )
        )
