"""The proposal of a move: the intended result of each node, with its gates.

Pure: everything that was read is in a :class:`case.Snapshot`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.engine.changes.case import Case, Change
from ironic_ownership.engine.changes.gates import evaluate
from ironic_ownership.engine.gates import GateResult, Outcome, refusals

PLANNED, MOVED = NodeState.PLANNED, NodeState.MOVED
UNCHANGED, REFUSED = NodeState.UNCHANGED, NodeState.REFUSED


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedNode:
    """One node of a proposal.

    :param gates: in the order of :data:`gates.MOVE`; empty for a node that the
        destination owns already.
    :param hands_over: whether its source has to release it first.
    :param destination: empty if there is none.
    """

    node: NodeMove
    name: str | None = None
    gates: tuple[GateResult, ...] = ()
    hands_over: bool = False
    destination: str = ''
    request_id: str = ''


@dataclasses.dataclass(frozen=True)
class Proposal:
    """A move, before and after it is carried out.

    :param order: as the operator requests it.
    :param resumed: whether it is the rest of a stored move.
    :param findings: one sentence for each difference found afterwards.
    """

    order: Move
    nodes: Sequence[PlannedNode]
    resumed: bool = False
    findings: Sequence[str] = ()

    def count(self, state: NodeState) -> int:
        """Return the number of nodes in a state."""
        return sum(n.node.state is state for n in self.nodes)

    @property
    def refused(self) -> Sequence[PlannedNode]:
        """The nodes that a gate refuses."""
        return [n for n in self.nodes if n.node.state is REFUSED]

    @property
    def planned(self) -> Sequence[NodeMove]:
        """The nodes to move, or that remain if it was interrupted."""
        return [n.node for n in self.nodes if n.node.state is PLANNED]

    @property
    def moved(self) -> Sequence[NodeMove]:
        """The nodes that have another owner now."""
        return [n.node for n in self.nodes if n.node.state is MOVED]

    def with_results(self, done: Mapping[str, NodeMove]) -> Proposal:
        """Return it with the results of nodes, by uuid."""
        nodes = [
            dataclasses.replace(n, node=done.get(n.node.uuid, n.node))
            for n in self.nodes
        ]
        return dataclasses.replace(self, nodes=nodes)

    @property
    def handed_over(self) -> frozenset[str]:
        """Uuids of the nodes that a live source has to release first."""
        return frozenset(n.node.uuid for n in self.nodes if n.hands_over)


def plan_node(order: Move, change: Change, uuid: str) -> PlannedNode:
    """Evaluate the gates of one node, unless the destination owns it."""
    case = Case(change, uuid)
    name = case.record.name if case.record else None
    owner = case.snapshot.services.get(case.source or '')
    epoch = owner.epoch if owner else None
    results: tuple[GateResult, ...] = ()
    instance, state, detail = case.recorded, UNCHANGED, None
    if case.record is None or case.source != case.destination:
        results = evaluate(case)
        instance, (state, detail) = case.instance_uuid, _state(results)
    return PlannedNode(
        NodeMove(uuid, case.source, epoch, instance, state, detail),
        name,
        results,
        state is PLANNED and case.hands_over,
        order.destination,
        order.request_id,
    )


def _state(
    results: Sequence[GateResult],
) -> tuple[NodeState, str | None]:
    if blocking := refusals(results):
        return REFUSED, _details(blocking)
    overridden = [r for r in results if r.outcome is not Outcome.PASSED]
    return (
        PLANNED,
        f'overridden: {_details(overridden)}' if overridden else None,
    )


def _details(results: Sequence[GateResult]) -> str:
    return '; '.join(f'{r.gate}: {r.detail}' for r in results)


def as_planned_before(now: PlannedNode, before: NodeMove) -> PlannedNode:
    """Keep the source from which a stored move was to take the node.

    If the source has changed since, the transaction of its batch refuses the
    node, and its gates are not shown.
    """
    same = now.node.source == before.source
    if same and now.node.state is REFUSED:
        return now
    node = dataclasses.replace(now.node, source=before.source, state=PLANNED)
    # Perhaps this move has released it before it was interrupted.
    hands_over = now.hands_over if same else now.node.source is None
    gates = now.gates if same else ()
    return dataclasses.replace(
        now, node=node, gates=gates, hands_over=hands_over
    )
