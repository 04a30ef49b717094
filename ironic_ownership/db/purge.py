"""Purge: delete history that is older than a moment, in short transactions.

Deletes nothing that can still change: no open instance or reservation, no
move with a node to be moved, no record of a node that Ironic has, no member
that may be alive.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import moves
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.contracts.reservations import ReservationState
from ironic_ownership.db import (
    connection,
    dialects,
    heartbeats,
    node_results,
    tables,
    transaction,
)

BATCH = 500
"""Rows in one transaction: short enough not to block writers."""

_FOUND = 100_000
"""Rows that are found at once: to find those of moves takes as long as there
are such rows."""

_events = tables.events.c
_moves = tables.moves.c
_node_moves = tables.node_moves.c
_instances = tables.instances.c
_reservations = tables.reservations.c
_nodes = tables.compute_nodes.c
_members = tables.members.c


@dataclasses.dataclass(frozen=True)
class _Part:
    """The old rows of one table.

    :param age: the column that has an index, to find old rows by.
    :param still: is true of a row that may be deleted; checked again where
        another transaction may have changed the row.
    :param is_read: whether a service may not have read yet that the row is
        marked as deleted.
    """

    name: str
    key: sa.Column[Any]
    age: sa.Column[Any]
    old: sa.ColumnElement[bool]
    still: sa.ColumnElement[bool] | None = None
    is_read: bool = False

    def count(self, conn: sa.Connection) -> int:
        """Count the old rows."""
        return conn.execute(
            sa.select(sa.func.count())
            .select_from(self.key.table)
            .where(self.old)
        ).scalar_one()

    def keys(self, conn: sa.Connection) -> Sequence[Any]:
        """Return the keys of old rows, the oldest first."""
        return conn.scalars(
            sa.select(self.key)
            .where(self.old)
            .order_by(self.age, self.key)
            .limit(_FOUND)
        ).all()

    def delete(self, conn: sa.Connection, keys: Sequence[Any]) -> int:
        """Delete one batch, and return the number of rows."""
        if self.is_read:
            transaction.Transaction(conn).raise_unmarked()
        statement = sa.delete(self.key.table).where(self.key.in_(keys))
        if self.still is not None:
            statement = statement.where(self.still)
        return conn.execute(statement).rowcount


def _parts(before: float) -> list[_Part]:
    """Return the parts, each after those that refer to it."""
    # Other states of nodes are final.
    unfinished = sa.exists().where(
        _node_moves.request_id == _moves.request_id,
        (_node_moves.state == moves.NodeState.PLANNED.value)
        | node_results.ON_TRIAL
        | (_node_moves.updated_at >= before),
    )
    finished = (_moves.created_at < before) & ~unfinished
    of_finished = _node_moves.request_id.in_(
        sa.select(_moves.request_id).where(finished)
    )
    kept = sa.exists().where(
        _instances.node_uuid == _nodes.uuid,
        _instances.deleted_at.is_(None) | (_instances.deleted_at >= before),
    )
    # A node that returns gets its record back.
    deleted = _nodes.deleted_at < before
    # A process deletes the rows of its host alone.
    gone = (_members.expires_at < before) & (
        _members.expires_at <= dialects.EpochSeconds() - heartbeats.KEPT
    )
    return [
        _Part(
            'events',
            _events.id,
            _events.at,
            (_events.at < before)
            # These hold the last epochs of deleted services.
            & (_events.kind != EventKind.SERVICE_DELETED.value),
        ),
        _Part('nodes of moves', _node_moves.id, _node_moves.id, of_finished),
        _Part('moves', _moves.id, _moves.created_at, finished),
        _Part(
            'closed instances',
            _instances.id,
            _instances.deleted_at,
            _instances.deleted_at < before,
        ),
        _Part(
            'closed reservations',
            _reservations.number,
            _reservations.updated_at,
            (_reservations.state == ReservationState.CLOSED.value)
            & (_reservations.updated_at < before),
        ),
        _Part(
            'deleted compute nodes',
            _nodes.uuid,
            _nodes.deleted_at,
            deleted & ~kept,
            deleted,
            is_read=True,
        ),
        _Part(
            'expired members',
            _members.incarnation,
            _members.expires_at,
            gone,
            gone,
        ),
    ]


def now(database: connection.Database) -> float:
    """Return the database's clock, in seconds since the epoch."""
    return database.read(transaction.now_of)


def count(database: connection.Database, before: float) -> dict[str, int]:
    """Count the rows that :func:`run` would delete, by kind.

    :param before: seconds since the epoch, by the database's clock.
    """
    return {part.name: database.read(part.count) for part in _parts(before)}


def run(
    database: connection.Database, before: float, batch: int = BATCH
) -> dict[str, int]:
    """Delete old rows, and return their number by kind.

    It may be interrupted at any time, and repeated.

    :param before: seconds since the epoch, by the database's clock.
    :param batch: rows in one transaction.
    """
    return {
        part.name: _delete(database, part, batch) for part in _parts(before)
    }


def _delete(database: connection.Database, part: _Part, batch: int) -> int:
    total = 0
    while keys := database.read(part.keys):
        for some in connection.chunks(keys, batch):
            total += database.write(functools.partial(part.delete, keys=some))
        if len(keys) < _FOUND:
            break
    return total
