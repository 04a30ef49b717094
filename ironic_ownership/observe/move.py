"""How moves and their nodes are shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import moves
from ironic_ownership.observe import columns


@dataclasses.dataclass(frozen=True)
class Row:
    """One node of a move, as it is listed.

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
"""What became of one node."""

PLAN = (*NODE[:6], _Column('gates', lambda r: list(r.gates)))
"""What would become of one node."""


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
"""One move."""
