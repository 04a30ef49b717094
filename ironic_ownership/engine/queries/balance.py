"""Balance of nodes across services. Pure."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterable, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups

UNEVEN = 1.5
"""A ring is uneven if its largest share exceeds this multiple of the mean."""

_USABLE = frozenset(('available', 'active'))


@dataclasses.dataclass(frozen=True)
class Load:
    """Load of one service by the records.

    :param unavailable: nodes that nothing can be scheduled to now, with an
        instance or without; ``None`` if Ironic was not asked or did not
        answer.
    :param of_mean: its nodes against the mean of the services that it is
        compared with, 1.0 being the mean; ``None`` if it is in no group.
    """

    nodes: int = 0
    instances: int = 0
    unavailable: int | None = None
    of_mean: float | None = None


@dataclasses.dataclass(frozen=True)
class Spread:
    """Numbers of nodes by host, of services that are compared."""

    nodes: dict[str, int]

    @property
    def mean(self) -> float:
        """Average number of nodes of a service."""
        return sum(self.nodes.values()) / len(self.nodes)

    @property
    def largest(self) -> str:
        """The host with the most nodes."""
        return max(sorted(self.nodes), key=self.nodes.__getitem__)

    @property
    def uneven(self) -> bool:
        """True if the largest share is too large and could be smaller."""
        most = self.nodes[self.largest]
        return most > UNEVEN * self.mean and most > math.ceil(self.mean)

    def of_mean(self, host: str) -> float | None:
        """Return the share of a host against the mean; 1.0 without nodes."""
        if host not in self.nodes:
            return None
        return self.nodes[host] / self.mean if self.mean else 1.0


def usable(
    node: model.Node | None, fleet: evaluation.Fleet | None = None
) -> bool:
    """Tell whether a node can carry an instance, as Ironic describes it.

    :param node: ``None`` if Ironic does not list it.
    """
    return node is not None and not (
        evaluation.is_out_of_service(node, fleet)
        or node.maintenance
        or node.retired
        or node.provision_state not in _USABLE
        or node.power_state == 'error'
    )


def rings(
    peer_groups: PeerGroups, nodes_of: dict[str | None, int]
) -> list[tuple[PeerGroup, Spread]]:
    """Return the peer groups of several live services, and their spread."""
    return [
        (group, Spread({h: nodes_of.get(h, 0) for h in group.hosts}))
        for group in peer_groups.groups
        if group.policies.assigner is not None and len(group.hosts) > 1
    ]


def loads(
    hosts: Iterable[str],
    records: Iterable[model.ComputeNode],
    nodes: Sequence[model.Node] | None,
    peer_groups: PeerGroups | None,
    fleet: evaluation.Fleet | None = None,
) -> dict[str, Load]:
    """Return the load of each service.

    Services of one ring are compared with each other, and services without
    a ring with all others without one.

    :param nodes: all nodes of Ironic; ``None`` if it does not answer.
    :param peer_groups: ``None`` if liveness is not known.
    """
    owned: dict[str, list[model.ComputeNode]] = collections.defaultdict(list)
    for record in records:
        if record.host is not None:
            owned[record.host].append(record)
    present = None if nodes is None else {node.uuid: node for node in nodes}
    spread_of = _spreads(
        peer_groups, {h: len(own) for h, own in owned.items()}
    )
    return {
        host: Load(
            len(owned.get(host, ())),
            sum(r.instance_uuid is not None for r in owned.get(host, ())),
            None
            if present is None
            else sum(
                not usable(present.get(r.uuid), fleet)
                for r in owned.get(host, ())
            ),
            spread_of[host].of_mean(host) if host in spread_of else None,
        )
        for host in hosts
    }


def _spreads(
    peer_groups: PeerGroups | None, nodes_of: dict[str | None, int]
) -> dict[str, Spread]:
    if peer_groups is None:
        return {}
    found = {
        host: spread
        for group, spread in rings(peer_groups, nodes_of)
        for host in group.hosts
    }
    alone = [host for host in peer_groups.group_of if host not in found]
    rest = Spread({host: nodes_of.get(host, 0) for host in alone})
    return found | dict.fromkeys(alone, rest)
