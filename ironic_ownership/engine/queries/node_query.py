"""Queries for single compute nodes, by uuid or by name.

Read-only. A node is always asked for by its uuid, without any filter, because
it may have left the scope of its owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import explanation
from ironic_ownership.engine.queries.node_status import NodeStatus

LOG = log.getLogger(__name__)


def status(ports: Ports, uuid: str) -> NodeStatus | None:
    """Return the status of one compute node.

    :returns: ``None`` if neither Ironic nor the records have it.
    :raises OwnershipError: if anything can't be read.
    """
    found = explain(ports, uuid)
    return found.status if found else None


def explain(
    ports: Ports,
    uuid: str,
    sharded: Callable[[], bool] = lambda: False,
) -> explanation.Explanation | None:
    """Explain the decision for one compute node.

    Other nodes are listed only if they are decided together with it.

    :param sharded: tells whether nodes may be listed by shard only (law 4);
        called only if there is anything to list.
    :returns: ``None`` if neither Ironic nor the records have it.
    :raises OwnershipError: if anything can't be read.
    """
    rows = ports.records.services()
    record = next(iter(ports.records.compute_nodes_by_uuid([uuid])), None)
    policy_set.prepare(rows, ports.interpret)
    node = ports.source.get(uuid)
    services = explanation.Services.of(
        ports.backend.view(), rows, ports.interpret
    )
    if node is None:
        if record is None:
            return None
        return explanation.explain(uuid, None, record, services)
    scope = explanation.companions_scope(node, services.peer_groups)
    companions: Sequence[model.Node] = ()
    if scope is not None:
        if scope.shard is None and sharded():
            raise exceptions.OwnershipError(
                f'node {uuid} is decided together with other nodes, which '
                'may not be listed with a shard key set',
                hint='Use a configuration without shard_key',
            )
        companions = ports.source.scan(scope)
    records: Sequence[model.ComputeNode] = ()
    if explanation.reads_owners(node, services.peer_groups):
        records = ports.records.compute_nodes_by_uuid(
            {one.uuid for one in companions}
        )
    fleet = fleet_of(ports.source)
    return explanation.explain(
        uuid, node, record, services, companions, fleet, records
    )


def find(ports: Ports, name: str) -> tuple[str | None, Sequence[str]]:
    """Find a node by its name, in any shard and conductor group.

    A recorded name counts only if no node in Ironic has it.

    :returns: the uuid, or ``None`` and the names on record.
    """
    found = ports.source.node_named(name)
    if found is not None:
        return found, ()
    names = {r.name: r.uuid for r in ports.records.compute_nodes() if r.name}
    if name in names:
        return names[name], ()
    return None, sorted(names)


def of_instance(ports: Ports, uuid: str) -> str | None:
    """Return the uuid of the node on which an instance is, if one is.

    The records know it; of an instance that just appeared Ironic does, in any
    shard and conductor group.

    :param uuid: of the instance; that of a node is none.
    """
    recorded = ports.records.node_of_instance(uuid)
    if recorded is not None:
        return recorded
    if ports.records.compute_nodes_by_uuid([uuid]):
        return None
    return ports.source.node_of_instance(uuid)


def look_up(
    source: inventory.Inventory, uuids: Iterable[str]
) -> list[model.Node]:
    """Return those of some nodes that Ironic has; one request for each."""
    found = (source.get(uuid) for uuid in uuids)
    return [node for node in found if node is not None]


def fleet_of(source: inventory.Inventory) -> evaluation.Fleet | None:
    """Return the conductors, and log if availability can't be evaluated."""
    known = conductors.read(source)
    if known.fleet is None:
        LOG.warning('out-of-service nodes are unknown: %s', known.error)
    elif known.fleet.ignores_outage:
        LOG.warning(
            'out-of-service nodes are unknown: no conductor of Ironic is alive'
        )
    return known.fleet
