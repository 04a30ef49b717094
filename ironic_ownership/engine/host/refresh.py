"""The refresh: take a snapshot, decide, plan, write, notify."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Set

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Delete, Release
from ironic_ownership.engine.availability import (
    AvailabilityTracker,
    FlapDamper,
)
from ironic_ownership.engine.conditions import LOST_COMMITS
from ironic_ownership.engine.deletion.missing_nodes import (
    Findings,
    MissingNodes,
)
from ironic_ownership.engine.host import health, snapshot
from ironic_ownership.engine.host.feed import ReadToken
from ironic_ownership.engine.host.fleet_reader import FleetReader
from ironic_ownership.engine.host.reconciler import Planner, Reconciler
from ironic_ownership.engine.host.record_cleanup import RecordCleanup
from ironic_ownership.engine.host.refresh_result import (
    RefreshResult,
    Reporter,
    Scan,
    Summary,
)
from ironic_ownership.engine.host.snapshot import RecordCache, ReleaseCheck
from ironic_ownership.engine.host.tuning import Tuning
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.failure_detector import (
    ClockSkew,
    Liveness,
    LostCommits,
)


@dataclasses.dataclass(eq=False)
class Refresher:
    """Keeps the records of one service up to date.

    Threading: the refresh thread only, but ``last_scan`` for any.

    :param tuning: with which it begins.
    :param liveness: returns which of the missing services are dead.
    :param reporter: receives the result of each refresh.
    :param repair: completes unfinished reservations.
    """

    reconciler: Reconciler
    tuning: dataclasses.InitVar[Tuning]
    liveness: Callable[[], Liveness]
    reporter: Reporter | None = None
    repair: Callable[[RefreshResult], None] | None = None

    def __post_init__(self, tuning: Tuning) -> None:
        self.context = context = self.reconciler.context
        self.operator_log = self.reconciler.operator_log
        self._host, ironic = context.host, context.ports.ironic
        self._feed = self.reconciler.feed
        self.scope = tuning.policies.scope
        self.last_scan: Scan | None = None
        self.missing_nodes = MissingNodes(ironic, tuning.limits, context.clock)
        self.availability = AvailabilityTracker(
            ironic,
            context.conditions,
            FlapDamper(tuning.recovery_delay),
            context.clock,
        )
        self.reader = FleetReader(
            ironic, self._host, tuning.full_refresh_interval, context.clock
        )
        self._planner = Planner(
            self.reconciler, self.liveness, self.availability
        )
        self._last = Summary()
        self._refused: frozenset[str] = frozenset()
        self._cleanup = RecordCleanup(
            self.reconciler, self.missing_nodes, self.reporter
        )
        self._config_error: str | None = None
        self._lost_commits = LostCommits()
        self._clock_skew = ClockSkew(
            self._host, self.context.fence.margin, self.context.conditions
        )
        self._cache = RecordCache(self.context.ports.records, self._host)
        # Own nodes on record, and those of them that Ironic did not list.
        self._own: Set[str] | None = None
        self._missing: Set[str] = frozenset()

    def reconfigure(self, tuning: Tuning) -> None:
        """Use another scope and other limits from the next refresh on."""
        # An operator who reloads has read the report.
        self.context.conditions.clear(
            LOST_COMMITS, 'the loss of commits is confirmed'
        )
        self._forget()
        self.follow(tuning.policies.scope)
        self._cleanup.reconfigure(tuning.limits)
        self.reconciler.handover_limit = tuning.handover_limit
        self.reconciler.budget = tuning.budget
        self.reader.interval = tuning.full_refresh_interval
        self.reader.require_whole()
        self.availability.damper.recovery_delay = tuning.recovery_delay

    def follow(self, scope: model.Scope) -> None:
        """Use another scope from the next refresh on."""
        if scope != self.scope:
            self.last_scan = None
        self.scope = scope

    @property
    def is_waiting(self) -> bool:
        """True if an event may make the last refresh outdated."""
        return bool(self._last.deferred or self._last.away)

    def is_outdated(self) -> bool:
        """Tell whether an event happened that the last refresh waited for.

        Costs at most one query, and none if it waited for nothing.
        """
        last = self._last
        if last.deferred and self.liveness() != self._planner.liveness:
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
        self._config_error = error
        if store:
            self._store_status(self.context.ports.backend.view())

    def _store_status(
        self, view: model.View, known: model.Service | None = None
    ) -> None:
        """Store the view, and why a configuration was refused, for ``check``.

        :param known: the own row: what it has is not stored again.
        """
        epoch, error = self.context.fence.epoch(), self._config_error
        if known is not None and (view.checksum, error) == (
            known.view_checksum,
            known.config_error,
        ):
            return
        self.context.ports.records.report(
            *(self._host, epoch),
            view_checksum=view.checksum,
            config_error=error,
        )

    def refresh(self) -> Summary:
        """Reconcile the records of this service with Ironic.

        :raises FencedError: if this service lost its write lease; changes
            that were not written yet are dropped.
        :raises OwnershipError: if something can't be read or written.
        """
        try:
            return self._refresh()
        except BaseException:
            # What was decided is not written, and the database may be another
            # one now.
            self._forget()
            raise

    def _refresh(self) -> Summary:
        epoch = self.context.fence.epoch()
        # Before anything is read: what the feed gets later is newer.
        token = self._feed.read_token()
        if self.reader.interval <= 0:
            self._forget()
        began = self.context.clock()
        seen = snapshot.take(
            self.scope, self.context.ports, self.reader, self._cache
        )
        now = self.context.clock()
        self.last_scan = Scan(
            self.scope, seen.nodes, now, self.reader.baseline
        )
        summary = Summary(nodes=len(seen.nodes), is_whole=seen.is_whole)
        summary.away = _away(seen.services.values())
        self._last = summary
        lost = self._lost_commits.observe(seen.services)
        if lost:
            self.operator_log.lost_commits(lost)
        self._clock_skew.observe(seen.view)
        row = seen.services.get(self._host)
        # Before there is something to write, so that the service learns of it.
        fence.check_row(self._host, epoch, row)
        self._store_status(seen.view, row)
        companion = self.context.ports.companion
        if companion is not None:
            companion.follow_settings(self._host)
            self._feed.exclude(companion.correct(self._host, epoch))
        # The feed may lack nodes of a companion that it can have again.
        is_known = self._own is not None and companion is None
        changed = seen.changed if is_known else None
        if changed is None or changed:
            self._own = self._own_nodes(seen, changed)
            self._missing = self._own - seen.nodes.keys()
        own = self._own or set()
        if not self._feed.is_complete:
            changed = None
        if changed is None or changed:
            self._feed.listed(token, own, seen.nodes, changed, seen.records)
        summary.owned = len(own)
        found = self._examine(summary, now - began)
        if found.elsewhere:
            elsewhere = {node.uuid: node for node in found.elsewhere}
            self._feed.listed(
                token, own, elsewhere, elsewhere.keys(), seen.records
            )
        summary.pending = found.pending
        try:
            self._reconcile(seen, found, summary, token)
        except exceptions.OwnershipError:
            self.missing_nodes.ask_again(found.looked_up)
            raise
        if summary.pending or summary.list_again:
            self.reader.require_whole()
        return summary

    def _own_nodes(
        self, seen: snapshot.Snapshot, changed: Set[str] | None
    ) -> Set[str]:
        """Return the uuids of the nodes that the service has on record."""
        kept = self._own - changed if self._own and changed else set()
        uuids = seen.records.keys() if changed is None else changed
        records, host = seen.records, self._host
        return kept | {
            u for u in uuids if u in records and records[u].host == host
        }

    def _forget(self) -> None:
        """Read and decide everything the next time, but for the nodes."""
        self._cache.clear()
        self._planner.clear()
        self._own = None

    def _examine(self, summary: Summary, seconds: float) -> Findings:
        """Look up missing nodes for as long as their list took.

        What is left needs another list, which may take longer than to look up
        the rest.
        """
        found = self.missing_nodes.examine(
            self._missing, summary.owned, seconds
        )
        if summary.is_whole or not found.gone:
            return found
        # Whether they are deleted is decided with a whole list.
        self.missing_nodes.ask_again(found.gone)
        summary.list_again = True
        return dataclasses.replace(found, gone=())

    def _reconcile(
        self,
        seen: snapshot.Snapshot,
        found: Findings,
        summary: Summary,
        token: ReadToken,
    ) -> None:
        if found.mass_loss and found.pending:
            # Look all of them up first: they may not be lost.
            self.missing_nodes.ask_again(found.looked_up)
        elif self.operator_log.is_mass_loss(found, summary.owned):
            summary.mass_loss = True
        listed = seen
        if found.elsewhere:
            seen = seen.including(found.elsewhere)
        self._carry_out(
            seen,
            ReleaseCheck(
                {node.uuid for node in found.elsewhere},
                self.scope,
                self.context.ports.ironic,
            ),
            summary,
        )
        decided = self._planner.decided
        others = decided.suspects - {self._host}
        summary.flapping = bool(decided.suspects) and (
            others <= self._planner.liveness.present
        )
        summary.registering = self.reconciler.unregistered.awaited
        self.operator_log.planned(
            dataclasses.replace(
                decided, filtered=[*decided.filtered, *found.remembered]
            )
        )
        self._feed.completed(token)
        self._notify(seen.nodes)
        if seen.is_whole:
            self._cache.clear()  # as rarely, everything is read again
        if found.mass_loss or not seen.is_whole:
            # Only deletions stop: all that Ironic lists is served.
            return
        # After all other changes, so that nothing waits for Placement.
        summary.done[Delete] += self._cleanup.delete(listed, found)
        summary.done[Delete] += self._cleanup.delete_unowned(
            listed, self._planner.groups
        )
        if self._cleanup.is_unfinished:
            self.reader.require_whole()

    def _carry_out(
        self, seen: snapshot.Snapshot, check: ReleaseCheck, summary: Summary
    ) -> None:
        """Decide and write, some nodes at a time."""
        tolerated = self.reconciler.tolerated
        try:
            is_final = self._write(seen, check, summary)
        finally:
            self.operator_log.took_over(summary.taken_over)
        self.operator_log.paused(summary.paused)
        self.missing_nodes.ask_again(summary.left)
        self._refused = summary.last(self._refused)
        if (
            is_final
            and not summary.left
            and not summary.limited
            and tolerated == self.reconciler.tolerated
        ):
            self._planner.keep(seen)
        else:
            self._planner.clear()

    def _write(
        self, seen: snapshot.Snapshot, check: ReleaseCheck, summary: Summary
    ) -> bool:
        """Tell whether all that was planned was final."""
        is_final = True
        plans = self._planner.plans(seen, self._refused)
        while True:
            with health.policies_monitored(self.context.conditions):
                plan = next(plans, None)
            decided = self._planner.decided
            summary.waiting = decided.waiting.total()
            summary.owners = decided.waiting
            summary.suspects = decided.suspects
            summary.deferred = decided.deferred
            if plan is None:
                return is_final
            is_final &= not any(isinstance(c, Release) for c in plan.changes)
            self.reconciler.write(
                check.confirm(plan.changes), self._refused, summary
            )

    def _notify(self, nodes: Mapping[str, model.Node]) -> None:
        result = RefreshResult(
            nodes, self._planner.policies, self.availability.conductors
        )
        if self.reporter is not None:
            self.reporter.refreshed(result)
        if self.repair is not None:
            self.repair(result)


def _away(services: Iterable[model.Service]) -> frozenset[str]:
    return frozenset(row.host for row in services if row.away)
