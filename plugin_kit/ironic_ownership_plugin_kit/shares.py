"""Detection of shares that depend on the number or the names of members.

A policy may give unequal shares: nodes of one rack together, or weights. So
only a policy that spreads nodes evenly over a few members is checked.
"""

from __future__ import annotations

import collections
import dataclasses
import uuid
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import model

NODES = 3200
"""Nodes to spread."""

_SAME = 50
"""Nodes that differ by their uuid only."""
_SPREAD = (1 << 128) // 61

Assign = Callable[[Sequence[model.Node], Sequence[str]], Sequence[str | None]]

_EVEN = 0.5, 1.7
"""Least and greatest share of an even spread, per mean."""
_SKEWED = 0.2, 4.0
"""The same, beyond which many members are skewed."""

_FEW = tuple(
    tuple(f'{name}{number}' for number in range(1, 4))
    for name in ('host', 'node', 'rack-a-compute', 'x')
)
_SOME = tuple(
    tuple(f'host{number}' for number in range(20, 20 + count))
    for count in (5, 7, 8, 9, 11)
)
"""Of different numbers, none of which divides another."""
_MANY = tuple(
    tuple(f'compute-{number:03}' for number in range(count))
    for count in (64, 150)
)
_LONG_NAMES = tuple(
    f'{"x" * length}{length:02}' for length in (1, 2, 4, 8, 12, 20, 40, 60)
)


def skew(assign: Assign, nodes: Sequence[model.Node]) -> str | None:
    """Return which member gets too much or too little; ``None`` if none does.

    :param assign: the policy's method.
    """
    for hosts in _FEW:
        if _extreme(assign, nodes, hosts, _EVEN) is not None:
            return None
    # Nodes that always go together, such as those of a rack, are one unit;
    # few units cannot be spread over many members.
    if not _tells_apart(assign, nodes[0]):
        units = set(
            zip(*(assign(nodes, hosts) for hosts in _SOME), strict=True)
        )
        if len(units) < len(nodes) / 5:
            return None
    for hosts in (*_MANY, _LONG_NAMES):
        found = _extreme(assign, nodes, hosts, _SKEWED)
        if found is not None:
            host, count = found
            return (
                f'{host} gets {count} of {len(nodes)} nodes among '
                f'{len(hosts)} members, where the mean is '
                f'{len(nodes) // len(hosts)}; three members get about the same'
            )
    return None


def _tells_apart(assign: Assign, node: model.Node) -> bool:
    """Tell whether nodes that differ by their uuid only are spread."""
    same = [
        dataclasses.replace(node, uuid=str(uuid.UUID(int=_SPREAD * number)))
        for number in range(1, _SAME)
    ]
    return len(set(assign(same, _SOME[0]))) > 1


def _extreme(
    assign: Assign,
    nodes: Sequence[model.Node],
    hosts: Sequence[str],
    bounds: tuple[float, float],
) -> tuple[str, int] | None:
    counted = collections.Counter(assign(nodes, hosts))
    mean = len(nodes) / len(hosts)
    for host in hosts:
        if not bounds[0] * mean <= counted[host] <= bounds[1] * mean:
            return host, counted[host]
    return None
