"""The host process: a heartbeat and a refresh loop, and how both end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import (
    fence,
    guard,
    membership,
    notices,
    refresh,
)

LOG = log.getLogger(__name__)

_PASSING = (
    exceptions.RecordsUnavailableError,
    exceptions.IronicUnavailableError,
)

STOP_PATIENCE = 3.0
"""Seconds that a stop waits for what is being written. A scan need not be
waited for: after the fence is dropped nothing comes of it."""


def _nothing() -> None:
    """Do nothing before a refresh."""


class Host:
    """One service at work.

    :param guard_: judges single nodes for whoever acts on them.
    :param prepare: makes sure that database and Ironic can be used, or
        raises; called again while they do not answer.
    :param wake: set by whoever wants a refresh at once.
    :param heartbeat_interval: seconds between two heartbeats.
    :param refresh_interval: seconds between two refreshes.
    :param member_ttl: seconds after which a dead predecessor of the same
        host name is no longer in the way.
    """

    def __init__(
        self,
        membership_: membership.Membership,
        refresher: refresh.Refresher,
        fence_: fence.Fence,
        notices_: notices.Notices,
        wake: threading.Event,
        guard_: guard.Guard,
        *,
        prepare: Callable[[], None],
        heartbeat_interval: float,
        refresh_interval: float,
        member_ttl: float,
    ) -> None:
        self._membership = membership_
        self._refresher = refresher
        self._fence = fence_
        self._notices = notices_
        self._wake = wake
        self._prepare = prepare
        self._heartbeat_interval = heartbeat_interval
        self._refresh_interval = refresh_interval
        self._member_ttl = member_ttl
        self._guard = guard_
        self._action: Callable[[], None] = _nothing
        self._stopping = threading.Event()
        self._beat_now = threading.Event()
        self._threads: list[threading.Thread] = []

    def run(self) -> None:
        """Serve until :meth:`stop` is called, from any thread.

        :raises MemberExistsError: if another live process has the host name
            and keeps it for longer than a dead one could.
        :raises OwnershipError: if database or Ironic can't be used at all.
        """
        try:
            self._wait_for_dependencies()
            self._join()
            if self._stopping.is_set():
                return
            self._start('heartbeat', self._heartbeat_loop)
            self._start('refresh', self._refresh_loop)
            self._stopping.wait()
        finally:
            self._end()

    def stop(self) -> None:
        """Make :meth:`run` return. Not for signal handlers: it locks."""
        self._stopping.set()

    def before_refresh(self, action: Callable[[], None]) -> None:
        """Have something done before each refresh, the next one soon.

        Only the last action that was asked for counts.

        :param action: called in the refresh thread. What it raises counts
            as a refresh that failed.
        """
        self._action = action
        self._wake.set()

    def change_intervals(self, heartbeat: float, refresh_: float) -> None:
        """Beat and refresh at other intervals, in seconds, from now on."""
        self._heartbeat_interval = heartbeat
        self._refresh_interval = refresh_
        self._beat_now.set()  # a long old interval is not waited for

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
                self._notices.report('start', f'waiting to start: {exc}')
                self._stopping.wait(self._back_off(failures))
            else:
                self._notices.clear('start', 'database and Ironic answer')
                return

    def _back_off(self, failures: int) -> float:
        return min(self._refresh_interval, 2.0 ** min(failures - 1, 9))

    def _join(self) -> None:
        """Become a member, over a dead process of the same name if need be.

        That one is in the way until its time to live is over; one that
        still is after that is alive.
        """
        deadline = float('inf')
        while not self._stopping.is_set():
            try:
                self._membership.beat()
                if self._membership.is_member:
                    self._notices.clear('join', 'joined')
                    return
            except exceptions.MemberExistsError as exc:
                now = fence.monotonic()
                patience = self._member_ttl + 2 * self._heartbeat_interval
                deadline = min(deadline, now + patience)
                if now >= deadline:
                    raise
                self._notices.report(
                    'join', f'waiting for the membership to expire: {exc}'
                )
            self._stopping.wait(self._heartbeat_interval)

    def _start(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _heartbeat_loop(self) -> None:
        while True:
            self._beat_now.wait(self._heartbeat_interval)
            self._beat_now.clear()
            if self._stopping.is_set():
                return
            try:
                self._membership.beat()
            except exceptions.OwnershipError as exc:
                self._notices.report('heartbeat', f'no heartbeat: {exc}')
            except Exception:  # the process must go on beating
                LOG.exception('heartbeat failed in a way nobody foresaw')
            else:
                self._notices.clear('heartbeat', 'heartbeats succeed again')

    def _refresh_loop(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                again_in = self._refresh()
                failures = 0
            except exceptions.OwnershipError as exc:
                if self._stopping.is_set():
                    return
                failures += 1
                again_in = self._back_off(failures)
                self._notices.report('refresh', f'no refresh: {exc}')
            except Exception:  # nor may this loop end
                again_in = self._refresh_interval
                LOG.exception('refresh failed in a way nobody foresaw')
            self._wake.wait(again_in)

    def _refresh(self) -> float:
        """Refresh once.

        :returns: seconds until the next refresh, unless woken before.
        """
        try:
            self._action()
            report = self._refresher.refresh()
        except exceptions.FencedError:
            self._membership.lose_epoch()
            raise
        self._notices.clear('refresh', 'refreshes succeed again')
        LOG.debug('refreshed: %s', report)
        if report.unfinished:
            return min(self._heartbeat_interval, self._refresh_interval)
        return self._refresh_interval

    def _end(self) -> None:
        # First the right to act: what still runs can't write any more.
        self._fence.drop()
        self._stopping.set()
        self._wake.set()
        self._beat_now.set()
        for thread in self._threads:
            thread.join(STOP_PATIENCE)
        self._membership.leave()
