"""Results of the nodes of a move on record, and of its trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ironic_ownership.contracts.moves import NodeMove, NodeState, Trial
from ironic_ownership.db import connection, rows, tables
from ironic_ownership.db.transaction import Transaction

_node_moves = tables.node_moves.c

ON_TRIAL = (_node_moves.state == NodeState.MOVED.value) & (
    _node_moves.trial == Trial.FIRST.value
)
"""Selects nodes that have moved and are to be verified."""


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


def pass_trial(tx: Transaction, request_id: str) -> bool:
    """Let the other nodes of a move follow those of its trial.

    :returns: whether the trial passes by this call: of several, with any
        result, the first one counts.
    """
    passed = tx.update_rows(
        _node_moves.request_id,
        [request_id],
        _node_moves.trial == Trial.FIRST.value,
        _node_moves.state != NodeState.REFUSED.value,
        trial=Trial.PASSED.value,
    )
    return passed > 0


def fail_trial(
    tx: Transaction, request_id: str, details: Mapping[str, str]
) -> bool:
    """Plan that moved nodes of a trial go back to their sources.

    :param details: the cause, by the node's uuid.
    :returns: whether the trial fails by this call: of several, with any
        result, the first one counts. True if no node has moved.
    """
    # A result changes only under the lock of its node.
    tx.lock_recorded(details)
    failed = write(
        tx,
        request_id,
        details,
        ON_TRIAL,
        state=NodeState.PLANNED.value,
        trial=Trial.BACK.value,
        updated_at=tx.now(),
    )
    return failed > 0 or not details


def against_owner(
    tx: Transaction, host: str, uuids: Collection[str]
) -> Mapping[str, str]:
    """Return where linked tables do not name a service as the owner, and why.

    Writes nothing, but waits for the transactions that write the nodes.
    """
    locked = tx.linked.lock(tx.conn, uuids)
    found = {
        uuid: locked.against_claim(uuid, host)
        or (
            None
            if locked.running(uuid)
            else locked.against_deletion(uuid, host)
        )
        for uuid in uuids
    }
    return {uuid: text for uuid, text in found.items() if text}
