"""The refresh: take a snapshot, decide, plan, write, notify."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Change
from ironic_ownership.engine.availability.tracker import AvailabilityTracker
from ironic_ownership.engine.decision import policy_set, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.deletion.missing_nodes import (
    Findings,
    MissingNodes,
)
from ironic_ownership.engine.host import reconcile_plan, snapshot
from ironic_ownership.engine.host.cell_drift import CellDrift
from ironic_ownership.engine.host.clock_skew import ClockSkew
from ironic_ownership.engine.host.feed import Mark
from ironic_ownership.engine.host.lost_commits import LostCommits
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.record_cleanup import RecordCleanup
from ironic_ownership.engine.host.refresh_result import (
    RefreshResult,
    Reporter,
    Scan,
    Summary,
)
from ironic_ownership.engine.host.release_check import confirm_releases
from ironic_ownership.engine.host.status_report import (
    PolicyMonitor,
    StatusReport,
)
from ironic_ownership.engine.host.tuning import Tuning
from ironic_ownership.engine.membership.failure_detector import Liveness
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(eq=False)
class Refresher:
    """Keeps the records of one service up to date.

    Threading: the refresh thread only, but ``last_scan`` for any.

    :param liveness: returns which of the missing services are dead.
    :param availability: evaluates which nodes can be scheduled to; without
        it that part of the records stays as it is.
    :param reporter: receives the result of each refresh.
    :param repair: completes unfinished reservations.
    """

    context: ServiceContext
    scope: model.Scope
    reconciler: Reconciler
    missing_nodes: MissingNodes
    operator_log: OperatorLog
    liveness: Callable[[], Liveness]
    _: dataclasses.KW_ONLY
    availability: AvailabilityTracker | None = None
    reporter: Reporter | None = None
    repair: Callable[[RefreshResult], None] | None = None

    def __post_init__(self) -> None:
        self._host = self.context.host
        self._feed = self.reconciler.feed
        self._own_policies = policy_set.PolicySet()
        self.last_scan: Scan | None = None
        self._planned_with = self.liveness()
        self._last = Summary()
        self._refused: frozenset[str] = frozenset()
        self._cleanup = RecordCleanup(
            self.context,
            self.operator_log,
            self.missing_nodes,
            self._feed,
            self.reporter,
        )
        self._status = StatusReport(self.context)
        self._lost_commits = LostCommits()
        self._cell_drift = CellDrift(self.context)
        self._clock_skew = ClockSkew(
            self._host, self.context.fence.margin, self.context.conditions
        )
        self._monitor = PolicyMonitor(self._status)

    def reconfigure(self, tuning: Tuning) -> None:
        """Use another scope and other limits from the next refresh on."""
        # An operator who reloads has read the report.
        self._status.lost_commits = None
        scope = tuning.policies.scope
        if scope != self.scope:
            self.last_scan = None
        self.scope = scope
        self._cleanup.reconfigure(tuning.limits)
        self.reconciler.handover_limit = tuning.handover_limit
        if self.availability is not None:
            self.availability.damper.recovery_delay = tuning.recovery_delay

    @property
    def is_waiting(self) -> bool:
        """True if an event may make the last refresh outdated."""
        return bool(self._last.deferred or self._last.away)

    def is_outdated(self) -> bool:
        """Tell whether an event happened that the last refresh waited for.

        Costs at most one query, and none if it waited for nothing.
        """
        last = self._last
        if last.deferred and self.liveness() != self._planned_with:
            return True
        if not last.away:
            return False
        try:
            return last.away != _away(self.context.ports.records.services())
        except exceptions.RecordsError:
            return False  # reported by the next refresh

    def report_config_error(self, error: str | None, *, store: bool) -> None:
        """Report why a configuration was refused, or clear the reason.

        Does not read Ironic, which may be the very reason.

        :param store: now; the next successful refresh stores it anyway.
        :raises OwnershipError: if it could not be stored now.
        """
        self._status.config_error = error
        if store:
            self._status.store(self.context.ports.backend.view())

    def refresh(self) -> Summary:
        """Reconcile the records of this service with Ironic.

        :raises FencedError: if this service lost its write lease; changes
            that were not written yet are dropped.
        :raises OwnershipError: if something can't be read or written.
        """
        epoch = self.context.fence.epoch()
        began, mark = self.context.clock(), self._feed.mark()
        seen = snapshot.take(self._host, self.scope, self.context.ports)
        self.last_scan = Scan(self.scope, seen.nodes, began)
        summary = Summary(nodes=len(seen.nodes))
        summary.away = _away(seen.services.values())
        self._last = summary
        own = {u for u, r in seen.records.items() if r.host == self._host}
        summary.owned = len(own)
        lost = self._lost_commits.observe(seen.services)
        if lost:
            self._status.lost_commits = self.operator_log.lost_commits(lost)
        self._status.clock_skew = self._clock_skew.observe(seen.view)
        _check_epoch(self._host, epoch, seen.services.get(self._host))
        self._status.store(seen.view)
        self._cell_drift.correct(epoch)
        self._feed.withhold([one.uuid for one in self._cell_drift.left])
        self._feed.listed(mark, own, seen.nodes)
        missing = own.difference(node.uuid for node in seen.nodes)
        found = self.missing_nodes.examine(missing, len(own))
        self._feed.listed(mark, own, found.elsewhere)
        summary.pending = found.pending
        try:
            self._reconcile(seen, found, summary, mark)
        except exceptions.OwnershipError:
            self.missing_nodes.ask_again(found.looked_up)
            raise
        self._feed.completed(mark)
        return summary

    def _reconcile(
        self,
        seen: snapshot.Snapshot,
        found: Findings,
        summary: Summary,
        mark: Mark,
    ) -> None:
        if found.mass_loss and found.pending:
            # Look all of them up first: they may not be lost.
            self.missing_nodes.ask_again(found.looked_up)
        elif self.operator_log.is_mass_loss(found, summary.owned):
            summary.mass_loss = True
        listed = seen
        seen = dataclasses.replace(seen, nodes=[*seen.nodes, *found.elsewhere])
        with self._monitor.monitored(seen.view):
            groups = self.reconciler.peer_groups(seen)
            plan = self._plan(seen, groups)
        plan.filtered.extend(found.remembered)
        summary.waiting, summary.deferred = plan.waiting, plan.deferred
        others = plan.suspects - {self._host}
        summary.flapping = bool(plan.suspects) and (
            others <= self._planned_with.present
        )
        self.operator_log.planned(plan)
        self._write(
            confirm_releases(
                plan.changes,
                listed.nodes,
                found.elsewhere,
                self.scope,
                self.context.ports.source,
            ),
            summary,
        )
        self._feed.completed(mark)
        self._notify(seen.nodes)
        if found.mass_loss:
            # Only deletions stop: all that Ironic lists is served.
            return
        # After all other changes, so that nothing waits for Placement.
        summary.applied += self._cleanup.delete(self.scope, listed, found)
        summary.applied += self._cleanup.delete_unowned(
            self.scope, listed, groups
        )

    def _plan(
        self, seen: snapshot.Snapshot, groups: PeerGroups
    ) -> reconcile_plan.Plan:
        self._check_own_policies(seen.view, groups)
        self._own_policies = (
            groups.policies.get(self._host) or self._own_policies
        )
        self.operator_log.decides_with(groups)
        self._planned_with = self.liveness()
        plan = self.reconciler.plan(seen, groups, self._planned_with)
        if self.availability is not None:
            plan.changes = self.availability.complete(
                self._host, plan.changes, seen.nodes, seen.records
            )
        return plan

    def _write(self, changes: Sequence[Change], summary: Summary) -> None:
        written = self.reconciler.write(changes, last=self._refused)
        summary.limited = written.limited
        summary.applied += written.applied
        summary.refused += len(written.refused)
        self._refused = frozenset(c.uuid for c in written.refused)
        self.missing_nodes.ask_again(self._refused)

    def _notify(self, nodes: Sequence[model.Node]) -> None:
        fleet = self.availability.fleet if self.availability else None
        result = RefreshResult(nodes, self._own_policies, fleet)
        if self.reporter is not None:
            self.reporter.refreshed(result)
        if self.repair is not None:
            self.repair(result)

    def _check_own_policies(
        self, view: model.View, groups: PeerGroups
    ) -> None:
        own = view.get(self._host)
        if own is None or groups.policies.get(self._host) is not None:
            return
        reason = settings_diff.unreadable(
            own.settings, self.context.ports.interpret
        )
        raise exceptions.PluginFaultError(
            f'{self._host} can no longer build its own policies: {reason}',
            hint='Repair that package, and start the service again',
        )


def _away(services: Iterable[model.Service]) -> frozenset[str]:
    return frozenset(row.host for row in services if row.away)


def _check_epoch(host: str, epoch: int, row: model.Service | None) -> None:
    # Before there is something to write, so that the service learns of it.
    # The epoch is from before the row was read.
    if row is None or row.fenced or row.forced_down or row.epoch != epoch:
        raise exceptions.FencedError(
            f'{host} has no right to write: its service was fenced, forced '
            'down or deleted, or registered by another process',
            hint='It registers again by itself, unless it is forced down',
        )
