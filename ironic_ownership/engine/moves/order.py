"""Carry out a planned move that nobody has to be asked about any more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts.moves import Moves, NodeState
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.engine.moves import executor
from ironic_ownership.engine.moves.plan import Plan
from ironic_ownership.engine.moves.verification import Verification
from ironic_ownership.engine.ports import Ports


@dataclasses.dataclass(frozen=True)
class Run:
    """A move that was carried out, and what does not fit afterwards.

    :param findings: one sentence each.
    """

    result: executor.Result
    findings: Sequence[str]


def carry_out(
    mover: executor.Mover,
    plan: Plan,
    ports: Ports,
    stored: Moves,
    placement: Placement | None,
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
    verification = Verification(ports, stored, placement, sharded=sharded)
    verification.remember_providers(
        planned.node.uuid
        for planned in plan.nodes
        if planned.node.state is NodeState.PLANNED
    )
    if resumed:
        mover.refuse(plan)
    else:
        mover.store(plan)
    result = mover.carry_out(plan)
    moved = [n for n in result.nodes if n.state is NodeState.MOVED]
    return Run(result, verification.compare(plan.order.destination, moved))
