"""One refresh: snapshot, decide, plan, apply, report."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable

from oslo_log import log

from ironic_ownership.contracts import (
    backend,
    exceptions,
    inventory,
    model,
    placement,
)
from ironic_ownership.contracts import records as records_
from ironic_ownership.engine import (
    absentees,
    decide,
    deletion,
    fence,
    journal,
    plan,
    policy_set,
    removal,
    roster,
    snapshot,
)

LOG = log.getLogger(__name__)

BATCH = 500
"""Changes in one transaction: short enough for others to get their turn."""


@dataclasses.dataclass
class Report:
    """What one refresh saw and did.

    :param nodes: nodes in scope.
    :param owned: of these, on record as owned by this service before.
    :param refused: changes that lost a race; the next refresh decides anew.
    :param waiting: nodes whose live owner has to release them first.
    :param pending: own nodes that are missing and not looked up yet.
    """

    nodes: int = 0
    owned: int = 0
    applied: int = 0
    refused: int = 0
    waiting: int = 0
    pending: int = 0
    mass_loss: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether another refresh soon is likely to change something."""
        return bool(self.waiting or self.refused or self.pending)


@dataclasses.dataclass(frozen=True)
class Ports:
    """What a refresh reads from and writes to.

    :param placement: ``None`` where the deployment does not use it.
    """

    records: records_.Records
    source: inventory.Inventory
    backend: backend.MembershipBackend
    interpret: policy_set.Interpreter
    placement: placement.Placement | None = None


class Refresher:
    """Brings the records of one service up to date, again and again.

    Threading: the refresh thread only.

    """

    def __init__(
        self,
        host: str,
        scope: model.Scope,
        ports: Ports,
        fence_: fence.Fence,
        journal_: journal.Journal,
        absentees_: absentees.Absentees,
    ) -> None:
        self._host = host
        self._scope = scope
        self._ports = ports
        self._fence = fence_
        self._journal = journal_
        self._absentees = absentees_
        self._remover = removal.Remover(
            ports.records, ports.source, ports.placement
        )
        self._kept: dict[str, list[deletion.Judgement]] = {}
        self._config_error: str | None = None
        self._reported: tuple[int, str, str | None] | None = None

    def change_scope(self, scope: model.Scope) -> None:
        """List another scope from the next refresh on."""
        self._scope = scope

    def report_config_error(self, error: str | None) -> None:
        """Store why a changed configuration was refused, or that none was.

        Done without a look at Ironic, which may be the very reason.

        :raises OwnershipError: if it could not be stored; a refresh that
            succeeds makes up for it.
        """
        self._config_error = error
        self._report(self._ports.backend.view())

    def refresh(self) -> Report:
        """Make the records of this service true, as far as it may.

        :raises FencedError: if this service may not act, or no longer; what
            was not written yet stays as it was.
        :raises OwnershipError: if something can't be read or written.
        """
        epoch = self._fence.epoch()
        seen = snapshot.take(
            self._host,
            self._scope,
            self._ports.records,
            self._ports.source,
            self._ports.backend,
        )
        report = Report(nodes=len(seen.nodes))
        own = {u for u, r in seen.records.items() if r.host == self._host}
        report.owned = len(own)
        row = seen.services.get(self._host)
        if self._journal.is_forced_down(row):
            # Not even a report: it would be refused, and this service would
            # register anew for as long as that lasts.
            return report
        _check_right(self._host, epoch, row)
        self._report(seen.view)
        missing = own.difference(node.uuid for node in seen.nodes)
        found = self._absentees.examine(missing, len(own))
        report.pending = found.pending
        self._keep_only(missing)
        try:
            self._act(seen, found, report)
        except exceptions.OwnershipError:
            self._absentees.ask_again(found.looked_up)
            raise
        return report

    def _report(self, view: model.View) -> None:
        """Store what this service says of itself, when that has changed."""
        epoch = self._fence.epoch()
        reported = (epoch, view.checksum, self._config_error)
        if reported == self._reported:
            return
        self._ports.records.report(
            self._host,
            epoch,
            view_checksum=view.checksum,
            config_error=self._config_error,
        )
        self._reported = reported

    def _act(
        self,
        seen: snapshot.Snapshot,
        found: absentees.Findings,
        report: Report,
    ) -> None:
        if found.mass_loss and found.pending:
            # Nobody knows yet whether they are lost: first look them up.
            self._absentees.ask_again(found.looked_up)
            return
        if self._journal.is_mass_loss(found, report.owned):
            report.mass_loss = True
            self._absentees.ask_again(n.uuid for n in found.elsewhere)
            return
        made = self._plan(seen, found)
        made.filtered.extend(found.remembered)
        report.waiting = made.waiting
        self._journal.planned(made)
        self._apply(made.changes, report)
        self._forgets(seen, found, report)

    def _plan(
        self, seen: snapshot.Snapshot, found: absentees.Findings
    ) -> plan.Plan:
        nodes = [*seen.nodes, *found.elsewhere]
        services = roster.Roster.of(
            seen.view, seen.services.values(), self._ports.interpret
        )
        self._journal.decides_with(services)
        return plan.plan(
            self._host,
            nodes,
            decide.decide(nodes, seen.records, services),
            seen.records,
            seen.services,
            services,
        )

    def _apply(
        self, changes: Iterable[records_.Change], report: Report
    ) -> None:
        remaining = iter(changes)
        while batch := list(itertools.islice(remaining, BATCH)):
            # Asked once more at the end: the database may have kept us
            # waiting until after the fence.
            outcome = self._ports.records.apply(
                self._host,
                self._fence.epoch(),
                batch,
                confirm=self._fence.epoch,
            )
            report.applied += len(outcome.applied)
            report.refused += len(outcome.refused)
            self._absentees.ask_again(c.uuid for c in outcome.refused)
            for change in outcome.applied:
                self._journal.changed(change)

    def _forgets(
        self,
        seen: snapshot.Snapshot,
        found: absentees.Findings,
        report: Report,
    ) -> None:
        """Delete the records whose every gate is passed, one by one.

        Comes after all other changes, so that nothing waits for Placement.
        """
        round_ = self._round(seen, found) if found.gone else removal.Round()
        for uuid in found.gone:
            outcome = self._remove(seen.records[uuid], round_)
            self._kept.pop(uuid, None)
            if outcome.deleted:
                report.applied += 1
                self._journal.changed(records_.Forget(uuid))
                continue
            self._kept[uuid] = outcome.failed
            if any(
                j.verdict is deletion.Verdict.UNKNOWN for j in outcome.failed
            ):
                # Whoever did not answer may do so at the next refresh.
                self._absentees.ask_again([uuid])
        self._journal.kept_records(self._kept)

    def _remove(
        self, record: model.ComputeNode, round_: removal.Round
    ) -> removal.Outcome:
        def forget() -> bool:
            outcome = self._ports.records.apply(
                self._host,
                self._fence.epoch(),
                [records_.Forget(record.uuid)],
            )
            return not outcome.refused

        return self._remover.remove(
            record, round_, may_act=self._fence.epoch, forget=forget
        )

    def _round(
        self, seen: snapshot.Snapshot, found: absentees.Findings
    ) -> removal.Round:
        """Judge what is the same for all records of this refresh."""
        round_ = removal.Round(mass_loss=found.mass_loss)
        scope = deletion.scope_to_count(self._scope)
        listed = len(seen.nodes)
        if scope != self._scope:
            try:
                listed = len(self._ports.source.scan(scope))
            except exceptions.IronicError as exc:
                round_.details[deletion.Gate.SEES_ALL_NODES] = str(exc)
                return round_
        removal.count_all(self._ports.source, scope.shard, listed, round_)
        return round_

    def _keep_only(self, missing: Iterable[str]) -> None:
        """Forget what was kept of nodes that came back, or moved."""
        for uuid in self._kept.keys() - set(missing):
            del self._kept[uuid]


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
