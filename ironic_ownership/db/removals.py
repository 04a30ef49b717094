"""Deletions of records by operators, on SQL.

Must not judge gates: it only sees to it, under the locks of every other
writer, that the record is still the one for which they were judged.
"""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.contracts import reasons, removals
from ironic_ownership.db import change_set, connection, tables, transaction

_nodes = tables.compute_nodes.c
_instances = tables.instances.c


class SqlRemovals(removals.Removals):
    """Deletions in the database of the records.

    :param database: an open database with this release's schema.
    """

    def __init__(self, database: connection.Database) -> None:
        self._database = database

    def remove(
        self,
        uuid: str,
        *,
        seen_host: str | None,
        seen_epoch: int | None,
        actor: str,
        reason: reasons.Reason = reasons.Reason.NODE_GONE,
    ) -> bool:
        """Delete the record of a node without an instance."""

        def work(conn: sa.Connection) -> bool:
            # Services are locked first, as every writer does.
            if seen_host is not None:
                owner = transaction.lock_service(conn, seen_host)
                if (owner.epoch if owner else None) != seen_epoch:
                    return False
            if not _is_as_seen(conn, uuid, seen_host):
                return False
            _mark_deleted(conn, uuid, seen_host, actor, reason)
            return True

        return self._database.write(work)


def _is_as_seen(conn: sa.Connection, uuid: str, host: str | None) -> bool:
    """Lock the record and tell whether it may be deleted."""
    found = conn.execute(
        sa.select(_nodes.host)
        .where(_nodes.uuid == uuid, _nodes.deleted_at.is_(None))
        .with_for_update()
    ).first()
    if found is None or found.host != host:
        return False
    # Not locked: an instance only changes under its node's lock.
    instance = conn.execute(
        sa.select(_instances.uuid).where(_instances.open_node_uuid == uuid)
    ).first()
    return instance is None


def _mark_deleted(
    conn: sa.Connection,
    uuid: str,
    host: str | None,
    actor: str,
    reason: reasons.Reason,
) -> None:
    now = transaction.now_of(conn)
    conn.execute(
        sa.update(tables.compute_nodes)
        .where(_nodes.uuid == uuid)
        .values(
            host=None,
            reason=reason.value,
            updated_at=now,
            deleted_at=now,
            # Its provider is gone by now.
            placement_digest=None,
        )
    )
    conn.execute(
        sa.insert(tables.events).values(
            **change_set.event(
                now,
                actor,
                change_set.NODE_FORGOTTEN,
                node_uuid=uuid,
                from_host=host,
                reason=reason.value,
            )
        )
    )
