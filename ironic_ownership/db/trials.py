"""Trials of moves on record: they pass, or their nodes go back."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ironic_ownership.contracts.moves import NodeState, Trial
from ironic_ownership.db import release_transaction, tables, transaction
from ironic_ownership.db.linked_tables import LinkedTables

_node_moves = tables.node_moves.c

ON_TRIAL = (_node_moves.state == NodeState.MOVED.value) & (
    _node_moves.trial == Trial.FIRST.value
)
"""Selects nodes that have moved and are to be verified."""


def pass_trial(conn: sa.Connection, request_id: str) -> None:
    """Let the other nodes of a move follow those of its trial."""
    transaction.update_rows(
        conn,
        _node_moves.request_id,
        [request_id],
        _node_moves.trial == Trial.FIRST.value,
        trial=Trial.PASSED.value,
    )


def fail_trial(
    conn: sa.Connection, request_id: str, details: Mapping[str, str]
) -> None:
    """Plan that moved nodes of a trial go back to their sources.

    :param details: the cause, by the node's uuid.
    """
    # A result changes only under the lock of its node.
    release_transaction.lock_nodes(conn, details)
    write_results(
        conn,
        request_id,
        details,
        ON_TRIAL,
        state=NodeState.PLANNED.value,
        trial=Trial.BACK.value,
    )


def write_results(
    conn: sa.Connection,
    request_id: str,
    details: Mapping[str, str],
    which: sa.ColumnElement[bool],
    **values: str,
) -> None:
    """Write the results of nodes of a move, whose records are locked.

    :param details: by the node's uuid.
    :param which: those that get one.
    """
    now = transaction.now_of(conn)
    for uuid, detail in sorted(details.items()):
        transaction.update_rows(
            conn,
            _node_moves.node_uuid,
            [uuid],
            (_node_moves.request_id == request_id) & which,
            detail=detail,
            updated_at=now,
            **values,
        )


def against_owner(
    conn: sa.Connection,
    linked: LinkedTables,
    host: str,
    uuids: Collection[str],
) -> Mapping[str, str]:
    """Return where linked tables do not name a service as the owner, and why.

    Writes nothing, but waits for the transactions that write the nodes.
    """
    locked = linked.lock(conn, uuids)
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
