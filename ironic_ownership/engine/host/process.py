"""The host process: its threads, what they wait for, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import action_guard
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.takeover import TakeOver, fresh_enough
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership import local_member
from ironic_ownership.engine.membership.fence import Fence, monotonic
from ironic_ownership.engine.membership.heartbeat import Heartbeat

LOG = log.getLogger(__name__)

_PASSING = (
    exceptions.RecordsUnavailableError,
    exceptions.IronicUnavailableError,
)

STOP_PATIENCE = 3.0
"""Seconds that a stop waits for what is being written. A scan need not be
waited for: after the fence is dropped nothing comes of it."""

LEAVE_PATIENCE = 5.0
"""Seconds that a stop waits for records and membership to be told, beyond
two heartbeat intervals: so long may calls last that have begun."""


def _nothing() -> None:
    """Do nothing before a refresh."""


class Loop(Protocol):
    """Work in a thread of its own, for which nobody waits."""

    def run(self) -> None:
        """Work until :meth:`stop` is called."""

    def stop(self) -> None:
        """Make :meth:`run` return soon; any thread."""


class Host:
    """One process of a service at work.

    :param guard_: judges single nodes for whoever acts on them.
    :param prepare: makes sure that database and Ironic can be used, or
        raises; called again while they do not answer.
    :param wake: set by whoever wants a refresh at once.
    :param beside: what is done beside all that, by the name of its thread.
    """

    def __init__(
        self,
        membership: local_member.Membership,
        heartbeat: Heartbeat,
        refresher: Refresher,
        takeover: TakeOver,
        fence: Fence,
        conditions: Conditions,
        wake: threading.Event,
        guard: action_guard.Guard,
        *,
        prepare: Callable[[], None],
        intervals: Intervals,
        beside: Mapping[str, Loop] | None = None,
    ) -> None:
        self._membership = membership
        self._heartbeat = heartbeat
        self._refresher = refresher
        self._takeover = takeover
        self._fence = fence
        self._conditions = conditions
        self._wake = wake
        self._guard = guard
        self._prepare = prepare
        self._intervals = intervals
        self._beside = dict(beside or {})
        self._action: Callable[[], None] = _nothing
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def run(self) -> None:
        """Serve, or stand by, until :meth:`stop` is called from any thread.

        :raises OwnershipError: if database, Ironic or membership can't be
            used at all.
        """
        beating: threading.Thread | None = None
        try:
            self._wait_for_dependencies()
            if self._stopping.is_set():
                return
            self._heartbeat.join()
            if self._stopping.is_set():
                return
            beating = self._start('heartbeat', self._heartbeat.run)
            self._threads = [
                self._start('take-over', self._takeover.run),
                self._start('refresh', self._refresh_loop),
                *(self._start(n, one.run) for n, one in self._beside.items()),
            ]
            self._stopping.wait()
        finally:
            self._end(beating)

    def stop(self) -> None:
        """Make :meth:`run` return. Not for signal handlers: it locks."""
        self._stopping.set()
        self._heartbeat.stop()

    def before_refresh(self, action: Callable[[], None]) -> None:
        """Have something done before each refresh, the next one soon.

        Only the last action that was asked for counts. A process that stands
        by does it, too.

        :param action: called in the refresh thread. What it raises counts
            as a refresh that failed.
        """
        self._action = action
        self._wake.set()

    def change_intervals(self, intervals: Intervals) -> None:
        """Beat, look and refresh at other intervals from now on."""
        self._intervals = intervals
        self._takeover.longest_age = fresh_enough(intervals.refresh)
        self._heartbeat.change_intervals(intervals.heartbeat, intervals.watch)

    def change_handover_limit(self, limit: int) -> None:
        """Let at most so many nodes change owner in one round."""
        self._refresher.handover_limit = limit
        self._takeover.handover_limit = limit

    def guard(self, uuid: str) -> model.Node:
        """Return a node if this service may act on it now; see Guard."""
        return self._guard.check(uuid)

    def _wait_for_dependencies(self) -> None:
        """Prepare; who can't serve yet must not become anybody's peer."""
        failures = 0
        while not self._stopping.is_set():
            try:
                self._prepare()
            except _PASSING as exc:
                failures += 1
                self._conditions.report('start', f'waiting to start: {exc}')
                self._stopping.wait(self._back_off(failures))
            else:
                self._conditions.clear('start', 'database and Ironic answer')
                return

    def _back_off(self, failures: int) -> float:
        return min(self._intervals.refresh, 2.0 ** min(failures - 1, 9))

    def _start(
        self, name: str, target: Callable[[], None]
    ) -> threading.Thread:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread

    def _refresh_loop(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            refreshed = False
            try:
                again_in = self._refresh()
                failures, refreshed = 0, self._membership.epoch is not None
            except exceptions.OwnershipError as exc:
                if self._stopping.is_set():
                    return
                failures += 1
                again_in = self._back_off(failures)
                if not self._membership.stands_by:
                    self._conditions.report('refresh', f'no refresh: {exc}')
            except Exception:  # nor may this loop end
                again_in = self._intervals.refresh
                LOG.exception('refresh failed in a way nobody foresaw')
            if refreshed:
                self._wait_for_refresh(again_in)
            else:
                self._wake.wait(again_in)

    def _refresh(self) -> float:
        """Refresh once, if this process is the active one of its host.

        Whoever becomes it is woken.

        :returns: seconds until the next refresh, unless woken before.
        """
        epoch = self._membership.epoch
        try:
            self._action()
            if epoch is None:
                return self._intervals.refresh
            report = self._refresher.refresh()
        except exceptions.FencedError:
            # Without a right there is nothing to lose, and a new epoch may
            # have been given while this refresh still used the old one.
            if self._fence.may_act and epoch == self._membership.epoch:
                self._membership.lose_epoch()
            raise
        self._conditions.clear('refresh', 'refreshes succeed again')
        LOG.debug('refreshed: %s', report)
        if report.cut and report.applied:
            return 0.0
        if report.unfinished or report.cut:
            return min(self._intervals.heartbeat, self._intervals.refresh)
        return self._intervals.refresh

    def _wait_for_refresh(self, seconds: float) -> None:
        """Wait until it is time, or something has made it time."""
        until = monotonic() + seconds
        while not self._refresher.is_outdated():
            left = until - monotonic()
            if left <= 0 or self._wake.wait(
                min(left, self._intervals.watch)
                if self._refresher.is_waiting
                else left
            ):
                return

    def _end(self, beating: threading.Thread | None) -> None:
        # First the right to act: what still runs can't write any more.
        self._fence.drop()
        self._stopping.set()
        self._heartbeat.stop()
        self._takeover.stop()
        for one in self._beside.values():
            one.stop()
        self._wake.set()
        until = monotonic() + STOP_PATIENCE
        for thread in self._threads:
            thread.join(max(until - monotonic(), 0.0))
        leaving = self._start('leave', lambda: self._leave(beating))
        leaving.join(2 * self._intervals.heartbeat + LEAVE_PATIENCE)
        if leaving.is_alive():
            LOG.warning('stopped without an answer: the membership expires')

    def _leave(self, beating: threading.Thread | None) -> None:
        # The backend is called from one thread at a time.
        if beating is not None:
            beating.join()
        self._membership.leave(self._intervals.restart_grace)
