"""Answers of the operations that move nodes: proposals, results, refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oslo_log import log

from ironic_ownership.api import errors
from ironic_ownership.api.request import Request
from ironic_ownership.contracts.moves import NodeMove
from ironic_ownership.engine.moves.proposal import PlannedNode, Proposal
from ironic_ownership.engine.operations import move_nodes
from ironic_ownership.engine.operations.move_nodes import MoveNodes, Result
from ironic_ownership.observe import move as columns
from ironic_ownership.observe.columns import cells

LOG = log.getLogger(__name__)

BACKGROUND = (
    f'Up to {move_nodes.BATCH} nodes are moved before the answer. With more '
    'nodes to move, the answer is 202 with the location of the move, which '
    'runs in the background. If it fails or the process ends, the move stays '
    'unfinished, and can be resumed.'
)
"""The rule of background execution, for the descriptions of operations."""


def proposed(proposal: Proposal) -> dict[str, Any]:
    """Return the body for a proposal."""
    return {
        'request_id': proposal.order.request_id,
        'nodes': planned_cells(proposal.nodes, proposal, every=True),
        'warnings': [],
    }


def planned_cells(
    nodes: Sequence[PlannedNode], proposal: Proposal | None, *, every: bool
) -> list[dict[str, Any]]:
    """Return proposed nodes with their gates.

    :param proposal: ``None`` for nodes without a destination.
    :param every: whether to include the gates that they passed.
    """
    return [
        cells(columns.PLAN, columns.planned_row(node, proposal, every=every))
        for node in nodes
    ]


def executed(proposal: Proposal, result: Result) -> dict[str, Any]:
    """Return the body for a move that was carried out."""
    return _body(proposal, result.nodes, result.findings, background=False)


def accepted(proposal: Proposal) -> dict[str, Any]:
    """Return the body for a move that is carried out in the background."""
    nodes = [planned.node for planned in proposal.nodes]
    return _body(proposal, nodes, (), background=True)


def _body(
    proposal: Proposal,
    nodes: Sequence[NodeMove],
    warnings: Sequence[str],
    *,
    background: bool,
) -> dict[str, Any]:
    names = [planned.name for planned in proposal.nodes]
    return {
        'request_id': proposal.order.request_id,
        'nodes': [
            node_cells(node, proposal, name)
            for node, name in zip(nodes, names, strict=True)
        ],
        'warnings': list(warnings),
        'skipped': len(proposal.refused),
        'background': background,
    }


def node_cells(
    node: NodeMove, proposal: Proposal | None, name: str | None = None
) -> dict[str, Any]:
    """Return the result of a node."""
    order = proposal.order if proposal else None
    row = columns.Row(
        order.request_id if order else '',
        order.destination if order else '',
        node,
        name,
    )
    return cells(columns.NODE, row)


def refused(
    proposals: Sequence[Proposal], unplaceable: Sequence[PlannedNode] = ()
) -> errors.GatesFailedError:
    """Return the error for nodes that a gate refuses."""
    rows, reasons = [], []
    for proposal in proposals:
        shown = planned_cells(proposal.refused, proposal, every=False)
        reasons += columns.refusals(shown, len(proposal.nodes))
        rows += shown
    if unplaceable:
        rows += planned_cells(unplaceable, None, every=False)
        reasons.append(f'{len(unplaceable)} nodes have no destination')
    evaluated = {p.order.destination: len(p.nodes) for p in proposals}
    total = sum(evaluated.values()) + len(unplaceable)
    return errors.GatesFailedError(
        f'{len(rows)} of {total} nodes are refused by a gate, nothing was '
        f'moved: {"; ".join(reasons)}',
        rows,
        evaluated=evaluated,
        hint='Correct the causes; or override the gates that can be '
        'overridden, with a reason; or move the others with skip_invalid',
    )


def is_long(request: Request, proposals: Sequence[Proposal]) -> bool:
    """Return whether to answer before the nodes are moved."""
    number = sum(len(proposal.planned) for proposal in proposals)
    return request.background and number > move_nodes.BATCH


def run_in_background(
    request: Request, operation: MoveNodes, proposals: Sequence[Proposal]
) -> None:
    """Store moves now, and carry them out after the answer.

    :raises BusyError: if too many run already; nothing is stored then.
    """

    def store() -> None:
        for proposal in proposals:
            operation.store(proposal)

    def carry_out(stopping: Callable[[], bool]) -> None:
        ended = 0
        try:
            for proposal in proposals:
                ended += 1
                result = operation.carry_out(proposal, stopping=stopping)
                for finding in result.findings:
                    LOG.warning('%s: %s', proposal.order.request_id, finding)
        finally:
            for proposal in proposals[ended:]:
                LOG.error(
                    '%s: not begun, because an earlier move failed: '
                    '"ironic-ownership move resume %s" carries it out',
                    proposal.order.request_id,
                    proposal.order.request_id,
                )

    request.context.background.start(request.request_id, store, carry_out)
