"""The refresh loop: period, retries with back-off, early wake-ups, report."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
from collections.abc import Callable, Iterator, Mapping

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import PendingCalls
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.records import (
    Budget,
    Change,
    Claim,
    Delete,
    Release,
    Update,
)
from ironic_ownership.contracts.texts import counted, listed
from ironic_ownership.engine.host import credential_probe
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership.engine.worker import Worker, back_off

LOG = log.getLogger(__name__)

_DONE: Mapping[type[Change], tuple[str, str]] = {
    Claim: ('claimed', 'node'),
    Release: ('released', 'node'),
    Update: ('updated', 'record'),
    Delete: ('deleted', 'record'),
}
_NAMED = 3  # owners in a sentence


@dataclasses.dataclass(eq=False)
class RefreshLoop(Worker):
    """Refreshes while this process is the active one of its host.

    :param free_memory: called after a refresh that has listed all nodes, or
        failed: it has read more than it keeps. In the refresh thread.
    :ivar intervals: may be replaced at any time; any thread.
    :ivar before_refresh: called in each turn, also of an idle process, in the
        refresh thread; its error counts as a failed refresh.
    :ivar last: counts of the last refresh; any thread.
    :ivar calls: the refresh under way; any thread.
    """

    member: LocalMember
    refresher: Refresher
    intervals: Intervals
    free_memory: Callable[[], object] = lambda: None

    condition = 'refresh'
    fails = 'refresh failed'

    def __post_init__(self) -> None:
        super().__post_init__()
        self.context = self.refresher.context
        self.conditions = self.context.conditions
        self.before_refresh: Callable[[], object] = lambda: None
        self.calls = PendingCalls(self.context.clock)
        self._longest = 0.0
        self._due_at = float('-inf')
        self._has_refreshed = False
        self.last: Summary | None = None

    @property
    def longest(self) -> float:
        """Seconds after which a refresh stands still. Any thread."""
        return 2 * max(self.intervals.refresh, self._longest)

    def step(self) -> float:
        """Refresh if it is due, or an event happened that was waited for."""
        left = self._due_in()
        if left > 0 and not self.woken:
            return left
        self._has_refreshed = False
        self._due_at = self._refresh() + self.context.clock()
        self._has_refreshed = self.member.epoch is not None
        return self._due_in()

    def failed(self, error: Exception) -> float:
        """Report the error, unless it is known; retry after a pause."""
        again_in = self.intervals.refresh
        if isinstance(error, exceptions.OwnershipError):
            again_in = back_off(self.failures, again_in)
        if not self._is_reported(error):
            super().failed(error)
        self._due_at = self.context.clock() + again_in
        return again_in

    def _due_in(self) -> float:
        """Return the seconds until the next refresh, or until a check."""
        left = max(self._due_at - self.context.clock(), 0.0)
        if not self._has_refreshed:
            return left
        if self.refresher.is_outdated():
            return 0.0
        if self.refresher.is_waiting:
            return min(left, self.intervals.watch)
        return left

    def _refresh(self) -> float:
        """Refresh; return the seconds until the next one."""
        try:
            self.before_refresh()
            if self.member.epoch is None:
                if self.member.state.role is Role.STANDBY:
                    # It sends Ironic nothing else until it has to serve.
                    limits = self.refresher.missing_nodes.limits
                    credential_probe.probe(self.context, limits)
                return self.intervals.refresh
            began = self.context.clock()
            is_steady = False
            try:
                before = self.last
                with self.calls.to('a refresh'):
                    summary = self.last = self.refresher.refresh()
                is_steady = not summary.is_whole
            finally:
                if not is_steady:
                    self.free_memory()
            self._longest = self.context.clock() - began
        except exceptions.FencedError:
            with contextlib.suppress(exceptions.RecordsError):
                self.member.check_epoch()
            raise
        self.conditions.clear('refresh', 'refresh succeeded again')
        # The next take-over, which would clear it, follows the next death.
        self.conditions.clear('take-over', 'a refresh did the take-over')
        if summary.delayed or (before and before.delayed):
            refresher, interval = self.refresher, self.intervals.refresh
            budget = refresher.reconciler.budget
            summary.wait = wait_for(summary, budget, interval)
            refresher.operator_log.delayed(summary.delayed, summary.wait)
        did = sentence(summary)
        self.conditions.succeeded(Loop.REFRESH, self._longest, did)
        is_news = before is None or sentence(before) != did
        LOG.log(
            logging.INFO if is_news else logging.DEBUG, 'refreshed: %s', did
        )
        if summary.delayed:
            soon = max(self.intervals.heartbeat, summary.retry_in)
            return min(soon, self.intervals.refresh)
        # At once, but not if nothing was written: the next round would be the
        # same.
        if summary.limited and summary.applied:
            return 0.0
        # What a pause holds back is not sooner done for being tried often.
        limited = summary.limited and not summary.paused
        if is_unfinished(summary) or limited:
            return min(self.intervals.heartbeat, self.intervals.refresh)
        return self.intervals.refresh

    def _is_reported(self, error: Exception) -> bool:
        # A process that is not active has logged the reason for that.
        return isinstance(error, exceptions.OwnershipError) and (
            self._stopping.is_set()
            or self.member.is_idle
            or (
                isinstance(error, exceptions.FencedError)
                and self.member.epoch is None
            )
        )


def wait_for(summary: Summary, budget: Budget, interval: float) -> float:
    """Return the seconds until the budget has allowed all, at least.

    With a share, a release waits until others have an owner, which takes a
    refresh of these.

    :param interval: seconds between two refreshes.
    """
    if not summary.delayed:
        return 0.0
    passed = summary.handed_over - len(summary.left)
    rounds = math.ceil(summary.delayed / max(1, passed))
    of_share = rounds * interval if budget.share < 1 else 0.0
    of_rate = 60 * summary.delayed / budget.rate if budget.rate else 0.0
    return max(of_share, of_rate, summary.retry_in)


def is_unfinished(summary: Summary) -> bool:
    """Tell whether another refresh soon is likely to change something."""
    return bool(
        summary.waiting
        or summary.refused
        or summary.pending
        or summary.flapping
        or summary.registering
        or summary.list_again
    )


def sentence(summary: Summary) -> str:
    """Return the sentence for operators: what it did, what waits for whom."""
    waits = list(_waits(summary))
    did = ', '.join(
        f'{verb} {counted(summary.done[kind], noun)}'
        for kind, (verb, noun) in _DONE.items()
        if summary.done[kind]
    )
    if not did:
        did = 'changed nothing' if waits else 'nothing to change'
        did += f'; owns {counted(summary.owned, "node")}'
    return '; '.join([did, *waits])


def _waits(seen: Summary) -> Iterator[str]:
    owners = sorted(seen.owners.items(), key=lambda one: (-one[1], one[0]))
    named, others = owners[:_NAMED], owners[_NAMED:]
    suspects = listed(sorted(seen.suspects)) or 'their owners'
    minutes = counted(math.ceil(seen.wait / 60), 'minute')
    for number, reason in (
        *((n, f'for release by {host}') for host, n in named),
        (sum(n for _, n in others), 'for release by other services'),
        (seen.deferred, f'because {suspects} may be dead or alive'),
        (seen.pending, 'to be read from Ironic'),
        (seen.refused, 'for the next refresh: other changes came first'),
        (seen.paused, 'for the end of a pause'),
        (seen.delayed, f'for the budget (at least {minutes})'),
    ):
        if number:
            verb = 'waits' if number == 1 else 'wait'
            yield f'{counted(number, "node")} {verb} {reason}'
    if seen.limited:
        yield 'more wait for the next round (handover_limit)'
    if seen.mass_loss:
        yield 'deletes nothing: too many nodes are missing'
