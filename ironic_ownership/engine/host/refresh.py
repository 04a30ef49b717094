"""One refresh: snapshot, decide, plan, apply, report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Change
from ironic_ownership.engine.availability import tracker
from ironic_ownership.engine.decision import decide, policy_set, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.deletion import remover
from ironic_ownership.engine.deletion.missing_nodes import (
    Findings,
    MissingNodes,
)
from ironic_ownership.engine.host import (
    policy_monitor,
    reconcile_plan,
    record_cleanup,
    refresh_result,
    snapshot,
    status_report,
)
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.writer import Writer
from ironic_ownership.engine.membership import failure_detector
from ironic_ownership.engine.membership.fence import Clock, Fence, monotonic
from ironic_ownership.engine.ports import Ports

LOG = log.getLogger(__name__)


@dataclasses.dataclass
class Report:
    """What one refresh saw and did.

    :param nodes: nodes in scope.
    :param owned: of these, on record as owned by this service before.
    :param refused: changes that lost a race; the next refresh decides anew.
    :param waiting: nodes whose live owner has to release them first.
    :param held: nodes that stay until it is clear who is dead.
    :param blinked: whether services were missing from the view for a moment
        only, this one perhaps, so that nobody will tell that they are back.
    :param away: services that are expected back.
    :param cut: whether more would change owner than one round may change.
    :param pending: own nodes that are missing and not looked up yet.
    """

    nodes: int = 0
    owned: int = 0
    applied: int = 0
    refused: int = 0
    waiting: int = 0
    held: int = 0
    blinked: bool = False
    away: frozenset[str] = frozenset()
    cut: bool = False
    pending: int = 0
    mass_loss: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether another refresh soon is likely to change something."""
        return bool(
            self.waiting or self.refused or self.pending or self.blinked
        )


class Refresher:
    """Brings the records of one service up to date, again and again.

    Threading: the refresh thread only, but for ``last_scan``.

    :param judge: tells who is dead of those that are missing.
    :param judging_: tells which nodes can be scheduled to; without it their
        records keep what they say of that.
    :param reporter: told of what each refresh saw.
    :param repair: settles what reservations left half-way.
    :ivar handover_limit: nodes that one refresh lets change owner.
    :ivar last_scan: what the last refresh listed, for any thread.
    """

    def __init__(
        self,
        host: str,
        scope: model.Scope,
        ports: Ports,
        fence: Fence,
        operator_log: OperatorLog,
        missing_nodes: MissingNodes,
        writer: Writer,
        judge: Callable[[], failure_detector.Judgement],
        *,
        handover_limit: int,
        availability_tracker: tracker.AvailabilityTracker | None = None,
        reporter: refresh_result.Reporter | None = None,
        repair: Callable[[refresh_result.RefreshResult], None] | None = None,
        clock: Clock = monotonic,
    ) -> None:
        self._host = host
        self._scope = scope
        self._ports = ports
        self._fence = fence
        self._operator_log = operator_log
        self._missing_nodes = missing_nodes
        self._writer = writer
        self._judge = judge
        self._availability_tracker = availability_tracker
        self._reporter = reporter
        self._repair = repair
        self._own_policies = policy_set.PolicySet()
        self._clock = clock
        self.handover_limit = handover_limit
        self.last_scan: refresh_result.Scan | None = None
        self._judged = judge()
        self._waits_for: Report = Report()
        self._refused: frozenset[str] = frozenset()
        self._forgetting = record_cleanup.RecordCleanup(
            host,
            remover.Remover(ports.records, ports.source, ports.placement),
            ports.records,
            ports.source,
            fence,
            operator_log,
            missing_nodes,
            reporter,
        )
        self._said = status_report.StatusReport(host, ports.records, fence)
        self._policies = policy_monitor.PolicyMonitor(self._said, operator_log)

    def change_scope(self, scope: model.Scope) -> None:
        """List another scope from the next refresh on."""
        if scope != self._scope:
            self.last_scan = None
        self._scope = scope

    def change_recovery_delay(self, seconds: float) -> None:
        """Let nodes come back into service after so many seconds."""
        if self._availability_tracker is not None:
            self._availability_tracker.recovery_delay = seconds

    @property
    def is_waiting(self) -> bool:
        """Whether something may make the last refresh outdated."""
        return bool(self._waits_for.held or self._waits_for.away)

    def is_outdated(self) -> bool:
        """Tell whether something has happened that the last one waited for.

        Cheap: at most one query, and none if it waited for nothing.
        """
        last = self._waits_for
        if last.held and self._judge() != self._judged:
            return True
        if not last.away:
            return False
        try:
            return last.away != _away(self._ports.records.services())
        except exceptions.RecordsError:
            return False  # the next refresh says what is wrong

    def report_config_error(self, error: str | None) -> None:
        """Store why a changed configuration was refused, or that none was.

        Done without a look at Ironic, which may be the very reason.

        :raises OwnershipError: if it could not be stored; a refresh that
            succeeds makes up for it.
        """
        self._said.config_error = error
        self._said.store(self._ports.backend.view())

    def keep_config_error(self, error: str | None) -> None:
        """Store it with the next refresh, and not before."""
        self._said.config_error = error

    def refresh(self) -> Report:
        """Make the records of this service true, as far as it may.

        :raises FencedError: if this service may not act, or no longer; what
            was not written yet stays as it was.
        :raises OwnershipError: if something can't be read or written.
        """
        epoch = self._fence.epoch()
        began = self._clock()
        seen = snapshot.take(
            self._host,
            self._scope,
            self._ports.records,
            self._ports.source,
            self._ports.backend,
        )
        self.last_scan = refresh_result.Scan(self._scope, seen.nodes, began)
        report = Report(nodes=len(seen.nodes))
        report.away = _away(seen.services.values())
        self._waits_for = report
        own = {u for u, r in seen.records.items() if r.host == self._host}
        report.owned = len(own)
        row = seen.services.get(self._host)
        if self._operator_log.is_forced_down(row):
            # Not even a report: it would be refused, and this service would
            # register anew for as long as that lasts.
            return report
        _check_right(self._host, epoch, row)
        self._said.store(seen.view)
        missing = own.difference(node.uuid for node in seen.nodes)
        found = self._missing_nodes.examine(missing, len(own))
        report.pending = found.pending
        self._forgetting.keep_only(missing)
        try:
            self._act(seen, found, report)
        except exceptions.OwnershipError:
            self._missing_nodes.ask_again(found.looked_up)
            raise
        return report

    def _act(
        self,
        seen: snapshot.Snapshot,
        found: Findings,
        report: Report,
    ) -> None:
        if found.mass_loss and found.pending:
            # Nobody knows yet whether they are lost: first look them up.
            self._missing_nodes.ask_again(found.looked_up)
            return
        if self._operator_log.is_mass_loss(found, report.owned):
            report.mass_loss = True
            self._missing_nodes.ask_again(n.uuid for n in found.elsewhere)
            return
        with self._policies.deciding(seen.view):
            made = self._plan(seen, found)
        made.filtered.extend(found.remembered)
        report.waiting, report.held = made.waiting, made.held
        report.blinked = bool(made.undecided) and self._sees(made.undecided)
        self._operator_log.planned(made)
        now = reconcile_plan.limited(
            made.changes, self.handover_limit, self._refused
        )
        report.cut = len(now) < len(made.changes)
        self._apply(now, report)
        self._hand_on([*seen.nodes, *found.elsewhere])
        # After all other changes, so that nothing waits for Placement.
        report.applied += self._forgetting.forget(self._scope, seen, found)

    def _hand_on(self, nodes: Sequence[model.Node]) -> None:
        fleet = (
            self._availability_tracker.fleet
            if self._availability_tracker
            else None
        )
        seen = refresh_result.RefreshResult(nodes, self._own_policies, fleet)
        if self._reporter is not None:
            self._reporter.refreshed(seen)
        if self._repair is not None:
            self._repair(seen)

    def _plan(
        self, seen: snapshot.Snapshot, found: Findings
    ) -> reconcile_plan.Plan:
        nodes = [*seen.nodes, *found.elsewhere]
        services = PeerGroups.of(
            seen.view, seen.services.values(), self._ports.interpret
        )
        self._check_own_policies(seen.view, services)
        self._own_policies = (
            services.policies.get(self._host) or self._own_policies
        )
        self._operator_log.decides_with(services)
        self._judged = self._judge()
        made = reconcile_plan.plan(
            self._host,
            nodes,
            decide.decide(nodes, seen.records, services),
            seen.records,
            seen.services,
            services,
            self._judged,
        )
        if self._availability_tracker is not None:
            made.changes = self._availability_tracker.complete(
                self._host, made.changes, nodes, seen.records
            )
        return made

    def _sees(self, hosts: Collection[str]) -> bool:
        """Tell whether the heartbeat's own looks have not missed them."""
        return self._judged.present.issuperset(set(hosts) - {self._host})

    def _check_own_policies(
        self, view: model.View, services: PeerGroups
    ) -> None:
        own = view.get(self._host)
        if own is None or services.policies.get(self._host) is not None:
            return
        why = settings_diff.unreadable(own.settings, self._ports.interpret)
        raise exceptions.PluginFaultError(
            f'{self._host} cannot build its own policies any more: {why}',
            hint='Repair that package, and start the service again',
        )

    def _apply(self, changes: Iterable[Change], report: Report) -> None:
        written = self._writer.write(changes)
        report.applied += written.applied
        report.refused += len(written.refused)
        self._refused = frozenset(c.uuid for c in written.refused)
        self._missing_nodes.ask_again(self._refused)


def _away(services: Iterable[model.Service]) -> frozenset[str]:
    return frozenset(row.host for row in services if row.away)


def _check_right(host: str, epoch: int, row: model.Service | None) -> None:
    """Notice a fence before there is something to write.

    A service that was forced down and is not any more recovers by this.

    :param epoch: from before the row was read.
    :raises FencedError: if the service has to register anew.
    """
    if row is None or row.fenced or row.epoch > epoch:
        raise exceptions.FencedError(
            f'{host} has no right to write: its service was fenced or '
            'deleted, or registered by another process',
            hint='It registers again by itself',
        )
