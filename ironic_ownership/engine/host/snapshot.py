"""Snapshot of everything that one refresh decides from, read in safe order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import incremental
from ironic_ownership.engine.host.fleet_reader import Fleet, FleetReader
from ironic_ownership.engine.host.record_cache import RecordCache
from ironic_ownership.engine.ports import Ports


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One moment, as one service saw it.

    :param nodes: all nodes in the service's scope, by uuid.
    :param records: by uuid: those of the nodes, and the service's own.
    :param services: by host.
    :param view: serving view, with one member for each host.
    :param changed: uuids of nodes that, or whose records, may differ from
        those in the snapshot before; ``None`` if Ironic just listed all nodes.
    :param baseline: from which later changes of nodes can be read.
    """

    nodes: Mapping[str, model.Node]
    records: Mapping[str, model.ComputeNode]
    services: Mapping[str, model.Service]
    view: model.View
    changed: frozenset[str] | None = None
    baseline: incremental.Baseline | None = None

    @property
    def is_whole(self) -> bool:
        """True if Ironic just listed all nodes.

        Only then a node that is not among them may be missing.
        """
        return self.changed is None

    def including(self, nodes: Iterable[model.Node]) -> Snapshot:
        """Return the snapshot with nodes that were looked up as well."""
        more = {node.uuid: node for node in nodes}
        changed = self.changed
        if changed is not None:
            changed |= more.keys()
        return dataclasses.replace(
            self, nodes={**self.nodes, **more}, changed=changed
        )


def take(
    host: str,
    scope: model.Scope,
    ports: Ports,
    reader: FleetReader | None = None,
    cache: RecordCache | None = None,
) -> Snapshot:
    """Read services, records, nodes and view.

    :param reader: of the nodes; without it all of them are listed.
    :param cache: of the records; without it all of them are read.
    :raises OwnershipError: if any of them can't be read; then there is no
        snapshot at all.
    """
    # Before the view: an owner that is not alive in it had at most the epoch
    # read here, so a claim detects that it came back.
    services: Mapping[str, model.Service] = {
        service.host: service for service in ports.records.services()
    }
    policy_set.prepare(services.values(), ports.interpret)
    cache = cache or RecordCache(ports.records, host)
    # Before the nodes: an instance on record that Ironic no longer has is
    # really gone.
    cache.in_reach(scope, services)
    fleet = reader.read(scope) if reader else Fleet(ports.ironic.fleet(scope))
    nodes, changed = fleet.nodes, fleet.changed
    # A record can lie outside of the scope: its owner has not noticed yet
    # that the node came into this one.
    records, late = cache.complete(nodes, changed)
    # Their records may be newer than the list; the next refresh has both.
    if late:
        nodes = {uuid: nodes[uuid] for uuid in nodes if uuid not in late}
    if changed is not None:
        changed |= cache.changed
    # Last, because it states which services may act now.
    services, view = read_members(services, ports)
    return Snapshot(nodes, records, services, view, changed, fleet.baseline)


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
    # Read again: a service writes its own flag before it leaves.
    away = {row.host for row in ports.records.services() if row.away}
    return {
        host: dataclasses.replace(row, away=host in away)
        for host, row in services.items()
    }, view
