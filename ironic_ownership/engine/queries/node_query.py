"""Look at the compute nodes of a scope: all of them, or one.

Reads and judges, changes nothing. A record whose node a list lacks is never
believed to be an orphan: Ironic is asked about its very uuid, because the
node may have left the scope, or become a part of another node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host import snapshot
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import (
    candidates,
    explanation,
    node_status,
)

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Census:
    """What was found.

    :param findings: in the order of names, then uuids.
    :param services: canonical names of all services that are known.
    """

    findings: Sequence[node_status.Finding]
    services: frozenset[str]


def take(ports: Ports, scope: model.Scope, host: str = '') -> Census:
    """Judge every node of a scope and every record that was seen there.

    The order of reading is that of a refresh. One request for each record
    whose node is not listed, besides the list itself.

    :param scope: what Ironic is to filter by; law 4 is the caller's.
    :param host: a service whose records are looked at wherever they are.
    :raises OwnershipError: if anything can't be read: half a census would
        show owned nodes as unowned.
    """
    seen = snapshot.take(
        host, scope, ports.records, ports.source, ports.backend
    )
    listed = {node.uuid for node in seen.nodes}
    elsewhere = _look_up(
        ports.source, (uuid for uuid in seen.records if uuid not in listed)
    )
    fleet = _fleet(ports.source)
    return Census(
        node_status.survey(
            [*seen.nodes, *elsewhere],
            seen.records.values(),
            PeerGroups.of(seen.view, seen.services.values(), ports.interpret),
            fleet,
        ),
        frozenset(seen.services) | seen.view.hosts,
    )


def one(ports: Ports, uuid: str) -> node_status.Finding | None:
    """Judge one compute node, asked for without any filter.

    :param uuid: of the node.
    :returns: ``None`` if neither Ironic nor the records know it.
    :raises OwnershipError: if anything can't be read.
    """
    found = explained(ports, uuid)
    return found.finding if found else None


def explained(
    ports: Ports,
    uuid: str,
    sharded: Callable[[], bool] = lambda: False,
) -> explanation.Explanation | None:
    """Judge and explain one compute node, asked for without any filter.

    Others are listed only if they are decided together with it.

    :param uuid: of the node.
    :param sharded: tells whether nodes may be listed by shard only (law 4);
        asked only if there is anything to list.
    :returns: ``None`` if neither Ironic nor the records know it.
    :raises OwnershipError: if anything can't be read.
    """
    services = ports.records.services()
    record = next(iter(ports.records.compute_nodes_by_uuid([uuid])), None)
    node = ports.source.get(uuid)
    moment = candidates.Moment.of(
        ports.backend.view(), services, ports.interpret
    )
    if node is None and record is None:
        return None
    scope = (
        explanation.companions_scope(node, moment.peer_groups)
        if node
        else None
    )
    companions: Sequence[model.Node] = ()
    if scope is not None:
        if scope.shard is None and sharded():
            raise exceptions.OwnershipError(
                f'node {uuid} is decided together with other nodes, which '
                'may not be listed with a shard key set',
                hint='Ask with a configuration without shard_key',
            )
        companions = ports.source.scan(scope)
    fleet = _fleet(ports.source) if node else None
    return explanation.explain(uuid, node, record, moment, companions, fleet)


def find(
    ports: Ports, name: str, scope: model.Scope
) -> tuple[str | None, Sequence[str]]:
    """Find the uuid of a node by its name.

    The records are asked first, and believed only as far as Ironic agrees;
    then the nodes of the scope.

    :returns: the uuid, or ``None`` and the names that are known.
    """
    recorded = ports.records.compute_nodes()
    same = [record.uuid for record in recorded if record.name == name]
    for node in _look_up(ports.source, same):
        if node.name == name:
            return node.uuid, ()
    nodes = ports.source.scan(scope)
    for node in nodes:
        if node.name == name:
            return node.uuid, ()
    if same:
        return same[0], ()
    known = {record.name for record in recorded if record.name}
    known |= {node.name for node in nodes if node.name}
    return None, sorted(known)


def _fleet(source: inventory.Inventory) -> evaluation.Fleet | None:
    known = conductors.ask(source)
    if known.fleet is None:
        LOG.warning(
            'it is not judged which nodes are out of service: %s', known.error
        )
    elif known.fleet.all_gone:
        LOG.warning(
            'no conductor of Ironic is alive: it is not judged which nodes '
            'are out of service'
        )
    return known.fleet


def _look_up(
    source: inventory.Inventory, uuids: Iterable[str]
) -> list[model.Node]:
    found = (source.get(uuid) for uuid in uuids)
    return [node for node in found if node is not None]
