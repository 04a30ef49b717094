"""Moves that set the shard of their nodes in Ironic.

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
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.contracts.refusals import UnfinishedMoveError
from ironic_ownership.engine.changes import gates
from ironic_ownership.engine.changes.case import PlannedNode, Proposal
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.selection import Selected

PLANNED, REFUSED = NodeState.PLANNED, NodeState.REFUSED
UNCHANGED = NodeState.UNCHANGED


@dataclasses.dataclass(frozen=True)
class ShardMoves(MoveNodes):
    """The operations *move* and *resume*, also for moves with a shard."""

    def _evaluate(self, order: Move, read: Selected) -> list[PlannedNode]:
        nodes = read.snapshot.nodes
        if order.shard is None or isinstance(nodes, str):
            return super()._evaluate(order, read)
        ahead = {
            uuid: node and dataclasses.replace(node, shard=order.shard)
            for uuid, node in nodes.items()
        }
        snapshot = dataclasses.replace(read.snapshot, nodes=ahead)
        planned = super()._evaluate(
            order, dataclasses.replace(read, snapshot=snapshot)
        )
        return [_with_shard(order, p, nodes.get(p.node.uuid)) for p in planned]

    def _move_batch(
        self, proposal: Proposal, nodes: Sequence[NodeMove]
    ) -> Sequence[NodeMove]:
        order = proposal.order
        if order.shard is None:
            return super()._move_batch(proposal, nodes)
        before = {n.node.uuid: n.shard_before for n in proposal.nodes}
        refused = {}
        try:
            for node in nodes:
                if before[node.uuid] == order.shard:
                    continue
                objection = self.ports.ironic.set_shard(node.uuid, order.shard)
                if objection is not None:
                    refused[node.uuid] = objection
            if refused:
                self.moves.refuse(order.request_id, refused)
        except exceptions.OwnershipError as exc:
            raise UnfinishedMoveError(order.request_id, exc) from exc
        done = super()._move_batch(
            proposal, [node for node in nodes if node.uuid not in refused]
        )
        self._set_back(order, [node for node in done if node.state is REFUSED])
        return [
            *done,
            *(
                dataclasses.replace(
                    node, state=REFUSED, detail=refused[node.uuid]
                )
                for node in nodes
                if node.uuid in refused
            ),
        ]

    def _set_back(self, order: Move, nodes: Sequence[NodeMove]) -> None:
        """Give refused nodes the shard of their owner again.

        One that was released and then got an instance goes back to its source.
        """
        source = {node.uuid: node.source for node in nodes}
        if not source:
            return
        try:
            records = self.ports.records.compute_nodes_by_uuid(source)
            owners = {r.uuid: r.host or source[r.uuid] for r in records}
            self.set_scope(order, owners)
        except exceptions.OwnershipError as exc:
            raise UnfinishedMoveError(order.request_id, exc) from exc

    def set_scope(
        self, order: Move, owners: Mapping[str, str | None]
    ) -> dict[str, str]:
        """Set the shards of services, if the move sets shards."""
        if order.shard is None:
            return {}
        shards = {
            service.host: shard_of(self.ports.interpret(service.settings))
            for service in self.ports.records.services()
        }
        refused = {}
        for uuid, owner in owners.items():
            shard = shards.get(owner or '')
            if shard is not None:
                refused[uuid] = self.ports.ironic.set_shard(uuid, shard)
        return {uuid: why for uuid, why in refused.items() if why}


def shard_of(policies: object) -> str | None:
    """Return the shard that policies select, if they can be built here."""
    scope = getattr(policies, 'scope', model.Scope())
    return None if scope.nothing else scope.shard


def _with_shard(
    order: Move, planned: PlannedNode, node: model.Node | None
) -> PlannedNode:
    """Plan a node whose shard is all that changes, and show the shards."""
    before = node.shard if node else None
    now, results = planned.node, planned.gates
    # The services of its new shard claim an unowned node.
    keeps_owner = now.source in (None, order.destination)
    if node is not None and keeps_owner and not gates.operation_on(node):
        state = UNCHANGED if before == order.shard else PLANNED
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
