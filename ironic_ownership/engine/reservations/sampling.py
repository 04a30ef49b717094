"""Deterministic sample of nodes, the same in every process.

Concurrent requests for different instances start at different nodes, so that
they do not compete for the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import model

_WIDTH = 2
_TAILS = tuple(f'{number:02x}' for number in range(16**_WIDTH))


def sample(
    nodes: Sequence[model.Node], instance_uuid: str, limit: int
) -> tuple[model.Node, ...]:
    """Return some of the nodes, ordered by a hash with the instance's uuid.

    :param limit: maximum number.
    :returns: nodes of one resource class, that of the first node.
    """

    def rank(text: str) -> bytes:
        return hashlib.blake2b(
            text.encode(), key=instance_uuid.encode()[:64], digest_size=8
        ).digest()

    ranked = sorted(
        _preselect(nodes, rank, 4 * limit),
        key=lambda n: (rank(n.uuid), n.uuid),
    )
    same = [n for n in ranked if n.resource_class == ranked[0].resource_class]
    return tuple(same[:limit])


def _preselect(
    nodes: Sequence[model.Node], rank: Callable[[str], bytes], minimum: int
) -> Sequence[model.Node]:
    """Return at least a minimum of the nodes, or all if there are few.

    Selects by the last digits of the uuids: hashing each of 100,000 nodes
    would take longer than all the conditions.
    """
    tails = sorted(_TAILS, key=rank)
    share = len(_TAILS) * minimum // max(1, len(nodes)) + 1
    while share < len(_TAILS):
        chosen = set(tails[:share])
        found = [n for n in nodes if n.uuid[-_WIDTH:] in chosen]
        if len(found) >= minimum:
            return found
        share *= 4
    return nodes
