"""Rows of the event log: the kinds of events, and the columns of one."""

from __future__ import annotations

from typing import Any

OWNER_CHANGED = 'owner_changed'
INSTANCE_OPENED = 'instance_opened'
INSTANCE_CLOSED = 'instance_closed'
SERVICE_REGISTERED = 'service_registered'
SERVICE_RETIRED = 'service_retired'
SERVICE_FAILED_OVER = 'service_failed_over'
SERVICE_FENCED = 'service_fenced'
SERVICE_CHANGED = 'service_changed'
SERVICE_FORCED_DOWN = 'service_forced_down'
SERVICE_DELETED = 'service_deleted'
NODE_FORGOTTEN = 'node_forgotten'
NODE_MOVED = 'node_moved'
NODE_RESERVED = 'node_reserved'
NODE_RELEASED = 'node_released'
AVAILABILITY_CHANGED = 'availability_changed'

_COLUMNS = ('node_uuid', 'from_host', 'to_host', 'instance_uuid', 'reason')


def row(at: float, actor: str, kind: str, **values: Any) -> dict[str, Any]:
    """Return a row of ``events``; ``at`` is the database's clock."""
    return {
        'at': at,
        'actor': actor,
        'kind': kind,
        **{name: values.get(name) for name in _COLUMNS},
    }
