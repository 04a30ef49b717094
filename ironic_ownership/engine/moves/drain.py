"""Plan which services take over the nodes of one that is to be emptied. Pure.

Only live and enabled services that admit a node can take it. Where several
can, the one with the fewest nodes does, counted with what the plan already
gives it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision.peer_groups import PeerGroups


@dataclasses.dataclass(frozen=True)
class Drain:
    """How one service gets empty.

    :param moves: uuids of nodes by the service that takes them, in order.
    :param homeless: uuids of the nodes that no other service admits.
    :param gone: uuids of records whose node Ironic does not have.
    """

    moves: Mapping[str, Sequence[str]]
    homeless: Sequence[str] = ()
    gone: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing would be left."""
        return not self.homeless and not self.gone


def plan(
    host: str,
    owned: Collection[str],
    nodes: Iterable[model.Node],
    peer_groups: PeerGroups,
    counts: Mapping[str | None, tuple[int, int]],
) -> Drain:
    """Find a new owner for every node of a service.

    The same arguments always give the same plan, whatever their order.

    :param host: canonical name of the service that is to be emptied.
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
    moves: dict[str, list[str]] = {}
    homeless = []
    # Those with the least choice first, or the others take their places.
    for uuid in sorted(present, key=lambda u: (len(admitting[u]), u)):
        if not admitting[uuid]:
            homeless.append(uuid)
            continue
        taker = min(admitting[uuid], key=lambda name: (loads[name], name))
        loads[taker] += 1
        moves.setdefault(taker, []).append(uuid)
    return Drain(
        {name: sorted(moves[name]) for name in sorted(moves)},
        homeless,
        sorted(set(owned) - present.keys()),
    )
