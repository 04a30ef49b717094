"""Carry out a planned move that nobody has to be asked about any more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import moves as port
from ironic_ownership.contracts import placement
from ironic_ownership.engine import access
from ironic_ownership.engine.moving import move_plan, move_verification, moves


@dataclasses.dataclass(frozen=True)
class Run:
    """A move that was carried out, and what does not fit afterwards.

    :param findings: one sentence each.
    """

    result: moves.Result
    findings: Sequence[str]


def carry_out(
    mover: moves.Mover,
    plan: move_plan.Plan,
    ports: access.Ports,
    stored: port.Moves,
    placement_: placement.Placement | None,
    *,
    sharded: bool,
    resumed: bool = False,
) -> Run:
    """Store a plan, move its nodes, and look at them again.

    :param placement_: ``None`` where Placement is not configured.
    :param resumed: whether the plan is what is left of a stored one.
    :raises RecordsError: if the database fails; what is left then can be
        resumed.
    """
    verification = move_verification.Verification(
        ports, stored, placement_, sharded=sharded
    )
    verification.remember_providers(
        planned.node.uuid
        for planned in plan.nodes
        if planned.node.state is port.NodeState.PLANNED
    )
    if resumed:
        mover.refuse(plan)
    else:
        mover.store(plan)
    result = mover.carry_out(plan)
    moved = [n for n in result.nodes if n.state is port.NodeState.MOVED]
    return Run(result, verification.compare(plan.order.destination, moved))
