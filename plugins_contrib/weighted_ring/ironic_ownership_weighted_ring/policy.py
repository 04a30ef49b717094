"""An assigner by a hash ring with points of each service by its weight."""

from __future__ import annotations

import bisect
import functools
import hashlib
import struct
from collections.abc import Mapping, Sequence

from ironic_ownership import contracts

MOST = 100
"""Greatest weight."""
POINTS = 256
"""Points on the ring for a weight of one. More of them give shares that are
nearer to the weights, and a ring that takes longer to build."""

_WORD = 8


class WeightedRingPolicy(contracts.AssignerPolicy):
    """Shares the nodes by the weights that the services advertise.

    Points belong to one service, and depend on nothing but its name: a weight
    that grows adds points of this service, so nodes move to it only; when it
    shrinks, nodes move from it only.
    """

    contract_version = 2
    rebalancing = True
    node_by_node = True
    options = (
        contracts.Option(
            'weight',
            contracts.OptionType.INTEGER,
            'Weight of this service: with twice the weight it gets twice the '
            'nodes. 0 gives it no nodes, unless all services have 0.',
            default=1,
            minimum=0,
            maximum=MOST,
            per_member=True,
        ),
    )

    def choose(
        self, request: contracts.AssignmentRequest
    ) -> Sequence[contracts.Choice]:
        """Return the service of the point that follows each node."""
        weights = _weights(request.peers)
        points, hosts = _ring(tuple(sorted(weights.items())))
        choices = {
            host: contracts.Choice(host, f'ring, weight {weight}')
            for host, weight in weights.items()
        }
        last = len(points)
        return [
            choices[hosts[bisect.bisect_left(points, _place(n.uuid)) % last]]
            for n in request.nodes
        ]

    def shares(
        self, peers: Sequence[contracts.Peer]
    ) -> Mapping[str, float] | None:
        """Return the weights."""
        return dict(_weights(peers))


def _weights(peers: Sequence[contracts.Peer]) -> dict[str, int]:
    found = {peer.host: _weight(peer.values.get('weight')) for peer in peers}
    return found if any(found.values()) else dict.fromkeys(found, 1)


def _weight(value: contracts.Value) -> int:
    # Advertised by another release, perhaps.
    if not isinstance(value, int) or isinstance(value, bool):
        return 1
    return min(max(value, 0), MOST)


@functools.lru_cache(maxsize=2)
def _ring(
    weights: tuple[tuple[str, int], ...],
) -> tuple[Sequence[int], Sequence[str]]:
    """Return the points in order, and the host of each."""
    points = sorted(
        (point, host)
        for host, weight in weights
        for point in _points(host, weight * POINTS)
    )
    return [point for point, _ in points], [host for _, host in points]


def _points(host: str, count: int) -> tuple[int, ...]:
    # The first points of a longer digest are those of a shorter one.
    digest = hashlib.shake_128(host.encode()).digest(count * _WORD)
    return struct.unpack(f'>{count}Q', digest)


def _place(uuid: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(uuid.encode(), digest_size=_WORD).digest()
    )
