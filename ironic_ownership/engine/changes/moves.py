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
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.moves import (
    HandOver,
    Move,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.contracts.refusals import (
    AGAIN,
    EmptySelectionError,
    LostMoveError,
    UnfinishedMoveError,
)
from ironic_ownership.engine import gates, suggestions
from ironic_ownership.engine.changes import trial
from ironic_ownership.engine.changes.case import (
    ChangeSnapshot,
    OwnerChange,
    PlannedNode,
    Proposal,
    stored_nodes,
)
from ironic_ownership.engine.changes.gates import plan_node
from ironic_ownership.engine.changes.release import Releaser
from ironic_ownership.engine.changes.selection import Selection
from ironic_ownership.engine.changes.verification import Verification
from ironic_ownership.engine.gates import Progress, Stopping
from ironic_ownership.engine.ports import Moves

LOG = log.getLogger(__name__)

BATCH = 500
"""Nodes in one transaction: short enough not to block other writers."""

PLANNED, MOVED = NodeState.PLANNED, NodeState.MOVED
UNCHANGED, REFUSED = NodeState.UNCHANGED, NodeState.REFUSED


def find(moves: Moves, request_id: str) -> Move:
    """Return a stored move.

    :raises NotFoundError: if there is none; naming similar request ids.
    """
    found = moves.find(request_id)
    if found is None:
        known = [move.request_id for move in moves.moves()]
        unknown = suggestions.unknown('move', request_id, known)
        end = '' if unknown.hint.endswith('?') else '.'
        unknown.hint = (
            f'{unknown.hint}{end} If it was stored and the database lost '
            f'commits since, by a promotion or a restore, {AGAIN}'
        )
        raise unknown
    return found


@dataclasses.dataclass(frozen=True)
class MoveNodes(Releaser):
    """The operations *move* and *resume*."""

    def propose(self, order: Move, selected: Selection) -> Proposal:
        """Evaluate every gate for every selected node; write nothing.

        :raises NotFoundError: if the selection is empty.
        :raises OwnershipError: if the selection can't be read.
        """
        uuids, snapshot = self.read(selected, order.destination)
        if not uuids:
            raise EmptySelectionError
        return self.evaluate(order, uuids, snapshot)

    def evaluate(
        self, order: Move, uuids: Sequence[str], snapshot: ChangeSnapshot
    ) -> Proposal:
        """Evaluate every gate for nodes that were read; write nothing."""
        proposal = Proposal(order, self._evaluate(order, uuids, snapshot))
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

    def evaluate_each(
        self,
        order: Move,
        what: str,
        moves: Mapping[tuple[str | None, str], Sequence[str]],
        snapshot: ChangeSnapshot,
        trial: int,
    ) -> list[Proposal]:
        """Evaluate every gate of the moves of one operation.

        :param order: what they have in common; its request id is that of the
            operation.
        :param what: the operation, for the log and as their reason.
        :param moves: uuids by the shard that they get, and their service.
        """
        parts = None if order.automatic else what, order.reason
        reason = ': '.join(filter(None, parts))
        proposals = [
            self.evaluate(
                dataclasses.replace(
                    order,
                    request_id=new_request_id(),
                    destination=host,
                    reason=reason[:255],
                    shard=shard,
                ),
                uuids,
                snapshot,
            ).with_trial(trial)
            for (shard, host), uuids in sorted(moves.items())
        ]
        LOG.info(
            '%s: %s by %s: moves %s',
            order.request_id,
            what,
            order.actor,
            ', '.join(p.order.request_id for p in proposals) or 'none',
        )
        return proposals

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
        order = dataclasses.replace(
            move,
            actor=actor,
            reason='; '.join(filter(None, (move.reason, reason))) or None,
            overrides=tuple(sorted({*move.overrides, *more})),
        )
        stored = self.moves.nodes(move.request_id)
        rest = [node for node in stored if node.state is PLANNED]
        back = [node for node in rest if node.trial is Trial.BACK]
        if back:
            return Proposal(order, stored_nodes(order, back), resumed=True)
        selected = Selection([node.uuid for node in rest])
        read = self.read(selected, order.destination)
        now = self._evaluate(order, *read)
        LOG.info(
            '%s: resumed by %s, %s nodes', move.request_id, actor, len(rest)
        )
        first = [node for node in stored if node.trial is Trial.FIRST]
        moved = [node for node in first if node.state is MOVED]
        nodes = map(PlannedNode.as_planned_before, now, rest)
        return Proposal(
            order,
            [*stored_nodes(order, moved), *nodes],
            resumed=True,
            has_trial=bool(first),
        )

    def _evaluate(
        self, order: Move, uuids: Sequence[str], snapshot: ChangeSnapshot
    ) -> list[PlannedNode]:
        change = OwnerChange(
            order.destination,
            snapshot,
            self.ports.interpret,
            order.overrides,
            order.automatic,
            order.shard,
        )
        return [plan_node(order, change, uuid) for uuid in uuids]

    def execute_all(
        self,
        proposals: Sequence[Proposal],
        *,
        progress: Progress = gates.no_progress,
        stopping: Stopping = gates.never_stopping,
        stored: bool = False,
    ) -> list[Proposal]:
        """Carry proposals out one by one, and compare all nodes afterwards.

        Nodes that a gate refuses stay where they are. A new move without a
        node to move is not stored.

        :param progress: called first when a move is about to be stored.
        :param stopping: asked between the batches; the rest can be resumed.
        :param stored: whether :meth:`store` was called before.
        :returns: the results, in their order; fewer if it was stopped.
        :raises UnfinishedMoveError: if the database fails after a move was
            stored.
        :raises LostMoveError: if the database loses the move.
        """
        verification, total = Verification(self), _planned(proposals)
        results = list(proposals)

        def move(some: Sequence[Proposal], done: int = 0) -> list[Proposal]:
            return self._move_all(
                some,
                verification,
                gates.shifted(progress, done, total),
                stopping,
                stored,
            )

        if any(one.has_trial or one.goes_back for one in proposals):
            if not stored:
                progress(0, total)
                for proposal in proposals:
                    if proposal.planned or proposal.resumed:
                        self.store(proposal)
                stored = True
            results, passed = trial.run(
                self, results, verification, move, stopping
            )
            if not passed:
                return results
        results = move(results, total - _planned(results))
        return verification.compare(results)

    def _move_all(
        self,
        proposals: Sequence[Proposal],
        verification: Verification,
        progress: Progress,
        stopping: Stopping,
        stored: bool,
    ) -> list[Proposal]:
        """Carry proposals out one by one, as :meth:`execute_all` does."""
        total = _planned(proposals)
        done = 0
        results: list[Proposal] = []
        for proposal in proposals:
            result = proposal
            if results and (stopping() or results[-1].planned):
                break
            number = len(proposal.planned)
            # A resumed move without a node still has refusals to store.
            if number or proposal.resumed:
                if number:
                    progress(done, total)
                if not stored:
                    self.store(proposal)
                verification.remember_providers(proposal.planned)
                try:
                    result = self._carry_out(
                        proposal,
                        gates.shifted(progress, done, total),
                        stopping,
                    )
                except UnfinishedMoveError as exc:
                    if total > done + number:
                        exc.hint += (
                            ', and the same command again moves the rest'
                        )
                    raise
            results.append(result)
            done += number
        return results

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
                released=False,
            )

    def _carry_out(
        self, proposal: Proposal, progress: Progress, stopping: Stopping
    ) -> Proposal:
        request_id, planned = proposal.order.request_id, proposal.planned
        done: dict[str, NodeMove] = {}
        for batch in gates.batches(planned, BATCH, progress, stopping):
            for node in self._move_batch(proposal, batch):
                _log(proposal.order, node)
                done[node.uuid] = node
        if remaining := len(planned) - len(done):
            LOG.warning(
                '%s: interrupted, %s nodes remain', request_id, remaining
            )
        return proposal.with_results(done)

    def _move_batch(
        self, proposal: Proposal, nodes: Sequence[NodeMove]
    ) -> Sequence[NodeMove]:
        order, request_id = proposal.order, proposal.order.request_id
        uuids = [node.uuid for node in nodes]
        refused, given_up = dict[str, str](), dict[str, str]()
        try:
            if order.shard is not None:
                refused = self.set_shards(
                    {u: order.shard for u in uuids if u in proposal.resharded}
                )
            leaving = proposal.handed_over - refused.keys()
            # Live sources release their nodes; some may stay.
            if left := [node for node in nodes if node.uuid in leaving]:
                by = HandOver(request_id, order.actor, reason=order.reason)
                given_up = self.release(left, by)
            if refused | given_up:
                self.moves.refuse(request_id, refused | given_up)
            # Those that were given up as well: another process may have
            # resumed the move, and the results on record count.
            done = self.moves.carry_out(request_id, nodes)
            self._set_back(
                order,
                [
                    node
                    for node in done
                    if node.state is REFUSED and node.uuid not in refused
                ],
            )
        except exceptions.NotFoundError as exc:
            # Otherwise the nodes that it released stay held until that
            # expires.
            self.moves.end_release(request_id, uuids)
            raise LostMoveError(request_id) from exc
        except exceptions.OwnershipError as exc:
            raise UnfinishedMoveError(request_id, exc) from exc
        return done

    def _set_back(self, order: Move, nodes: Sequence[NodeMove]) -> None:
        """Give refused nodes the shard of their owner again.

        One that was released and then got an instance goes back to its source.
        """
        if order.shard is None or not nodes:
            return
        source = {node.uuid: node.source for node in nodes}
        records = self.ports.records.compute_nodes_by_uuid(source)
        self.set_scope(
            order, {r.uuid: r.host or source[r.uuid] for r in records}
        )


def _planned(proposals: Sequence[Proposal]) -> int:
    return sum(len(proposal.planned) for proposal in proposals)


def _log(order: Move, node: NodeMove) -> None:
    level, what = log.INFO, f'{node.state} {node.detail or ""}'
    if node.state is MOVED:
        what = (
            f'{node.source or "no service"} -> {order.destination}, instance '
            f'{node.instance_uuid or "none"}'
        )
    elif node.state is not UNCHANGED:
        level = log.WARNING
    LOG.log(level, '%s: node %s: %s', order.request_id, node.uuid, what)
