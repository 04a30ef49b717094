"""Pauses: while one lasts, no node in its scope changes owner automatically.

Each transaction that changes owners reads them, under the locks of the rows of
the services from which it decides. A transaction that begins or ends a pause
writes the rows of all services, so the two exclude each other on databases
with several writers as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.records import Change, Claim, Pause, Release
from ironic_ownership.db import change_set, dialects, tables
from ironic_ownership.db.transaction import Transaction

_pauses = tables.pauses.c

CURRENT = (
    sa.select(tables.pauses)
    .where(_pauses.ends_at > dialects.EpochSeconds())
    .order_by(_pauses.ends_at, _pauses.request_id)
)


def read(row: sa.Row[tuple[object, ...]]) -> Pause:
    """Build a pause from a row of :data:`CURRENT`."""
    return Pause(**row._mapping)


def current(conn: sa.Connection) -> list[Pause]:
    """Return the pauses that last."""
    return [read(row) for row in conn.execute(CURRENT)]


def hold(
    pauses: Sequence[Pause], row: change_set.Row | None, change: Change
) -> bool:
    """Tell whether a service's change of owner waits for the end of a pause.

    :param row: of the node, if it has one.
    """
    if row is None:
        return False
    places = [(row['shard'], row['conductor_group'])]
    if isinstance(change, Claim | Release) and change.node is not None:
        places.append((change.node.shard, change.node.conductor_group))
    return any(cover(pauses, *place) for place in places)


def cover(
    pauses: Sequence[Pause], shard: str | None, conductor_group: str
) -> bool:
    """Tell whether a pause holds the nodes of a shard and group."""
    return any(pause.covers(shard, conductor_group) for pause in pauses)


def begin(
    tx: Transaction,
    origin: Origin,
    seconds: float,
    reason: str,
    *,
    shard: str | None = None,
    conductor_group: str | None = None,
) -> Pause:
    """Begin a pause; its id is that of the request.

    When it is committed, no service changes an owner any more.

    :param shard: of the nodes; ``None`` for those of any.
    :param conductor_group: likewise.
    """
    _exclude_changes(tx)
    now = tx.now()
    pause = Pause(
        str(origin.request_id),
        shard,
        conductor_group,
        now,
        now + seconds,
        origin.actor,
        reason,
    )
    _delete(tx)
    tx.add_rows(tables.pauses, [dataclasses.asdict(pause)])
    _event(tx, now, EventKind.PAUSE_BEGAN, origin, pause)
    return pause


def end(
    tx: Transaction, origin: Origin, request_ids: Collection[str]
) -> Sequence[Pause]:
    """End pauses before their time, and return those that lasted."""
    _exclude_changes(tx)
    ended = [p for p in current(tx.conn) if p.request_id in request_ids]
    _delete(tx, [pause.request_id for pause in ended])
    now = tx.now()
    for pause in ended:
        _event(tx, now, EventKind.PAUSE_ENDED, origin, pause)
    return ended


def _delete(tx: Transaction, request_ids: Collection[str] = ()) -> None:
    """Delete pauses, and those that have ended: no one reads them again."""
    tx.conn.execute(
        sa.delete(tables.pauses).where(
            _pauses.request_id.in_(request_ids)
            | (_pauses.ends_at <= dialects.EpochSeconds())
        )
    )


def _exclude_changes(tx: Transaction) -> None:
    hosts = tx.conn.scalars(sa.select(tables.services.c.host)).all()
    tx.lock_services(hosts)


def _event(
    tx: Transaction, now: float, kind: EventKind, origin: Origin, pause: Pause
) -> None:
    tx.add_event(
        kind,
        origin,
        now,
        reason=f'{pause.scope}: {pause.reason}',
        request_id=pause.request_id,
    )
