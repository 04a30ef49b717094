"""Empty a service: one move for each service that takes nodes from it.

Only live and enabled services that admit a node can take it. Of several, a
free node goes to the one to which their assigner gives it, since it would not
stay with another one. The one with the fewest nodes takes any other node,
including those already planned for it. Every gate of every move is evaluated
before the first node is moved.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.changes.case import (
    Case,
    OwnerChange,
    PlannedNode,
    Proposal,
)
from ironic_ownership.engine.changes.gates import (
    DESTINATION_ADMITS,
    NODE_EXISTS,
)
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.decision.decide import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups, tolerant
from ironic_ownership.engine.gates import GateResult, Outcome

_Holds = Callable[[model.ComputeNode | model.Node], bool]

_NO_SERVICE = GateResult(
    DESTINATION_ADMITS.code,
    Outcome.FAILED,
    'no other live and enabled service admits it',
    hint='Start a service that admits it; or change shard and conductor group '
    'of the node in Ironic',
)


@dataclasses.dataclass(frozen=True)
class DrainProposal:
    """The moves that empty a service.

    :param unplaceable: nodes for which there is no destination.
    """

    host: str
    moves: Sequence[Proposal]
    unplaceable: Sequence[PlannedNode] = ()


def propose(
    operation: MoveNodes,
    host: str,
    order: Move,
    *,
    trial: int = 0,
    to: str | None = None,
    holds: _Holds = lambda one: False,
) -> DrainProposal:
    """Find a new owner for every node, and evaluate every gate.

    :param order: what all its moves have in common. If it is automatic, by a
        standing order, only deployed nodes move.
    :param trial: number of nodes that move first, to each service.
    :param to: the service that gets the nodes, if a standing order names one.
    :param holds: whether a pause holds a node, by its place on record or in
        Ironic.
    :raises NotFoundError: if there is no such service.
    :raises OwnershipError: if something can't be read.
    """
    ports = operation.ports
    services = {row.host: row for row in ports.records.services()}
    host = suggestions.known_service(host, services)
    recorded = ports.records.compute_nodes(NodeFilter(host=host))
    owned = {r.uuid: r for r in recorded if not holds(r)}
    if order.automatic:
        deployed = operation.moves.open_instances(owned)
        owned = {u: r for u, r in owned.items() if u in deployed}
    shards = {record.shard for record in owned.values()}
    nodes = operation.read_nodes(list(owned), shards)
    present = []
    for node in filter(None, nodes.values()):
        if holds(node):
            del owned[node.uuid]
        else:
            present.append(node)
    if order.automatic:
        # The assigner gives a deployed node to no other service.
        present = [dataclasses.replace(n, instance_uuid=None) for n in present]
    view = ports.backend.view().serving(services.values())
    # A service whose policies fail takes nothing, and stops no other one.
    groups = PeerGroups.of(
        view, services.values(), ports.interpret, tolerant()
    )
    found, unplaceable = plan(
        host, present, groups, ports.records.counts(), to=to
    )
    takers = {uuid: to for to, some in found.items() for uuid in some}
    # One snapshot serves for all the moves.
    snapshot = operation.snapshot(
        services.values(), view, owned, nodes, takers
    )
    proposals = operation.evaluate_each(
        order,
        f'drain of {host}',
        {(None, taker): uuids for taker, uuids in found.items()},
        snapshot,
        trial,
    )
    change = OwnerChange('', snapshot, ports.interpret)
    no_service = _NO_SERVICE
    if to is not None:
        no_service = dataclasses.replace(
            _NO_SERVICE,
            detail=f'{to}, which the order names, is not live and enabled, '
            'or does not admit it',
        )
    results = dict.fromkeys(unplaceable, no_service)
    gone = owned.keys() - {node.uuid for node in present}
    for case in (Case(change, uuid) for uuid in sorted(gone)):
        results[case.uuid] = NODE_EXISTS.result(case, NODE_EXISTS.check(case))
    return DrainProposal(
        host,
        proposals,
        [
            PlannedNode(
                NodeMove(
                    uuid,
                    host,
                    instance_uuid=owned[uuid].instance_uuid,
                    state=NodeState.REFUSED,
                    detail=f'{result.gate}: {result.detail}',
                ),
                owned[uuid].name,
                (result,),
            )
            for uuid, result in results.items()
        ],
    )


def plan(
    host: str,
    nodes: Iterable[model.Node],
    peer_groups: PeerGroups,
    counts: Mapping[str | None, tuple[int, int]],
    *,
    to: str | None = None,
) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
    """Find a new owner for every node of a service.

    The same arguments always give the same plan, in any order.

    :param host: canonical name of the service to empty.
    :param nodes: those that it owns, as Ironic has them now.
    :param counts: compute nodes by owner: (all, those with an instance).
    :param to: the only service that may take them, if one is named.
    :returns: uuids of nodes by the service that takes them, in order; and
        those of the nodes that no other service admits.
    """
    candidates = sorted(peer_groups.takers - {host})
    if to is not None:
        candidates = [name for name in candidates if name == to]
    loads = {name: counts.get(name, (0, 0))[0] for name in candidates}
    present = list(nodes)
    admitting = {
        node.uuid: [n for n in candidates if peer_groups.admits(n, node)]
        for node in present
    }
    moves: dict[str, list[str]] = collections.defaultdict(list)
    for uuid, taker in _assigned(present, peer_groups).items():
        if taker in admitting[uuid]:
            del admitting[uuid]
            loads[taker] += 1
            moves[taker].append(uuid)
    unplaceable = []
    # Nodes with few candidates first, so that the loads stay balanced.
    for uuid in sorted(admitting, key=lambda u: (len(admitting[u]), u)):
        if not admitting[uuid]:
            unplaceable.append(uuid)
            continue
        taker = min(admitting[uuid], key=lambda name: (loads[name], name))
        loads[taker] += 1
        moves[taker].append(uuid)
    return {name: sorted(moves[name]) for name in sorted(moves)}, unplaceable


def _assigned(
    nodes: Iterable[model.Node], peer_groups: PeerGroups
) -> Mapping[str, str]:
    """Return the service to which each free node is assigned, if it is.

    An assigner that decides about all nodes together is not asked: these are
    those of one service only.
    """
    # Only the nodes of one service are known here.
    if not peer_groups.node_by_node:
        return {}
    free = [node for node in nodes if node.instance_uuid is None]
    return {
        uuid: decision.owner
        for uuid, decision in decide(free, {}, peer_groups).items()
        if decision.owner and decision.reason is reasons.Reason.ASSIGNED
    }
