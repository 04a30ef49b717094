"""Snapshot of everything that one refresh decides from, read in safe order.

Services come before the view: an owner that is not alive in the view had at
most the epoch read before, so a claim detects that it came back. Records
come before nodes: an instance on record that Ironic no longer has is really
gone. The view comes last, because it states which services may act now. Only
the ``away`` flags are read again after it: a service writes its own before it
leaves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.ports import Ports

LOOKED_UP_BY_UUID = 500
"""Above this number, one query for all records is cheaper than several."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One moment, as one service saw it.

    :param nodes: all nodes in the service's scope.
    :param records: by uuid: those of the nodes, and the service's own.
    :param services: by host.
    :param view: serving view, with one member for each host.
    """

    nodes: Sequence[model.Node]
    records: Mapping[str, model.ComputeNode]
    services: Mapping[str, model.Service]
    view: model.View


def take(host: str, scope: model.Scope, ports: Ports) -> Snapshot:
    """Read services, records, nodes and view.

    :raises OwnershipError: if any of them can't be read; then there is no
        snapshot at all.
    """
    records = ports.records
    services: Mapping[str, model.Service] = {
        service.host: service for service in records.services()
    }
    known = _by_uuid(records.compute_nodes_near(host, scope))
    nodes = ports.source.scan(scope)
    # A record can lie outside of the scope: its owner has not noticed yet
    # that the node came into this one.
    unknown = {node.uuid for node in nodes if node.uuid not in known}
    if len(unknown) > LOOKED_UP_BY_UUID:
        every = _by_uuid(records.compute_nodes())
        known |= {u: r for u, r in every.items() if u in unknown}
    elif unknown:
        known |= _by_uuid(records.compute_nodes_by_uuid(unknown))
    # A node that became its own since the list was read may differ from the
    # list: it waits for the next refresh.
    late = {u for u in unknown if u in known and known[u].host == host}
    if late:
        nodes = [node for node in nodes if node.uuid not in late]
        known = {u: r for u, r in known.items() if u not in late}
    services, view = read_members(services, ports)
    return Snapshot(nodes, known, services, view)


def read_members(
    services: Mapping[str, model.Service], ports: Ports
) -> tuple[Mapping[str, model.Service], model.View]:
    """Read which services are alive, and which of the others are away.

    :param services: as read before: claims have to name their epochs.
    :returns: these services, and the serving view.
    """
    view = ports.backend.view().serving(services.values())
    if services.keys() <= view.hosts:
        return services, view
    away = {row.host for row in ports.records.services() if row.away}
    return {
        host: dataclasses.replace(row, away=host in away)
        for host, row in services.items()
    }, view


def _by_uuid(
    records: Iterable[model.ComputeNode],
) -> dict[str, model.ComputeNode]:
    return {record.uuid: record for record in records}
