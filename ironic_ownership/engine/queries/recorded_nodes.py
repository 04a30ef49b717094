"""Compute nodes as they are on record: without a request to Ironic.

A list of Ironic costs as much as there are nodes. The records answer at once,
and are as old as the last refresh of each owner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.conditions import ConditionReport, Loop
from ironic_ownership.contracts.node_filter import NodeFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.ports import Records

_FEW = 3
"""Services that a remark names."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedNode:
    """One compute node on record.

    :param seen_at: when its owner last read the changes of its nodes from
        Ironic, in seconds since the epoch by the database's clock; ``None``
        while the node is unowned, and if the owner has not reported it.
    """

    record: model.ComputeNode
    seen_at: float | None

    @property
    def state(self) -> str:
        """The state, as far as the record tells."""
        if self.record.host is None:
            return 'unowned'
        filtered = self.record.reason is reasons.Reason.FILTERED_KEEPS
        return 'filtered' if filtered else 'owned'


@dataclasses.dataclass(frozen=True)
class Page:
    """One page, in the order of the uuids.

    :param remark: how old it is, in one sentence; empty without an owner.
    """

    nodes: Sequence[RecordedNode]
    remark: str = ''


def read(
    records: Records, chosen: NodeFilter, *, after: str = '', limit: int
) -> Page:
    """Read a page of the compute nodes on record.

    :raises NotFoundError: if there is no such service.
    :raises RecordsError: if the database does not answer.
    """
    found = records.compute_nodes_page(chosen, after=after, limit=limit)
    if not found and chosen.host is not None:
        _check_service(records, chosen.host)
    reports = records.condition_reports()
    owners = {record.host for record in found if record.host is not None}
    seen_at = {host: _seen_at(reports, host) for host in owners}
    nodes = [
        RecordedNode(record, seen_at.get(record.host or ''))
        for record in found
    ]
    return Page(nodes, _remark(reports, seen_at))


def _check_service(records: Records, host: str) -> None:
    if records.service(host) is None:
        known = [service.host for service in records.services()]
        raise suggestions.unknown('service', host, known)


def _seen_at(
    reports: Mapping[str, ConditionReport], host: str
) -> float | None:
    report = reports.get(host)
    if report is None:
        return None
    return next(
        (
            condition.succeeded_at
            for condition in report.conditions
            if condition.loop == Loop.REFRESH
        ),
        None,
    )


def _remark(
    reports: Mapping[str, ConditionReport],
    seen_at: Mapping[str, float | None],
) -> str:
    ages: dict[str, float] = {}
    silent: list[str] = []
    for host, at in sorted(seen_at.items()):
        if at is None:
            silent.append(host)
        else:
            ages[host] = max(0.0, reports[host].now - at)
    parts = []
    if ages:
        oldest = max(ages, key=lambda host: ages[host])
        parts.append(
            f'Ironic was read at most {ages[oldest]:.0f} s ago, by {oldest}'
        )
    if silent:
        more = '' if len(silent) <= _FEW else f' and {len(silent) - _FEW} more'
        parts.append(
            f'no refresh is on record of {", ".join(silent[:_FEW])}{more}'
        )
    return 'from the records: ' + '; '.join(parts) if parts else ''
