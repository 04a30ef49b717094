"""Read everything that one refresh decides from, in the order that is safe.

Services come before the view: an owner that is not alive in the view had at
most the epoch read before, so a claim can tell when it came back. Records
come before the nodes: an instance that is on record and no longer in Ironic
is really gone. The view comes last, for it is about who may act now; only
whether a service that is not in it is away is read once more after it, because
that is written before the service leaves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.contracts import inventory, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Records

LOOKED_UP_BY_UUID = 500
"""Past this many, one query for all records is cheaper than several."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One moment, as one service saw it.

    :param nodes: all nodes in the service's scope.
    :param records: by uuid: those of the nodes, and the service's own.
    :param services: by host.
    :param view: serving, that is with one member for each host.
    """

    nodes: Sequence[model.Node]
    records: Mapping[str, model.ComputeNode]
    services: Mapping[str, model.Service]
    view: model.View


def take(
    host: str,
    scope: model.Scope,
    records: Records,
    source: inventory.Inventory,
    backend: MembershipBackend,
) -> Snapshot:
    """Read services, records, nodes and view.

    :raises OwnershipError: if any of them can't be read; then there is no
        snapshot at all.
    """
    services: Mapping[str, model.Service] = {
        service.host: service for service in records.services()
    }
    known = _by_uuid(records.compute_nodes_near(host, scope))
    nodes = source.scan(scope)
    # A record can be far from its node: its owner has not seen yet that the
    # node came into this scope.
    strangers = {node.uuid for node in nodes if node.uuid not in known}
    if len(strangers) > LOOKED_UP_BY_UUID:
        everyone = _by_uuid(records.compute_nodes())
        known |= {u: r for u, r in everyone.items() if u in strangers}
    elif strangers:
        known |= _by_uuid(records.compute_nodes_by_uuid(strangers))
    # A node that became its own since the list was read is not as it was
    # listed: it waits for the next refresh.
    late = {u for u in strangers if u in known and known[u].host == host}
    if late:
        nodes = [node for node in nodes if node.uuid not in late]
        known = {u: r for u, r in known.items() if u not in late}
    services, view = look_around(services, records, backend)
    return Snapshot(nodes, known, services, view)


def look_around(
    services: Mapping[str, model.Service],
    records: Records,
    backend: MembershipBackend,
) -> tuple[Mapping[str, model.Service], model.View]:
    """Read who is alive, and of the others who is away.

    :param services: as read before: their epochs are those that claims
        have to name.
    :returns: these services, and the serving view.
    """
    view = backend.view().serving(services.values())
    if services.keys() <= view.hosts:
        return services, view
    away = {row.host for row in records.services() if row.away}
    return {
        host: dataclasses.replace(row, away=host in away)
        for host, row in services.items()
    }, view


def _by_uuid(
    records: Iterable[model.ComputeNode],
) -> dict[str, model.ComputeNode]:
    return {record.uuid: record for record in records}
