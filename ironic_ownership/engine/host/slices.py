"""Slices of the nodes of a refresh, so that few are in use at a time. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence, Set

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host.plan_memory import decides_node_by_node
from ironic_ownership.engine.host.snapshot import Snapshot

SIZE = 1000
"""Nodes of one slice: two transactions, and two megabytes."""


def of(
    seen: Snapshot,
    groups: PeerGroups,
    only: Set[str] | None = None,
    last: Collection[str] = (),
) -> Iterator[Sequence[model.Node]]:
    """Yield the nodes to decide, at least one slice.

    All of them at once unless :func:`may_divide`.

    :param only: uuids of nodes of the snapshot; all by default.
    :param last: uuids of nodes that come last.
    """
    nodes = _ordered(seen, only, last)
    size = SIZE if may_divide(groups) else len(seen.nodes) + 1
    some = list(itertools.islice(nodes, size))
    while True:
        yield some
        some = list(itertools.islice(nodes, size))
        if not some:
            return


def may_divide(groups: PeerGroups) -> bool:
    """Tell whether some nodes can be decided after others.

    Not where a decision may depend on other nodes, and not for policies of
    other packages: the time that they may take is limited for all nodes
    together.
    """
    return decides_node_by_node(groups) and not any(
        group.policies.is_foreign for group in groups.groups
    )


def _ordered(
    seen: Snapshot, only: Set[str] | None, last: Collection[str]
) -> Iterator[model.Node]:
    if only is None:
        for node in seen.nodes.values():
            if node.uuid not in last:
                yield node
        only = seen.nodes.keys()
    else:
        for uuid in sorted(only - set(last)):
            yield seen.nodes[uuid]
    for uuid in sorted(last):
        if uuid in only:
            yield seen.nodes[uuid]
