"""The host process: start, threads and orderly stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.host import action_guard
from ironic_ownership.engine.host.refresh_loop import RefreshLoop, back_off
from ironic_ownership.engine.host.takeover import TakeOver, longest_scan_age
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership.heartbeat import Heartbeat
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)

_TEMPORARY = (
    exceptions.RecordsUnavailableError,
    exceptions.IronicUnavailableError,
)

STOP_TIMEOUT = 3.0
"""Seconds that a stop waits for writes. It need not wait for a scan: without
the fence nothing comes of it."""

LEAVE_TIMEOUT = 5.0
"""Seconds that a stop waits to leave records and membership, in addition to
two heartbeat intervals: calls that have begun may take that long."""


class Worker(Protocol):
    """Work in a thread of its own, for which nothing waits."""

    def run(self) -> None:
        """Work until :meth:`stop` is called."""

    def stop(self) -> None:
        """Make :meth:`run` return soon; any thread."""


class Host:
    """One running process of a service.

    :param guard: checks single nodes before a process acts on them.
    :param prepare: makes sure that database and Ironic can be used, or
        raises; called again while they do not answer.
    :param workers: further workers by the name of their thread.
    """

    def __init__(
        self,
        context: ServiceContext,
        member: LocalMember,
        heartbeat: Heartbeat,
        takeover: TakeOver,
        refresh_loop: RefreshLoop,
        guard: action_guard.Guard,
        *,
        prepare: Callable[[], None],
        workers: Mapping[str, Worker] | None = None,
    ) -> None:
        self._context = context
        self._member = member
        self._heartbeat = heartbeat
        self._refresh_loop = refresh_loop
        self._takeover = takeover
        self._guard = guard
        self._prepare = prepare
        self._workers: dict[str, Worker] = {
            'take-over': takeover,
            'refresh': refresh_loop,
            **(workers or {}),
        }
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def run(self) -> None:
        """Serve, or stand by, until :meth:`stop` is called from any thread.

        :raises OwnershipError: if database, Ironic or membership can't be
            used at all.
        """
        heartbeat: threading.Thread | None = None
        try:
            self._wait_for_dependencies()
            if self._stopping.is_set():
                return
            self._heartbeat.join()
            if self._stopping.is_set():
                return
            heartbeat = _start('heartbeat', self._heartbeat.run)
            self._threads = [
                _start(name, worker.run)
                for name, worker in self._workers.items()
            ]
            self._stopping.wait()
        finally:
            self._end(heartbeat)

    def stop(self) -> None:
        """Make :meth:`run` return. Not for signal handlers: it locks."""
        self._stopping.set()
        self._refresh_loop.stop()
        self._heartbeat.stop()

    def before_refresh(self, action: Callable[[], None]) -> None:
        """Run an action before each refresh; see RefreshLoop."""
        self._refresh_loop.before_refresh(action)

    def change_intervals(self, intervals: Intervals) -> None:
        """Use other intervals for heartbeat, polls and refreshes."""
        self._refresh_loop.intervals = intervals
        self._takeover.longest_age = longest_scan_age(intervals.refresh)
        self._heartbeat.change_intervals(intervals.heartbeat, intervals.watch)

    def guard(self, uuid: str) -> model.Node:
        """Return a node if this service may act on it now; see Guard."""
        return self._guard.check(uuid)

    def _wait_for_dependencies(self) -> None:
        """Prepare. A process that can't serve must not become a peer."""
        conditions, failures = self._context.conditions, 0
        while not self._stopping.is_set():
            try:
                self._prepare()
            except _TEMPORARY as exc:
                failures += 1
                conditions.report('start', f'waiting to start: {exc}')
                longest = self._refresh_loop.intervals.refresh
                self._stopping.wait(back_off(failures, longest))
            else:
                conditions.clear('start', 'database and Ironic answer')
                return

    def _end(self, heartbeat: threading.Thread | None) -> None:
        # The fence first: a thread that still runs can't write any more.
        self._context.fence.drop()
        self._stopping.set()
        self._heartbeat.stop()
        for worker in self._workers.values():
            worker.stop()
        clock = self._context.clock
        until = clock() + STOP_TIMEOUT
        for thread in self._threads:
            thread.join(max(until - clock(), 0.0))
        intervals = self._refresh_loop.intervals
        leaving = _start(
            'leave', lambda: self._leave(heartbeat, intervals.restart_grace)
        )
        leaving.join(2 * intervals.heartbeat + LEAVE_TIMEOUT)
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
        self._member.leave(restart_grace)


def _start(name: str, target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
