"""Status of the services: row, membership and load.

Available in part while the membership does not answer. Without Ironic, and
without the imports that a decision needs: see :func:`balance.add_load`.
"""

from __future__ import annotations

import collections
import dataclasses

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.conditions import ConditionReport, Loop
from ironic_ownership.engine.ports import Records


@dataclasses.dataclass(frozen=True)
class ServiceStatus:
    """One service: its row, its membership and its load.

    :param row: its record; epoch 0 if it has joined and not registered.
    :param member: the member of that host, if the view has one: the active
        process or, without one, a standby.
    :param view_known: whether the membership backend answered.
    :param standbys: number of its standby processes.
    :param report: what its process stored of its loops, if it did.
    :param unavailable: nodes that nothing can be scheduled to now, with an
        instance or without; ``None`` if that is not known.
    :param of_mean: its nodes against those that it should have: by the shares
        that its assigner declares, or else the mean of the services that it
        is compared with. ``None`` if it is in no group, or none are expected.
    """

    row: model.Service
    member: model.Member | None
    view_known: bool
    nodes: int = 0
    instances: int = 0
    unavailable: int | None = None
    of_mean: float | None = None
    standbys: int = 0
    report: ConditionReport | None = None

    @property
    def conditions(self) -> str | None:
        """The loops that fail, in words; ``None`` without a process.

        ``ok``, ``unknown`` if its report is missing or too old, or the names
        of the loops.
        """
        report = self.report
        if report is None or report.is_outdated:
            return 'unknown' if self.view_known and self.member else None
        return ', '.join(one.loop for one in report.failing) or 'ok'

    @property
    def last_refresh(self) -> str | None:
        """The sentence about its last refresh; ``None`` if none is stored."""
        refresh = self.report.of(Loop.REFRESH) if self.report else None
        return (refresh.did if refresh else '') or None

    @property
    def alive(self) -> str:
        """Liveness by the membership, of stock Nova by its heartbeats.

        ``up``; ``standby`` while only standby processes are alive; ``away``
        if it is down and expected back; ``down``, or ``unknown``.
        """
        if self.row.is_stock and self.member is None:
            return 'up'
        if not self.view_known:
            return 'unknown'
        if self.member is None:
            return 'away' if self.row.away else 'down'
        active = self.row.incarnation in (None, self.member.incarnation)
        return 'up' if active else 'standby'

    @property
    def settings(self) -> model.MemberSettings:
        """The settings that the service advertises, or last did."""
        return self.member.settings if self.member else self.row.settings


def read(
    records: Records, store: backend.MembershipBackend
) -> tuple[list[ServiceStatus], list[str]]:
    """Return every service that has a row or is a member, by host.

    :returns: also a sentence for each thing that could not be read.
    :raises RecordsError: if the records do not answer.
    """
    view, warnings = None, []
    try:
        view = store.view()
    except exceptions.MembershipError as exc:
        warnings.append(f'liveness is unknown: {exc}')
    return of(records, view), warnings


def of(records: Records, view: model.View | None) -> list[ServiceStatus]:
    """Return every service that has a row or is in a view, by host.

    :param view: ``None`` if the membership backend does not answer.
    """
    rows = {row.host: row for row in records.services()}
    counts = records.counts()
    reports = records.condition_reports()
    # A process that waits to start is no member, and may have no row.
    waiting = {r.host for r in reports.values() if not r.is_outdated}
    seen = view.serving(rows.values()) if view else model.View()
    members = {m.host: m for m in seen.members}
    standbys = collections.Counter(m.host for m in seen.standbys)
    return [
        ServiceStatus(
            rows.get(host, model.Service(host)),
            members.get(host),
            view is not None,
            *counts.get(host, (0, 0)),
            standbys=standbys[host],
            report=reports.get(host),
        )
        for host in sorted(rows.keys() | members.keys() | waiting)
    ]
