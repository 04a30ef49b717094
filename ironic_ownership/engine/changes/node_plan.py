"""Proposal of one node of a move: its gates, now and when it is resumed.

Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.engine.changes import gates
from ironic_ownership.engine.changes.case import (
    Case,
    OwnerChange,
    PlannedNode,
)
from ironic_ownership.engine.gates import GateResult, Outcome, refusals

PLANNED, REFUSED = NodeState.PLANNED, NodeState.REFUSED
UNCHANGED = NodeState.UNCHANGED


def plan_node(order: Move, change: OwnerChange, uuid: str) -> PlannedNode:
    """Evaluate the gates of one node, unless the destination owns it."""
    case = Case(change, uuid)
    results: tuple[GateResult, ...] = ()
    instance, state, detail = case.recorded, UNCHANGED, None
    if case.record is None or case.source != case.destination:
        results = gates.evaluate(case)
        instance, (state, detail) = case.instance_uuid, _state(results)
    return PlannedNode(
        NodeMove(uuid, case.source, case.epoch, instance, state, detail),
        case.record.name if case.record else None,
        results,
        state is PLANNED and case.hands_over,
        order.destination,
        order.request_id,
    )


def _state(results: Sequence[GateResult]) -> tuple[NodeState, str | None]:
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
    node = dataclasses.replace(now.node, trial=before.trial)
    now = dataclasses.replace(now, node=node)
    same = now.node.source == before.source
    # From another source, the transaction refuses the node by itself.
    if same and now.node.state is REFUSED:
        return now
    return dataclasses.replace(
        now,
        node=dataclasses.replace(
            now.node, source=before.source, state=PLANNED
        ),
        gates=now.gates if same else (),
        # Perhaps this move has released it before it was interrupted.
        hands_over=now.hands_over if same else now.node.source is None,
    )
