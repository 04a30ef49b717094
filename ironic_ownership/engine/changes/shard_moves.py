"""Moves that set the shard of their nodes in Ironic. Pure.

The gates are evaluated first, for the nodes as they will be. Then, in each
batch, the shard is set before the record changes. In between the record still
names the former owner, which goes on acting: a node out of its scope keeps its
owner, and the services of the new shard leave alone what another one owns. So
a node never has two owners, and one only that its source released has none,
until the permissions of the source have ended. The other way round, the
former owner would find a node in its scope that it may not act on, and the
new one could not list the node that it owns.

A node with an instance changes its owner in the transaction that changes its
rows in the cell, as in any move. What is refused after its shard was set gets
the shard of its owner back. An interruption leaves nodes with the new shard
and the former owner; the move resumes them. For the same reasons, a node of a
trial that failed gets the shard of its source before it is released.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
from ironic_ownership.contracts.moves import Move, NodeState
from ironic_ownership.engine.changes import gates
from ironic_ownership.engine.changes.case import ChangeSnapshot, PlannedNode


def ahead(order: Move, snapshot: ChangeSnapshot) -> ChangeSnapshot:
    """Return a snapshot with the nodes as the move makes them."""
    if order.shard is None or isinstance(snapshot.nodes, str):
        return snapshot
    nodes = {
        uuid: node and dataclasses.replace(node, shard=order.shard)
        for uuid, node in snapshot.nodes.items()
    }
    return dataclasses.replace(snapshot, nodes=nodes)


def shard_of(policies: object) -> str | None:
    """Return the shard that policies select, if they can be built here."""
    scope = getattr(policies, 'scope', model.Scope())
    return None if scope.nothing else scope.shard


def with_shard(
    order: Move, snapshot: ChangeSnapshot, planned: PlannedNode
) -> PlannedNode:
    """Plan a node whose shard is all that changes, and show the shards.

    :param snapshot: with the nodes as Ironic has them.
    """
    if order.shard is None or isinstance(snapshot.nodes, str):
        return planned
    now, results = planned.node, planned.gates
    node = snapshot.nodes.get(now.uuid)
    before = node.shard if node else None
    # The services of its new shard claim an unowned node.
    keeps_owner = now.source in (None, order.destination)
    if node is not None and keeps_owner and not gates.operation_on(node):
        is_set = before == order.shard
        state = NodeState.UNCHANGED if is_set else NodeState.PLANNED
        now = dataclasses.replace(now, state=state, detail=None)
        results = ()
    return dataclasses.replace(
        planned,
        node=now,
        name=planned.name or (node.name if node else None),
        gates=results,
        shard_before=before,
        shard_after=order.shard,
    )
