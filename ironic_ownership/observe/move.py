"""Columns of moves and their nodes, and gates in JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import moves
from ironic_ownership.engine.gates import GateResult, Outcome
from ironic_ownership.engine.moves.proposal import PlannedNode, Proposal
from ironic_ownership.observe import columns


@dataclasses.dataclass(frozen=True)
class Row:
    """One node of a move, for a list.

    :param gates: each gate with its result, as dictionaries.
    """

    request_id: str
    destination: str
    node: moves.NodeMove
    name: str | None = None
    gates: Sequence[columns.Cell] = ()


_Column = columns.Column[Row]

NODE = (
    _Column('uuid', lambda r: r.node.uuid),
    _Column('name', lambda r: r.name),
    _Column('source', lambda r: r.node.source),
    _Column('destination', lambda r: r.destination),
    _Column('instance_uuid', lambda r: r.node.instance_uuid),
    _Column('state', lambda r: r.node.state.value),
    _Column('detail', lambda r: r.node.detail),
    _Column('request_id', lambda r: r.request_id),
)
"""The result of one node."""

PLAN = (*NODE[:6], _Column('gates', lambda r: list(r.gates)))
"""The proposed result of one node."""


def gate_cells(
    results: Iterable[GateResult], *, every: bool
) -> list[dict[str, columns.Cell]]:
    """Return gates with their results as dictionaries.

    :param every: all of them, or only those that did not pass.
    """
    shown: list[dict[str, columns.Cell]] = []
    for result in results:
        outcome = result.outcome
        if outcome is Outcome.UNKNOWN:
            outcome = Outcome.FAILED
        cell: dict[str, columns.Cell] = {
            'gate': result.gate,
            'result': outcome.value,
        }
        if outcome is not Outcome.PASSED:
            cell['detail'] = result.detail
            if result.hint:
                cell['hint'] = result.hint
            shown.append(cell)
        elif every:
            shown.append(cell)
    return shown


def planned_row(
    planned: PlannedNode, proposal: Proposal | None, *, every: bool
) -> Row:
    """Return a row of a proposed node.

    :param proposal: ``None`` for a node without a destination.
    :param every: whether to include the gates that it passed.
    """
    order = proposal.order if proposal else None
    return Row(
        order.request_id if order else '',
        order.destination if order else '',
        planned.node,
        planned.name,
        gate_cells(planned.gates, every=every),
    )


def refusals(rows: Iterable[Mapping[str, Any]], total: int) -> list[str]:
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


def node_cell(node: moves.NodeMove) -> dict[str, columns.Cell]:
    """Return a node of a stored move as a dictionary."""
    return {
        'uuid': node.uuid,
        'source': node.source,
        'instance_uuid': node.instance_uuid,
        'state': node.state.value,
        'detail': node.detail,
    }


_Move = columns.Column[moves.Move]


def _count(state: moves.NodeState) -> _Move:
    return _Move(state.value, lambda m: m.counts.get(state, 0))


MOVE = (
    _Move('request_id', lambda m: m.request_id),
    _Move('created_at', lambda m: columns.moment(m.created_at)),
    _Move('actor', lambda m: m.actor),
    _Move('destination', lambda m: m.destination),
    _Move('state', lambda m: m.state.value),
    *map(_count, moves.NodeState),
    _Move('reason', lambda m: m.reason),
    _Move('overrides', lambda m: list(m.overrides)),
)
