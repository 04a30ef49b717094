"""Move nodes from service to service: plan, carry out, verify, resume.

A plan is stored before its first node is moved, and carried out in batches,
each of them one transaction. Whatever ends the process,
:meth:`Mover.plan_rest` goes on from what is stored. Every log line begins
with the request id.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import Move, Moves, NodeMove, NodeState
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.moves.gates import Gate, Gates
from ironic_ownership.engine.moves.plan import (
    Order,
    Plan,
    PlannedNode,
    as_planned_before,
    plan_node,
)
from ironic_ownership.engine.moves.selection import Seen, Selection, look
from ironic_ownership.engine.ports import Ports

LOG = log.getLogger(__name__)

BATCH = 500
"""Nodes in one transaction: short enough for others to get their turn."""

PLANNED, MOVED = NodeState.PLANNED, NodeState.MOVED
UNCHANGED, REFUSED = NodeState.UNCHANGED, NodeState.REFUSED

Progress = Callable[[int, int], None]
"""Is told the number of nodes done, and of all."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a move that was carried out.

    :param interrupted: whether it was asked to stop before its end.
    """

    nodes: Sequence[NodeMove]
    interrupted: bool = False

    def count(self, state: NodeState) -> int:
        """Return the number of nodes in a state."""
        return sum(n.state is state for n in self.nodes)


def find(moves: Moves, request_id: str) -> Move:
    """Return the move of that id.

    :raises NotFoundError: if there is none, naming those that are near.
    """
    found = moves.find(request_id)
    if found is None:
        known = [move.request_id for move in moves.moves()]
        raise suggestions.unknown('move', request_id, known)
    return found


class Mover:
    """Plans moves and carries them out."""

    def __init__(self, ports: Ports, moves: Moves) -> None:
        self._ports = ports
        self._moves = moves

    def plan(self, order: Order, selection: Selection) -> Plan:
        """Judge every gate for every selected node; change nothing.

        :raises NotFoundError: if the selection is empty.
        :raises OwnershipError: if it can't be read.
        """
        seen = look(self._ports, self._moves, selection)
        if not seen.uuids:
            raise exceptions.NotFoundError(
                'the selection is empty: it names no compute node on record',
                hint='"compute node list" shows which service owns which',
            )
        plan = Plan(order, self._judge(order, seen))
        LOG.info(
            '%s: %s nodes for %s: %s to move, %s there already, %s refused',
            order.request_id,
            len(plan.nodes),
            order.destination,
            plan.count(PLANNED),
            plan.count(UNCHANGED),
            plan.count(REFUSED),
        )
        for sentence in plan.summary():
            LOG.info('%s: refused: %s', order.request_id, sentence)
        return plan

    def _judge(self, order: Order, seen: Seen) -> list[PlannedNode]:
        gates = Gates(
            order.destination,
            seen.moment,
            self._ports.interpret,
            order.overrides,
        )
        return [
            plan_node(uuid, order.destination, seen.moment, gates)
            for uuid in seen.uuids
        ]

    def store(self, plan: Plan) -> None:
        """Store a plan, so that it can be carried out and resumed."""
        order = plan.order
        self._moves.plan(
            Move(
                order.request_id,
                order.destination,
                order.actor,
                order.reason,
                tuple(sorted(order.overrides)),
            ),
            [planned.node for planned in plan.nodes],
        )

    def plan_rest(self, move: Move, actor: str, sharded: bool) -> Plan:
        """Judge the gates anew for what is left of a stored move.

        A node that changed its owner since is not judged: it is refused when
        its turn comes, and does not keep the others.

        :param actor: who resumes it.
        """
        request_id = move.request_id
        order = Order(
            request_id,
            move.destination,
            actor,
            move.reason,
            frozenset(map(Gate, move.overrides)),
        )
        left = self._moves.nodes(request_id, state=PLANNED)
        seen = look(
            self._ports,
            self._moves,
            Selection([node.uuid for node in left], sharded=sharded),
        )
        judged = self._judge(order, seen)
        LOG.info('%s: resumed by %s, %s left', request_id, actor, len(left))
        return Plan(
            order,
            [
                as_planned_before(now, before)
                for now, before in zip(judged, left, strict=True)
            ],
        )

    def refuse(self, plan: Plan) -> None:
        """Give up the nodes of a stored plan that a gate refuses now."""
        details = {n.node.uuid: n.node.detail or '' for n in plan.refused}
        if details:
            self._moves.refuse(plan.order.request_id, details)

    def carry_out(
        self,
        plan: Plan,
        *,
        progress: Progress = lambda done, total: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Result:
        """Move the planned nodes of a stored plan, batch by batch.

        :param stopping: asked between the batches; what is left then can be
            resumed.
        :raises RecordsError: if the database fails; what is left then can
            be resumed, too.
        """
        request_id = plan.order.request_id
        todo = [n.node for n in plan.nodes if n.node.state is PLANNED]
        results: list[NodeMove] = []
        for start in range(0, len(todo), BATCH):
            if stopping():
                LOG.warning(
                    '%s: interrupted, %s nodes are left',
                    request_id,
                    len(todo) - start,
                )
                break
            batch = self._moves.carry_out(
                request_id, todo[start : start + BATCH]
            )
            _log_batch(request_id, plan.order.destination, batch)
            results.extend(batch)
            progress(len(results), len(todo))
        return Result(_in_order(plan, results), len(results) < len(todo))


def _in_order(plan: Plan, results: Sequence[NodeMove]) -> list[NodeMove]:
    by_uuid = {node.uuid: node for node in results}
    return [by_uuid.get(n.node.uuid, n.node) for n in plan.nodes]


def _log_batch(
    request_id: str, destination: str, batch: Sequence[NodeMove]
) -> None:
    for node in batch:
        if node.state is MOVED:
            LOG.info(
                '%s: node %s: %s -> %s, instance %s',
                request_id,
                node.uuid,
                node.source or 'nobody',
                destination,
                node.instance_uuid or 'none',
            )
        else:
            LOG.warning(
                '%s: node %s: %s %s',
                request_id,
                node.uuid,
                node.state,
                node.detail or '',
            )
