"""Move compute nodes, and the instances on them, to another service.

A proposal is stored before its first node is moved, and carried out in
batches of one transaction each. If the process ends early, the rest of the
stored move is proposed and executed again: it is resumed. Every log line
begins with the request id of the move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.changes import selection
from ironic_ownership.engine.changes.case import Change
from ironic_ownership.engine.changes.proposal import (
    PlannedNode,
    Proposal,
    as_planned_before,
    plan_node,
)
from ironic_ownership.engine.changes.release import Releaser
from ironic_ownership.engine.changes.selection import Selected, Selection
from ironic_ownership.engine.changes.verification import Verification
from ironic_ownership.engine.gates import (
    Progress,
    Stopping,
    batches,
    never_stopping,
    no_progress,
)
from ironic_ownership.engine.ports import Moves, Ports

LOG = log.getLogger(__name__)

BATCH = 500
"""Nodes in one transaction: short enough not to block other writers."""

PLANNED, MOVED = NodeState.PLANNED, NodeState.MOVED
UNCHANGED, REFUSED = NodeState.UNCHANGED, NodeState.REFUSED


class UnfinishedMoveError(exceptions.OwnershipError):
    """A stored move has failed before its end; it can be resumed.

    :ivar code: that of its cause.
    """

    def __init__(
        self, request_id: str, cause: exceptions.OwnershipError
    ) -> None:
        self.code = cause.code
        self.http_status, self.exit_code = cause.http_status, cause.exit_code
        super().__init__(
            f'{request_id}: {cause.args[0]}',
            hint='The move is unfinished: "ironic-ownership move resume '
            f'{request_id}" resumes it',
        )


class EmptySelectionError(exceptions.NotFoundError):
    """No node is selected for a move."""

    def __init__(self) -> None:
        super().__init__(
            'the selection is empty: it names no compute node on record',
            hint='"compute node list" shows the nodes of each service',
        )


class LostMoveError(exceptions.NotFoundError):
    """A move disappeared from the records while it was carried out."""

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f'{request_id} is no longer on record: the database lost commits, '
            'by a promotion or a restore',
            hint='Nothing can be resumed. Run "compute node move" again with '
            'the same nodes: those that its destination owns stay unchanged',
        )


def find(moves: Moves, request_id: str) -> Move:
    """Return a stored move.

    :raises NotFoundError: if there is none; naming similar request ids.
    """
    found = moves.find(request_id)
    if found is None:
        known = [move.request_id for move in moves.moves()]
        unknown = suggestions.unknown('move', request_id, known)
        raise exceptions.NotFoundError(
            str(unknown.args[0]), hint=f'{unknown.hint}. {_LOST}'
        )
    return found


_LOST = (
    'If it was stored and the database lost commits since, by a promotion or '
    'a restore, run "compute node move" again with the same nodes: those that '
    'its destination owns stay unchanged'
)


@dataclasses.dataclass(frozen=True)
class MoveNodes:
    """The operations *move* and *resume*.

    :param sharded: whether every list of nodes has to name a shard: law 4.
    :param permission: seconds after which no service can act on a node that
        it has released.
    """

    ports: Ports
    moves: Moves
    _: dataclasses.KW_ONLY
    sharded: bool
    permission: float

    def propose(self, order: Move, selected: Selection) -> Proposal:
        """Evaluate every gate for every selected node; write nothing.

        :raises NotFoundError: if the selection is empty.
        :raises OwnershipError: if the selection can't be read.
        """
        read = self._read(selected, order.destination)
        if not read.uuids:
            raise EmptySelectionError
        return self.evaluate(order, read)

    def evaluate(self, order: Move, read: Selected) -> Proposal:
        """Evaluate every gate for nodes that were read; write nothing."""
        proposal = Proposal(order, self._evaluate(order, read))
        LOG.info(
            '%s: %s nodes for %s: %s to move, %s unchanged, %s refused',
            order.request_id,
            len(proposal.nodes),
            order.destination,
            len(proposal.planned),
            proposal.count(UNCHANGED),
            len(proposal.refused),
        )
        return proposal

    def propose_rest(
        self,
        move: Move,
        actor: str,
        more: Collection[str] = (),
        reason: str | None = None,
    ) -> Proposal:
        """Evaluate the gates again for the rest of a stored move.

        A node whose owner has changed since does not stop the others: it is
        refused in the transaction of its batch.

        :param more: codes of gates that are overridden in addition to those
            of the move.
        :param reason: of that, in addition to that of the move.
        """
        request_id = move.request_id
        order = Move(
            request_id,
            move.destination,
            actor,
            '; '.join(filter(None, (move.reason, reason))) or None,
            tuple(sorted({*move.overrides, *more})),
        )
        rest = self.moves.nodes(request_id, state=PLANNED)
        now = self._evaluate(
            order,
            self._read(
                Selection([node.uuid for node in rest]), order.destination
            ),
        )
        LOG.info('%s: resumed by %s, %s nodes', request_id, actor, len(rest))
        return Proposal(
            order,
            [as_planned_before(*pair) for pair in zip(now, rest, strict=True)],
            resumed=True,
        )

    def _read(self, selected: Selection, destination: str) -> Selected:
        return selection.read(
            self.ports,
            self.moves,
            selected,
            destination,
            sharded=self.sharded,
        )

    def _evaluate(self, order: Move, read: Selected) -> list[PlannedNode]:
        change = Change(
            order.destination,
            read.snapshot,
            self.ports.interpret,
            order.overrides,
        )
        return [plan_node(order, change, uuid) for uuid in read.uuids]

    def execute(
        self,
        proposal: Proposal,
        *,
        progress: Progress = no_progress,
        stopping: Stopping = never_stopping,
        verification: Verification | None = None,
    ) -> Proposal:
        """Carry a proposal out, and compare the nodes afterwards.

        Nodes that a gate refuses stay where they are. A new move without a
        node to move is not stored.

        :param progress: called first when the move is about to be stored.
        :param stopping: asked between the batches; the rest can be resumed.
        :param verification: of several moves, whose nodes the caller compares
            together, after the last one.
        :raises UnfinishedMoveError: if the database fails after the move was
            stored.
        :raises LostMoveError: if the database loses the move.
        """
        if not (proposal.planned or proposal.resumed):
            return proposal
        if proposal.planned:
            progress(0, len(proposal.planned))
        self.store(proposal)
        return self.carry_out(
            proposal,
            progress=progress,
            stopping=stopping,
            verification=verification,
        )

    def store(self, proposal: Proposal) -> None:
        """Store a proposal, so that it can be carried out and resumed."""
        order = proposal.order
        if not proposal.resumed:
            nodes = [planned.node for planned in proposal.nodes]
            self.moves.plan(order, nodes)
            return
        if order.overrides:
            self.moves.override(
                order.request_id, order.overrides, order.reason
            )
        if proposal.refused:
            self.moves.refuse(
                order.request_id,
                {n.node.uuid: n.node.detail or '' for n in proposal.refused},
            )

    def carry_out(
        self,
        proposal: Proposal,
        *,
        progress: Progress = no_progress,
        stopping: Stopping = never_stopping,
        verification: Verification | None = None,
    ) -> Proposal:
        """Carry out a stored proposal; see :meth:`execute`."""
        order, planned = proposal.order, proposal.planned
        verified = verification or self.verification()
        verified.remember_providers(node.uuid for node in planned)
        done: dict[str, NodeMove] = {}
        for batch in batches(planned, BATCH, progress, stopping):
            for node in self._move_batch(proposal, batch):
                done[node.uuid] = node
        if remaining := len(planned) - len(done):
            LOG.warning(
                '%s: interrupted, %s nodes remain', order.request_id, remaining
            )
        result = proposal.with_results(done)
        if verification is not None:
            return result
        moved = result.moved
        findings = verified.compare(
            order.destination, moved, verified.read(moved)
        )
        return dataclasses.replace(result, findings=findings)

    def verification(self) -> Verification:
        """Return what compares nodes before and after their moves."""
        return Verification(self.ports, self.moves, sharded=self.sharded)

    def _move_batch(
        self, proposal: Proposal, nodes: Sequence[NodeMove]
    ) -> Sequence[NodeMove]:
        order = proposal.order
        try:
            given_up = self._release(proposal, nodes)
            batch = [
                *self.moves.carry_out(
                    order.request_id,
                    [node for node in nodes if node.uuid not in given_up],
                ),
                *given_up.values(),
            ]
        except exceptions.NotFoundError as exc:
            uuids = [node.uuid for node in nodes]
            self.moves.end_release(order.request_id, uuids)
            raise LostMoveError(order.request_id) from exc
        except exceptions.OwnershipError as exc:
            raise UnfinishedMoveError(order.request_id, exc) from exc
        for node in batch:
            if node.state is MOVED:
                LOG.info(
                    '%s: node %s: %s -> %s, instance %s',
                    order.request_id,
                    node.uuid,
                    node.source or 'no service',
                    order.destination,
                    node.instance_uuid or 'none',
                )
            else:
                LOG.log(
                    log.INFO if node.state is UNCHANGED else log.WARNING,
                    '%s: node %s: %s %s',
                    order.request_id,
                    node.uuid,
                    node.state,
                    node.detail or '',
                )
        return batch

    def _release(
        self, proposal: Proposal, nodes: Sequence[NodeMove]
    ) -> Mapping[str, NodeMove]:
        """Let live sources release their nodes; return those that stay."""
        order, leaving = proposal.order, proposal.handed_over
        released = [node for node in nodes if node.uuid in leaving]
        if not released:
            return {}
        releaser = Releaser(
            self.ports,
            self.moves,
            sharded=self.sharded,
            permission=self.permission,
        )
        refused = releaser.release(
            released,
            request_id=order.request_id,
            actor=order.actor,
            reason=order.reason,
        )
        self.moves.refuse(order.request_id, refused)
        return {
            node.uuid: dataclasses.replace(
                node, state=REFUSED, detail=refused[node.uuid]
            )
            for node in released
            if node.uuid in refused
        }
