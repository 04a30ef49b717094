"""An assigner by zones: a node's own zone, or an equal share for each zone."""

from __future__ import annotations

import bisect
import functools
import hashlib
import struct
from collections.abc import Mapping, Sequence

from ironic_ownership import contracts

POINTS = 1024
"""Points of a name on its ring: shares are within 10 % of each other."""

_WORD = 8

Zones = Mapping[str, Sequence[str]]
"""The hosts of each zone."""


class ZoneSpreadPolicy(contracts.AssignerPolicy):
    """Spreads nodes over the zones that the services advertise.

    A node that names a zone goes to a service there, as long as one is alive.
    The others are spread so that each zone gets an equal share, regardless of
    how many services it has: the failure of a zone then concerns no more.
    """

    contract_version = 2
    rebalancing = True
    node_by_node = True
    options = (
        contracts.Option(
            'zone',
            contracts.OptionType.STRING,
            'Zone of this service. Services that name none are one zone.',
            default='',
            maximum=255,
            per_member=True,
        ),
        contracts.Option(
            'key',
            contracts.OptionType.STRING,
            'Key in the properties of a node that names its zone. The same '
            'for all services. Empty: no node names one.',
            default='zone',
        ),
    )

    def choose(
        self, request: contracts.AssignmentRequest
    ) -> Sequence[contracts.Choice]:
        """Return zone and service for each node, each from a hash ring."""
        zones = _zones(request.peers)
        own = {zone: {zone: hosts} for zone, hosts in zones.items()}
        key = str(self._settings['key'])
        found = []
        for node in request.nodes:
            named = node.properties.get(key)
            home = own.get(named) if isinstance(named, str) else None
            zone, host = _place(node.uuid, home or zones)
            why = 'its zone' if home else 'spread over the zones'
            found.append(contracts.Choice(host, f'{why}: {zone}'[:100]))
        return found

    def shares(
        self, peers: Sequence[contracts.Peer]
    ) -> Mapping[str, float] | None:
        """Return equal shares of the zones, unless nodes name theirs."""
        if self._settings['key']:
            return {}
        zones = _zones(peers)
        return {
            host: 1 / len(hosts) for hosts in zones.values() for host in hosts
        }


def _zones(peers: Sequence[contracts.Peer]) -> Zones:
    zones: dict[str, list[str]] = {}
    for peer in peers:
        zone = peer.values.get('zone')
        zones.setdefault(zone if isinstance(zone, str) else '', []).append(
            peer.host
        )
    return zones


def _place(uuid: str, zones: Zones) -> tuple[str, str]:
    zone = _next(uuid, 'zone', tuple(sorted(zones)))
    return zone, _next(uuid, 'host', tuple(sorted(zones[zone])))


def _next(uuid: str, kind: str, names: tuple[str, ...]) -> str:
    """Return the name whose point follows on a ring."""
    if len(names) == 1:
        return names[0]
    points, owners = _ring(kind, names)
    place = int.from_bytes(
        hashlib.blake2b(f'{kind} {uuid}'.encode(), digest_size=_WORD).digest()
    )
    return owners[bisect.bisect_left(points, place) % len(points)]


@functools.lru_cache(maxsize=64)
def _ring(
    kind: str, names: tuple[str, ...]
) -> tuple[Sequence[int], Sequence[str]]:
    # hash() of Python differs from process to process.
    found = sorted(
        (point, name)
        for name in names
        for point in struct.unpack(
            f'>{POINTS}Q',
            hashlib.shake_128(f'{kind} {name}'.encode()).digest(
                POINTS * _WORD
            ),
        )
    )
    return [point for point, _ in found], [name for _, name in found]
