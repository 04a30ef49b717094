"""The refresh loop: period, retries with back-off, and early wake-ups."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.worker import back_off

LOG = log.getLogger(__name__)


@dataclasses.dataclass(eq=False)
class RefreshLoop:
    """Refreshes while this process is the active one of its host.

    :param wake: set by another thread to request a refresh now.
    :param free_memory: called after a refresh that has listed all nodes, or
        failed: it has read more than it keeps. In the refresh thread.
    :ivar intervals: may be replaced at any time; any thread.
    :ivar last: counts of the last refresh; any thread.
    """

    context: ServiceContext
    member: LocalMember
    refresher: Refresher
    wake: threading.Event
    intervals: Intervals
    free_memory: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self._action: Callable[[], None] | None = None
        self._stopping = threading.Event()
        self._began: float | None = None
        self._longest = 0.0
        self.last: Summary | None = None

    def busy(self) -> tuple[str, float] | None:
        """Return what this loop is doing, and for how many seconds.

        Any thread; ``None`` while it waits.
        """
        began = self._began
        if began is None:
            return None
        return 'a refresh', self.context.clock() - began

    @property
    def longest(self) -> float:
        """Seconds after which a refresh stands still. Any thread."""
        return 2 * max(self.intervals.refresh, self._longest)

    def before_refresh(self, action: Callable[[], None]) -> None:
        """Run an action before each refresh; wake up for the first time.

        Replaces an earlier action. An idle process runs it, too. Any thread.

        :param action: called in the refresh thread. An error that it raises
            counts as a failed refresh.
        """
        self._action = action
        self.wake.set()

    def stop(self) -> None:
        """Make :meth:`run` return soon. Any thread."""
        self._stopping.set()
        self.wake.set()

    def run(self) -> None:
        """Refresh until :meth:`stop` is called."""
        failures = 0
        while not self._stopping.is_set():
            self.wake.clear()
            refreshed = False
            try:
                again_in = self._refresh()
                failures, refreshed = 0, self.member.epoch is not None
            except exceptions.OwnershipError as exc:
                if self._stopping.is_set():
                    return
                failures += 1
                again_in = back_off(failures, self.intervals.refresh)
                if not self._is_reported(exc):
                    self.context.conditions.report(
                        'refresh', f'refresh failed: {exc}', exc
                    )
            except Exception as exc:  # noqa: BLE001 - nor may this loop end
                again_in = self.intervals.refresh
                self.context.conditions.unexpected(
                    'refresh', 'refresh failed', exc
                )
            finally:
                self._began = None
            if self._stopping.is_set():
                return
            if refreshed:
                self._wait_for_refresh(again_in)
            else:
                self.wake.wait(again_in)

    def _refresh(self) -> float:
        try:
            if self._action is not None:
                self._action()
            if self.member.epoch is None:
                return self.intervals.refresh
            self._began = began = self.context.clock()
            is_steady = False
            try:
                summary = self.last = self.refresher.refresh()
                is_steady = not summary.is_whole
            finally:
                if not is_steady:
                    self.free_memory()
            self._longest = self.context.clock() - began
        except exceptions.FencedError:
            self.member.check_epoch()
            raise
        self.context.conditions.clear('refresh', 'refresh succeeded again')
        self.context.conditions.succeeded(Loop.REFRESH, self._longest)
        LOG.debug('refreshed: %s', summary)
        if summary.limited and summary.applied:
            return 0.0
        if summary.unfinished or summary.limited:
            return min(self.intervals.heartbeat, self.intervals.refresh)
        return self.intervals.refresh

    def _is_reported(self, error: exceptions.OwnershipError) -> bool:
        # A process that is not active has logged the reason for that.
        return self.member.is_idle or (
            isinstance(error, exceptions.FencedError)
            and self.member.epoch is None
        )

    def _wait_for_refresh(self, seconds: float) -> None:
        clock = self.context.clock
        until = clock() + seconds
        while not (self._stopping.is_set() or self.refresher.is_outdated()):
            remaining = until - clock()
            if remaining <= 0 or self.wake.wait(
                min(remaining, self.intervals.watch)
                if self.refresher.is_waiting
                else remaining
            ):
                return
