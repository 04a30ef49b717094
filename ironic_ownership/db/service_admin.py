"""What operators change about a service.

Each function is the work of one transaction, with the row locked first, so
that a host that writes and an operator who stops it come one after the
other. A service that is forced down is fenced for as long as it is.
"""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import (
    change_set,
    registration,
    service_rows,
    tables,
    transaction,
)

_services = tables.services.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c

_TOLD = ('disabled', 'forced_down', 'disabled_reason')
_DECIDED = (*_TOLD, 'epoch', 'fenced')
_LONGEST_REASON = 255


def change(
    conn: sa.Connection,
    host: str,
    actor: str,
    disabled: bool | None,
    disabled_reason: str | None,
    forced_down: bool | None,
) -> model.Service:
    """Change what an operator decides about a service.

    :returns: the service as it is now.
    :raises NotFoundError: if there is no such service.
    """
    before = service_rows.known(conn, host)
    after = before.decided(disabled, disabled_reason, forced_down)
    changed = {
        name: getattr(after, name)
        for name in _DECIDED
        if getattr(after, name) != getattr(before, name)
    }
    if not changed:
        return before
    what = ', '.join(
        f'{name}={changed[name]}' for name in _TOLD if name in changed
    )
    stopped = changed.get('forced_down')
    kind = (
        change_set.SERVICE_FORCED_DOWN
        if stopped
        else change_set.SERVICE_CHANGED
    )
    service_rows.update(conn, host, changed)
    service_rows.tell(
        conn,
        actor,
        kind,
        transaction.now_of(conn),
        from_host=host,
        reason=what[:_LONGEST_REASON],
    )
    return service_rows.known(conn, host)


def delete(conn: sa.Connection, host: str, actor: str) -> None:
    """Delete the row of a service that nothing names any more.

    :raises NotFoundError: if there is no such service.
    :raises ServiceInUseError: if a compute node or an open instance names
        it.
    """
    before = service_rows.known(conn, host)
    nodes = _count(conn, (_nodes.host == host) & _nodes.deleted_at.is_(None))
    instances = _count(
        conn,
        (_instances.host == host) & _instances.open_node_uuid.is_not(None),
    )
    if nodes or instances:
        raise exceptions.ServiceInUseError(host, nodes, instances)
    conn.execute(sa.delete(tables.services).where(_services.host == host))
    service_rows.tell(
        conn,
        actor,
        change_set.SERVICE_DELETED,
        transaction.now_of(conn),
        from_host=host,
        reason=f'{registration.EPOCH}{before.epoch}',
    )


def _count(conn: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    return conn.execute(sa.select(sa.func.count()).where(which)).scalar_one()
