"""The plan of a drain: a new owner for each node of a service. Pure.

Only live and enabled services that admit a node can take it. Of several, a
free node goes to the one to which their assigner gives it, since it would not
stay with another one. The one with the fewest nodes takes any other node,
including those already planned for it.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import model, reasons
from ironic_ownership.engine.decision.decide import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host.plan_memory import decides_node_by_node


@dataclasses.dataclass(frozen=True)
class Drain:
    """The new owners of the nodes of one service.

    :param moves: uuids of nodes by the service that takes them, in order.
    :param unplaceable: uuids of the nodes that no other service admits.
    :param gone: uuids of records whose node Ironic does not have.
    """

    moves: Mapping[str, Sequence[str]]
    unplaceable: Sequence[str] = ()
    gone: Sequence[str] = ()


def plan(
    host: str,
    owned: Collection[str],
    nodes: Iterable[model.Node],
    peer_groups: PeerGroups,
    counts: Mapping[str | None, tuple[int, int]],
) -> Drain:
    """Find a new owner for every node of a service.

    The same arguments always give the same plan, in any order.

    :param host: canonical name of the service to empty.
    :param owned: uuids of the compute nodes that it owns on record.
    :param nodes: these nodes as Ironic has them now.
    :param counts: compute nodes by owner: (all, those with an instance).
    """
    candidates = sorted(set(peer_groups.group_of) - {host})
    loads = {name: counts.get(name, (0, 0))[0] for name in candidates}
    present = {n.uuid: n for n in nodes if n.uuid in owned}
    admitting = {
        uuid: [name for name in candidates if peer_groups.admits(name, node)]
        for uuid, node in present.items()
    }
    moves: dict[str, list[str]] = collections.defaultdict(list)
    for uuid, taker in _assigned(present.values(), peer_groups).items():
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
    return Drain(
        {name: sorted(moves[name]) for name in sorted(moves)},
        unplaceable,
        sorted(set(owned) - present.keys()),
    )


def _assigned(
    nodes: Iterable[model.Node], peer_groups: PeerGroups
) -> Mapping[str, str]:
    """Return the service to which each free node is assigned, if it is.

    An assigner that decides about all nodes together is not asked: these are
    those of one service only.
    """
    if not decides_node_by_node(peer_groups):
        return {}
    free = [node for node in nodes if node.instance_uuid is None]
    return {
        uuid: decision.owner
        for uuid, decision in decide(free, {}, peer_groups).items()
        if decision.owner and decision.reason is reasons.Reason.ASSIGNED
    }
