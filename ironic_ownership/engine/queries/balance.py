"""Balance of nodes across services. Pure."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.engine import availability, plugin_guard
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups
from ironic_ownership.engine.queries.deployment import Deployment, Part
from ironic_ownership.engine.queries.service_status import ServiceStatus

UNEVEN = 1.5
"""A ring is uneven if a share exceeds this multiple of the expected one."""

_USABLE = frozenset(('available', 'active'))


@dataclasses.dataclass(frozen=True)
class Spread:
    """Numbers of nodes by host, of services that are compared.

    :param shares: the share of all nodes that each should have, 1.0 in all;
        ``None`` for equal shares, and empty if none are expected.
    """

    nodes: dict[str, int]
    shares: Mapping[str, float] | None = None

    @property
    def mean(self) -> float:
        """Average number of nodes of a service."""
        return sum(self.nodes.values()) / len(self.nodes)

    @property
    def largest(self) -> str:
        """The host with the most nodes, against those it should have."""
        return max(sorted(self.nodes), key=lambda h: self._ratio(h) or 0.0)

    @property
    def uneven(self) -> bool:
        """True if the largest share is too large and could be smaller."""
        most, expected = self.nodes[self.largest], self.expected(self.largest)
        if expected is None:
            return False
        return most > UNEVEN * expected and most > math.ceil(expected)

    def expected(self, host: str) -> float | None:
        """Return the number of nodes that a host should have.

        :returns: ``None`` if no shares are expected.
        """
        if self.shares is None:
            return self.mean
        share = self.shares.get(host)
        return None if share is None else share * sum(self.nodes.values())

    def of_mean(self, host: str) -> float | None:
        """Return the share of a host against what it should have.

        Without declared shares that is the mean; 1.0 without nodes.

        :returns: ``None`` if it is no live peer, should have no nodes and has
            some, or no shares are expected.
        """
        ratio = self._ratio(host) if host in self.nodes else None
        return ratio if ratio is not None and math.isfinite(ratio) else None

    def _ratio(self, host: str) -> float | None:
        expected = self.expected(host)
        if expected is None:
            return None
        if not self.mean:
            return 1.0
        if not expected:
            return math.inf if self.nodes[host] else 0.0
        return self.nodes[host] / expected


def usable(
    node: model.Node | None, conductors: availability.Conductors | None = None
) -> bool:
    """Tell whether a node can carry an instance, as Ironic describes it.

    :param node: ``None`` if Ironic does not list it.
    """
    return node is not None and not (
        availability.is_out_of_service(node, conductors)
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
        (group, spread(peer_groups, group, nodes_of))
        for group in peer_groups.groups
        if group.policies.assigner is not None and len(group.hosts) > 1
    ]


def spread(
    peer_groups: PeerGroups,
    group: PeerGroup,
    nodes_of: Mapping[str | None, int],
) -> Spread:
    """Return how the nodes of a peer group are spread over its hosts.

    :raises PluginFaultError: if its assigner fails, unless it is tolerated:
        then no shares are expected.
    """
    shares: Mapping[str, float] | None = {}
    try:
        shares = plugin_guard.bounded(
            functools.partial(group.policies.shares, group.live_peers),
            foreign=group.policies.is_foreign,
        )
    except exceptions.PluginFaultError as exc:
        peer_groups.on_fault(group.hosts, exc)
    return Spread({h: nodes_of.get(h, 0) for h in group.hosts}, shares)


def spreads(
    peer_groups: PeerGroups | None, nodes_of: dict[str | None, int]
) -> dict[str, Spread]:
    """Return by host how nodes are spread over it and those like it.

    Services of one ring are compared with each other, and services without
    a ring with all others without one.

    :param peer_groups: ``None`` if liveness is not known.
    :raises PluginFaultError: as :func:`spread`.
    """
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


def add_load(
    services: Iterable[ServiceStatus], deployment: Deployment
) -> tuple[list[ServiceStatus], list[str]]:
    """Add the load of each service, as far as it is known.

    :returns: also a sentence for each thing that could not be read.
    :raises RecordsError: if the records did not answer.
    """
    warnings: list[str] = []
    for part, error in deployment.unread.items():
        if part is Part.RECORDS:
            raise error
        warnings.append(f'{part} is unknown: {error}')
    if deployment.unlisted:
        warnings.append(
            'unavailable nodes are unknown: '
            f'{texts.counted(deployment.unlisted, "node")} without a shard '
            'may not be listed with a shard key set'
        )
    whole = Part.IRONIC not in deployment.unread and not deployment.unlisted
    lives = Part.MEMBERSHIP not in deployment.unread
    owned, used, unusable = (
        collections.Counter[str | None]() for _ in range(3)
    )
    for record in deployment.records.values():
        host, node = record.host, deployment.nodes.get(record.uuid)
        owned[host] += 1
        used[host] += record.instance_uuid is not None
        unusable[host] += not usable(node, deployment.conductors)
    services = with_shares(
        services,
        spreads(deployment.peer_groups if lives else None, owned),
        unusable if whole else None,
    )
    return [
        dataclasses.replace(
            one, nodes=owned[one.row.host], instances=used[one.row.host]
        )
        for one in services
    ], warnings


def with_shares(
    services: Iterable[ServiceStatus],
    spread_of: Mapping[str, Spread],
    unavailable: Mapping[str | None, int] | None,
) -> list[ServiceStatus]:
    """Add its share, and the number of its unavailable nodes, to each service.

    :param unavailable: by host; ``None`` if that is not known.
    """
    shares = {host: found.of_mean(host) for host, found in spread_of.items()}
    return [
        dataclasses.replace(
            one,
            unavailable=None
            if unavailable is None
            else unavailable[one.row.host],
            of_mean=shares.get(one.row.host),
        )
        for one in services
    ]
