"""The host process: its parts, start, and orderly stop."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.host import credential_probe
from ironic_ownership.engine.host.action_guard import Guard
from ironic_ownership.engine.host.client_pool import ClientPool
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.host.health import (
    ConditionMonitor,
    Watched,
)
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.refresh_result import RefreshResult, Reporter
from ironic_ownership.engine.host.reload import Reload
from ironic_ownership.engine.host.source_reader import SourceReader
from ironic_ownership.engine.host.takeover import TakeOver
from ironic_ownership.engine.host.tuning import Intervals, Tuning
from ironic_ownership.engine.membership.heartbeat import (
    EpochMonitor,
    Heartbeat,
)
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.ports import BareMetal
from ironic_ownership.engine.worker import Scheduler, Worker, back_off

LOG = log.getLogger(__name__)

_TEMPORARY = (
    exceptions.RecordsUnavailableError,
    exceptions.IronicUnavailableError,
    exceptions.SourceError,
)

STOP_TIMEOUT = 3.0
"""Seconds that a stop waits for writes. It need not wait for a scan: without
the fence nothing comes of it."""

LEAVE_TIMEOUT = 5.0
"""Seconds that a stop waits to leave records and membership. A membership
that was not left expires."""

GUARD_CLIENTS = 8
"""Nodes that the guard checks at the same time; others wait. Fewer than the
database gives connections, which heartbeats need as well."""

_OPTIONAL = frozenset(
    {
        Loop.PLACEMENT,
        Loop.SOURCES,
        Loop.NOTIFICATIONS,
        Loop.ORDERS,
        Loop.ENFORCEMENT,
        # Listed while there is something to report.
        Loop.COMMITS,
        Loop.CLOCKS,
    }
)


class Host:
    """One running process of a service: the service of a member.

    :param open_client: returns an Ironic client for another thread.
    :param open_records: called at the start; raises if they can't be used.
    :param reporter: receives the result of each refresh.
    :param repair: completes unfinished reservations.
    :param workers: further ones of this deployment, by the name of their
        loop.
    :param watched: calls of them, and of the backend, that may hang.
    :param on_epoch_change: called when a poll has found another epoch.
    :param has_readers: whether a program reads the feed.
    :param own_scope_only: see :class:`Guard`.
    :param shared_key: see :class:`Guard`.
    :param free_memory: see :class:`RefreshLoop`.

    :ivar monitor: stores the conditions of all workers.
    :ivar feed: of the own nodes, for a program that embeds the service.
    :ivar guard: checks single nodes before a process acts on them.
    """

    def __init__(
        self,
        member: LocalMember,
        tuning: Tuning,
        *,
        scheduler: Scheduler | None = None,
        open_client: Callable[[], BareMetal] | None = None,
        open_records: Callable[[], object] = lambda: None,
        reporter: Reporter | None = None,
        repair: Callable[[RefreshResult], None] | None = None,
        workers: Mapping[str, Worker] | None = None,
        watched: Sequence[Watched] = (),
        on_epoch_change: Callable[[], None] = lambda: None,
        has_readers: bool = True,
        own_scope_only: bool = False,
        shared_key: str = '',
        free_memory: Callable[[], object] = lambda: None,
    ) -> None:
        context, intervals = member.context, tuning.intervals
        ports, conditions = context.ports, context.conditions
        open_client = open_client or (lambda: ports.ironic)
        self.member, self.context = member, context
        self.scheduler = scheduler or Scheduler(conditions, context.clock)
        self._open_records = open_records
        self._requesting: threading.Thread | None = None
        operator_log = OperatorLog(context.host, conditions)
        operator_log.starts_with(tuning.policies)
        if ports.placement is None:
            LOG.info(
                '[placement] is not configured: records are deleted without '
                'checking allocations, and resource providers are not deleted'
            )
        self.feed = Feed(context.fence, has_readers=has_readers)
        reconciler = Reconciler(
            *(context, operator_log, tuning.handover_limit, self.feed),
            tuning.budget,
        )
        refresher = Refresher(
            reconciler, tuning, member.liveness, reporter, repair
        )
        self.refresh_loop = RefreshLoop(
            member, refresher, intervals, free_memory
        )
        self.takeover = TakeOver(self.refresh_loop, open_client())
        self.heartbeat = Heartbeat(
            context,
            member,
            interval=intervals.heartbeat,
            watch_interval=intervals.watch,
        )
        self.guard = Guard(
            context,
            tuning.policies,
            longest=intervals.heartbeat,
            clients=ClientPool(open_client, GUARD_CLIENTS),
            own_scope_only=own_scope_only,
            shared_key=shared_key,
        )
        self.reload = Reload(self.refresh_loop, self.guard, tuning)
        self.reload.change_intervals = self.change_intervals
        self.workers: dict[str, Worker] = {
            Loop.TAKE_OVER: self.takeover,
            Loop.REFRESH: self.refresh_loop,
            Loop.EPOCH: EpochMonitor(self.heartbeat, on_epoch_change),
            **(workers or {}),
        }
        self._sources: SourceReader | None = None
        if tuning.sources:
            self._sources = SourceReader(self.reload)
            self.workers[Loop.SOURCES] = self._sources
        self.monitor = ConditionMonitor(
            member,
            self.scheduler,
            lambda: self.refresh_loop.intervals.refresh,
            (frozenset(Loop) - _OPTIONAL) | (_OPTIONAL & self.workers.keys()),
            (
                Watched(
                    Loop.REFRESH,
                    self.refresh_loop.calls,
                    lambda: self.refresh_loop.longest,
                ),
                *watched,
            ),
            operator_log.changes,
            lambda: self.refresh_loop.last,
        )
        member.on_change = self.takeover.members_changed
        member.registration.run_in_background = self._run_in_background
        self._start = _Start(self)

    def prepare(self) -> None:
        """Make sure that database and Ironic can be used.

        :raises OwnershipError: while they do not answer.
        """
        self._open_records()
        try:
            self.context.ports.ironic.check()
            credential_probe.probe(self.context, self.reload.current.limits)
            if self._sources is not None:
                self.reload.begin(self._sources.begin())
        except (exceptions.IronicUnavailableError, exceptions.SourceError):
            self.monitor.may_store = True  # it waits, and says so
            raise
        self.monitor.may_store = True

    def _run_in_background(self, work: Callable[[], None]) -> None:
        def run() -> None:
            work()
            # The heartbeat's thread takes the result.
            self.heartbeat.poll_soon()

        self._requesting = self.scheduler.start_once('records', run)

    def run(self) -> None:
        """Serve, or stand by, until :meth:`stop` is called from any thread.

        :raises OwnershipError: if database, Ironic or membership can't be
            used at all.
        """
        try:
            # First: what follows may take for ever.
            self.scheduler.start('conditions', self.monitor)
            self.scheduler.serve(self._start)
        finally:
            self._end()

    def stop(self) -> None:
        """Make :meth:`run` return. Not for signal handlers: it locks."""
        self.scheduler.stop()
        for worker in (self._start, self.refresh_loop, self.heartbeat):
            worker.stop()

    def change_intervals(self, intervals: Intervals) -> None:
        """Replace the intervals of heartbeat, polls and refreshes."""
        self.refresh_loop.intervals = intervals
        self.heartbeat.change_intervals(intervals.heartbeat, intervals.watch)
        followers = {Loop.EPOCH, Loop.ORDERS, Loop.ENFORCEMENT}
        for loop in followers & self.workers.keys():
            self.workers[loop].wake()
        self.guard.longest = intervals.heartbeat

    def _end(self) -> None:
        # The fence first: a thread that still runs can't write any more.
        self.context.fence.close()
        self.scheduler.stop()
        workers = {**self.workers, 'conditions': self.monitor}
        for worker in (self.heartbeat, *workers.values()):
            worker.stop()
        clock = self.context.clock
        until = clock() + STOP_TIMEOUT
        for name in workers:
            self.scheduler.join(name, max(until - clock(), 0.0))
        leaving = self.scheduler.start_once('leave', self._leave)
        leaving.join(LEAVE_TIMEOUT)
        if leaving.is_alive():
            LOG.warning(
                'stopped without leaving the membership: no answer from '
                'database or backend; the membership expires'
            )

    def _leave(self) -> None:
        # The backend is called from one thread at a time.
        self.scheduler.join(Loop.HEARTBEAT)
        if self._requesting is not None:
            # It may get the role that is to be given up.
            self._requesting.join(LEAVE_TIMEOUT / 2)
        self.member.leave(self.refresh_loop.intervals.restart_grace)


@dataclasses.dataclass(eq=False)
class _Start(Worker):
    """Waits for database and Ironic, joins, and starts the other workers."""

    host: Host

    condition = Loop.START

    def __post_init__(self) -> None:
        super().__post_init__()
        self.conditions = self.host.context.conditions
        self._is_prepared = False

    def step(self) -> float | None:
        """Go on with the start, as far as possible; in the end, wait."""
        host = self.host
        if not self._is_prepared:
            # A process that can't serve must not become a peer.
            host.prepare()
            self._is_prepared = True
            self.conditions.clear('start', 'database and Ironic answer')
            self.conditions.succeeded(Loop.START)
        if host.member.is_member or self._stopping.is_set():
            return None
        again_in = host.heartbeat.join()
        if again_in is None and not self._stopping.is_set():
            host.scheduler.start(Loop.HEARTBEAT, host.heartbeat)
            for name, worker in host.workers.items():
                host.scheduler.start(name, worker)
        return again_in

    def failed(self, error: Exception) -> float:
        """Wait for servers that do not answer; raise any other error."""
        if not isinstance(error, _TEMPORARY):
            raise error
        self.conditions.report('start', f'waiting to start: {error}', error)
        return back_off(
            self.failures, self.host.refresh_loop.intervals.refresh
        )
