"""Answers of the operations that move nodes: proposals, results, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from oslo_log import log

from ironic_ownership.api.request import Request
from ironic_ownership.api.resources.move_schemas import NODE, PLAN
from ironic_ownership.contracts import refusals
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.proposal import PlannedNode, Proposal
from ironic_ownership.engine.gates import Outcome
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
        'nodes': [cells(PLAN, node) for node in proposal.nodes],
        'warnings': [],
    }


def executed(
    proposal: Proposal, result: Proposal | None = None
) -> dict[str, Any]:
    """Return the body for a move.

    :param result: ``None`` if it is carried out in the background.
    """
    ended = result or proposal
    return {
        'request_id': proposal.order.request_id,
        'nodes': [cells(NODE, node) for node in ended.nodes],
        'warnings': list(ended.findings),
        'skipped': len(proposal.refused),
        'background': result is None,
    }


def refused(
    proposals: Sequence[Proposal], unplaceable: Sequence[PlannedNode] = ()
) -> refusals.GatesFailedError:
    """Return the error for nodes that a gate refuses."""
    rows, reasons = [], []
    for proposal in proposals:
        shown = [_failed(node) for node in proposal.refused]
        reasons += sentences(shown, len(proposal.nodes))
        rows += shown
    if unplaceable:
        rows += [_failed(node) for node in unplaceable]
        reasons.append(f'{len(unplaceable)} nodes have no destination')
    evaluated = {p.order.destination: len(p.nodes) for p in proposals}
    total = sum(evaluated.values()) + len(unplaceable)
    return refusals.GatesFailedError(
        f'{len(rows)} of {total} nodes are refused by a gate, nothing was '
        f'moved: {"; ".join(reasons)}',
        rows,
        evaluated=evaluated,
        hint='Correct the causes; or override the gates that can be '
        'overridden, with a reason; or move the others with skip_invalid',
    )


def _failed(node: PlannedNode) -> dict[str, Any]:
    """Return a node with the gates that did not pass."""
    row = cells(PLAN, node)
    row['gates'] = [g for g in row['gates'] if g['result'] != Outcome.PASSED]
    return row


def sentences(rows: Iterable[Mapping[str, Any]], total: int) -> list[str]:
    """Return one sentence for each gate that refuses nodes of a move.

    :param rows: refused nodes with their gates, as dictionaries.
    :param total: the number of all nodes of the move.
    """
    failed: dict[str, list[str]] = {}
    for row in rows:
        for gate in row['gates']:
            if gate['result'] == Outcome.FAILED:
                failed.setdefault(gate['gate'], []).append(
                    f'{row["name"] or row["uuid"]}: {_sentence(gate)}'
                )
    return [
        f'{gate}: {len(nodes)} of {total} nodes, such as {nodes[0]}'
        for gate, nodes in sorted(failed.items())
    ]


def _sentence(gate: Mapping[str, Any]) -> str:
    # An HTTP service of an earlier release sends no hint.
    hint = gate.get('hint')
    return f'{gate["detail"]}. {hint}' if hint else str(gate['detail'])


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
