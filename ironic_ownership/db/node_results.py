"""Results of the nodes of a move, on record."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ironic_ownership.contracts.moves import NodeMove
from ironic_ownership.db import connection, rows, tables
from ironic_ownership.db.transaction import Transaction

_node_moves = tables.node_moves.c


def read(
    tx: Transaction, request_id: str, uuids: Collection[str]
) -> dict[str, NodeMove]:
    """Return the results of some nodes of a move, whose records are locked.

    Not locked: a result changes only under the lock of its node.
    """
    return {
        row.node_uuid: rows.node_move(row)
        for some in connection.chunks(sorted(uuids))
        for row in tx.conn.execute(
            sa.select(tables.node_moves).where(
                _node_moves.request_id == request_id,
                _node_moves.node_uuid.in_(some),
            )
        )
    }


def write(
    tx: Transaction,
    request_id: str,
    details: Mapping[str, str | None],
    *which: sa.ColumnElement[bool],
    **values: object,
) -> int:
    """Write the results of nodes of a move, whose records are locked.

    :param details: by the node's uuid.
    :param which: those that get one; by default all.
    :returns: their number.
    """
    alike: dict[str | None, list[str]] = {}
    for uuid, detail in details.items():
        alike.setdefault(detail, []).append(uuid)
    # One statement for each result instead of one for each node.
    return sum(
        tx.update_rows(
            _node_moves.node_uuid,
            uuids,
            _node_moves.request_id == request_id,
            *which,
            detail=detail,
            **values,
        )
        for detail, uuids in sorted(alike.items(), key=str)
    )
