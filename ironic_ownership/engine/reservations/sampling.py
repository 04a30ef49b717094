"""Draw some of many nodes, the same ones in every process.

Requests for different instances that come at once have to begin at different
nodes, or all but one of them would come too late.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import model

_WIDTH = 2
_TAILS = tuple(f'{number:02x}' for number in range(16**_WIDTH))


def some_of(
    nodes: Sequence[model.Node], instance_uuid: str, limit: int
) -> tuple[model.Node, ...]:
    """Return some of the nodes, in an order drawn by the instance's uuid.

    :param limit: how many at most.
    :returns: nodes of one resource class, that of the first.
    """

    def rank(text: str) -> bytes:
        return hashlib.blake2b(
            text.encode(), key=instance_uuid.encode()[:64], digest_size=8
        ).digest()

    drawn = sorted(
        _some(nodes, rank, 4 * limit), key=lambda n: (rank(n.uuid), n.uuid)
    )
    same = [n for n in drawn if n.resource_class == drawn[0].resource_class]
    return tuple(same[:limit])


def _some(
    nodes: Sequence[model.Node], rank: Callable[[str], bytes], enough: int
) -> Sequence[model.Node]:
    """Return about as many nodes as are enough, or all if there are few.

    Those whose uuids end alike: to rank each of 100,000 nodes would take
    longer than all the conditions.
    """
    tails = sorted(_TAILS, key=rank)
    share = len(_TAILS) * enough // max(1, len(nodes)) + 1
    while share < len(_TAILS):
        drawn = set(tails[:share])
        some = [n for n in nodes if n.uuid[-_WIDTH:] in drawn]
        if len(some) >= enough:
            return some
        share *= 4
    return nodes
