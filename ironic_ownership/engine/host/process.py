"""The host process: start, threads and orderly stop."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.host.action_guard import Guard
from ironic_ownership.engine.host.activity import Activity
from ironic_ownership.engine.host.condition_monitor import ConditionMonitor
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.host.health import HealthReader
from ironic_ownership.engine.host.permission import Permission
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.supervision import Supervisor
from ironic_ownership.engine.host.takeover import TakeOver, longest_scan_age
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership.heartbeat import Heartbeat
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.worker import Worker, back_off

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


@dataclasses.dataclass(eq=False)
class Host:
    """One running process of a service.

    :param action_guard: checks single nodes before a process acts on them.
    :param prepare: makes sure that database and Ironic can be used, or
        raises; called again while they do not answer.
    :param workers: further workers by the name of their thread.
    :param monitor: stores the conditions of all of them.
    :param activity: counts the changes of all of them.
    """

    context: ServiceContext
    member: LocalMember
    heartbeat: Heartbeat
    takeover: TakeOver
    refresh_loop: RefreshLoop
    feed: Feed
    action_guard: Guard
    _: dataclasses.KW_ONLY
    prepare: Callable[[], None]
    workers: Mapping[str, Worker | RefreshLoop]
    monitor: ConditionMonitor
    activity: Activity

    def __post_init__(self) -> None:
        self.workers = {
            'take-over': self.takeover,
            'refresh': self.refresh_loop,
            **self.workers,
        }
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._supervisor = Supervisor(
            self.context.conditions, self._stopping, self.context.clock
        )

    @property
    def health(self) -> HealthReader:
        """The health of this process, as it knows it. Any thread."""
        return HealthReader(
            self.context,
            self.member,
            self.refresh_loop,
            self.activity,
            self.monitor,
        )

    def run(self) -> None:
        """Serve, or stand by, until :meth:`stop` is called from any thread.

        :raises OwnershipError: if database, Ironic or membership can't be
            used at all.
        """
        heartbeat: threading.Thread | None = None
        try:
            # First: what follows may take for ever.
            self.monitor.supervisor = self._supervisor
            self._threads.append(
                self._supervisor.start('conditions', self.monitor.run)
            )
            self._wait_for_dependencies()
            if self._stopping.is_set():
                return
            self.heartbeat.join()
            if self._stopping.is_set():
                return
            start = self._supervisor.start
            heartbeat = start('heartbeat', self.heartbeat.run)
            self._threads += [
                start(name, worker.run)
                for name, worker in self.workers.items()
            ]
            self._stopping.wait()
        finally:
            self._end(heartbeat)

    def stop(self) -> None:
        """Make :meth:`run` return. Not for signal handlers: it locks."""
        self._stopping.set()
        self.refresh_loop.stop()
        self.heartbeat.stop()

    def before_refresh(self, action: Callable[[], None]) -> None:
        """Run an action before each refresh; see RefreshLoop."""
        self.refresh_loop.before_refresh(action)

    def change_intervals(self, intervals: Intervals) -> None:
        """Replace the intervals of heartbeat, polls and refreshes."""
        self.refresh_loop.intervals = intervals
        self.takeover.longest_age = longest_scan_age(intervals.refresh)
        self.heartbeat.change_intervals(intervals.heartbeat, intervals.watch)
        self.action_guard.longest = intervals.heartbeat

    def guard(
        self,
        uuid: str,
        *,
        patience: float = 0.0,
        instance_uuid: str | None = None,
    ) -> Permission:
        """Permit to act on a node, or raise; see :meth:`Guard.check`."""
        return self.action_guard.check(
            uuid, patience=patience, instance_uuid=instance_uuid
        )

    def _wait_for_dependencies(self) -> None:
        # A process that can't serve must not become a peer.
        conditions, failures = self.context.conditions, 0
        while not self._stopping.is_set():
            try:
                self.prepare()
            except _TEMPORARY as exc:
                failures += 1
                conditions.report('start', f'waiting to start: {exc}', exc)
                longest = self.refresh_loop.intervals.refresh
                self._stopping.wait(back_off(failures, longest))
            else:
                conditions.clear('start', 'database and Ironic answer')
                conditions.succeeded(Loop.START)
                return

    def _end(self, heartbeat: threading.Thread | None) -> None:
        # The fence first: a thread that still runs can't write any more.
        self.context.fence.close()
        self._stopping.set()
        self.heartbeat.stop()
        for worker in self.workers.values():
            worker.stop()
        self.monitor.stop()
        clock = self.context.clock
        until = clock() + STOP_TIMEOUT
        for thread in self._threads:
            thread.join(max(until - clock(), 0.0))
        intervals = self.refresh_loop.intervals
        leaving = _start(
            'leave', lambda: self._leave(heartbeat, intervals.restart_grace)
        )
        leaving.join(LEAVE_TIMEOUT)
        if leaving.is_alive():
            LOG.warning(
                'stopped without leaving the membership: no answer from '
                'database or backend; the membership expires'
            )

    def _leave(
        self, heartbeat: threading.Thread | None, restart_grace: float
    ) -> None:
        # The backend is called from one thread at a time.
        if heartbeat is not None:
            heartbeat.join()
        self.member.leave(restart_grace)


def _start(name: str, target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
