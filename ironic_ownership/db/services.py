"""What changes the row of a service: its host, and its operator.

Each function is the work of one transaction, with the row locked first, so
that a host that writes and an operator who stops it come one after the
other. A service that is forced down is fenced for as long as it is.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import ledger, rows, tables, transaction

_services = tables.services.c
_events = tables.events.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c

_EPOCH = 'epoch '
_TOLD = ('disabled', 'forced_down', 'disabled_reason')
_DECIDED = (*_TOLD, 'epoch', 'fenced')
_LONGEST_REASON = 255


def register(
    conn: sa.Connection, host: str, settings: model.MemberSettings
) -> int:
    """Create or renew the row of a service and raise its epoch.

    Being forced down outlives a registration, and so does its fence.

    :returns: the new epoch.
    """
    before = _lock(conn, host)
    now = transaction.now_of(conn)
    epoch = 1 + (_last_epoch(conn, host) if before is None else before.epoch)
    values = {
        'epoch': epoch,
        'fenced': before is not None and before.forced_down,
        'settings': settings.to_json(),
        'registered_at': now,
    }
    if before is None:
        conn.execute(
            sa.insert(tables.services).values(
                host=host, disabled=False, forced_down=False, **values
            )
        )
    else:
        _update(conn, host, values)
    _tell(conn, host, ledger.SERVICE_REGISTERED, now, to_host=host)
    return epoch


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
    before = _known(conn, host)
    after = before.decided(disabled, disabled_reason, forced_down)
    if after == before:
        return before
    changed = {
        name: getattr(after, name)
        for name in _DECIDED
        if getattr(after, name) != getattr(before, name)
    }
    what = ', '.join(
        f'{name}={changed[name]}' for name in _TOLD if name in changed
    )
    stopped = changed.get('forced_down')
    kind = ledger.SERVICE_FORCED_DOWN if stopped else ledger.SERVICE_CHANGED
    _update(conn, host, changed)
    _tell(
        conn,
        actor,
        kind,
        transaction.now_of(conn),
        from_host=host,
        reason=what[:_LONGEST_REASON],
    )
    return after


def delete(conn: sa.Connection, host: str, actor: str) -> None:
    """Delete the row of a service that nothing names any more.

    :raises NotFoundError: if there is no such service.
    :raises ServiceInUseError: if a compute node or an open instance names
        it.
    """
    before = _known(conn, host)
    nodes = _count(conn, (_nodes.host == host) & _nodes.deleted_at.is_(None))
    instances = _count(
        conn,
        (_instances.host == host) & _instances.open_node_uuid.is_not(None),
    )
    if nodes or instances:
        raise exceptions.ServiceInUseError(host, nodes, instances)
    conn.execute(sa.delete(tables.services).where(_services.host == host))
    _tell(
        conn,
        actor,
        ledger.SERVICE_DELETED,
        transaction.now_of(conn),
        from_host=host,
        reason=f'{_EPOCH}{before.epoch}',
    )


def _last_epoch(conn: sa.Connection, host: str) -> int:
    """Return the epoch with which a service of that host was deleted.

    A process from before the deletion may still run, and must not find its
    epoch current again.

    :returns: 0 if there never was one.
    """
    said = conn.execute(
        sa.select(_events.reason)
        .where(
            _events.kind == ledger.SERVICE_DELETED, _events.from_host == host
        )
        .order_by(_events.id.desc())
        .limit(1)
    ).scalar()
    return int(said.removeprefix(_EPOCH)) if said else 0


def _lock(conn: sa.Connection, host: str) -> model.Service | None:
    found = conn.execute(
        sa.select(tables.services)
        .where(_services.host == host)
        .with_for_update()
    ).first()
    return None if found is None else rows.service(found)


def _known(conn: sa.Connection, host: str) -> model.Service:
    found = _lock(conn, host)
    if found is None:
        raise exceptions.NotFoundError(f'service {host!r} is not known')
    return found


def _update(conn: sa.Connection, host: str, values: dict[str, Any]) -> None:
    conn.execute(
        sa.update(tables.services)
        .where(_services.host == host)
        .values(**values)
    )


def _count(conn: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    return conn.execute(sa.select(sa.func.count()).where(which)).scalar_one()


def _tell(
    conn: sa.Connection, actor: str, kind: str, now: float, **values: Any
) -> None:
    conn.execute(
        sa.insert(tables.events).values(
            **ledger.event(now, actor, kind, **values)
        )
    )
