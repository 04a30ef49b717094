"""Which process of a service is active: it registers, retires, is relieved.

Each function is the work of one transaction, with the row locked first, so
that of two processes that register at once the second one finds the first.
Must not judge who is alive: the caller says so.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import change_set, service_rows, tables, transaction

EPOCH = 'epoch '
"""How the event of a deletion begins to say the last epoch."""

_events = tables.events.c


def register(
    conn: sa.Connection,
    host: str,
    settings: model.MemberSettings,
    incarnation: str | None,
    alive: Collection[str],
) -> int:
    """Create or renew the row of a service and raise its epoch.

    Being forced down outlives a registration, and so does its fence.

    :param incarnation: of the process that is to be active.
    :param alive: incarnations of the host that may be alive.
    :returns: the new epoch.
    :raises StandbyError: if another one of them is active.
    """
    before = service_rows.lock(conn, host)
    active = before.incarnation if before else None
    if active is not None and active != incarnation and active in alive:
        raise exceptions.StandbyError(host, active)
    now = transaction.now_of(conn)
    epoch = 1 + (_last_epoch(conn, host) if before is None else before.epoch)
    values = {
        'epoch': epoch,
        'fenced': before is not None and before.forced_down,
        'settings': settings.to_json(),
        'registered_at': now,
        'incarnation': incarnation,
        'away_until': None,
    }
    if before is None:
        conn.execute(
            sa.insert(tables.services).values(
                host=host, disabled=False, forced_down=False, **values
            )
        )
    else:
        service_rows.update(conn, host, values)
    service_rows.tell(
        conn, host, change_set.SERVICE_REGISTERED, now, to_host=host
    )
    return epoch


def retire(conn: sa.Connection, host: str, epoch: int, grace: float) -> None:
    """Give up the active place and the right to write.

    A service that is forced down may do so too: its process ends all the
    same.

    :param grace: seconds for which the service is expected back.
    :raises FencedError: if the epoch is no longer the current one.
    """
    before = service_rows.lock(conn, host)
    transaction.check_epoch(host, epoch, before.epoch if before else None)
    now = transaction.now_of(conn)
    service_rows.update(
        conn,
        host,
        {
            'epoch': epoch + 1,
            'fenced': True,
            'incarnation': None,
            'away_until': now + grace if grace > 0 else None,
        },
    )
    service_rows.tell(
        conn,
        host,
        change_set.SERVICE_RETIRED,
        now,
        from_host=host,
        reason=f'restart_grace={grace:g}' if grace > 0 else None,
    )


def fail_over(
    conn: sa.Connection, host: str, incarnation: str, actor: str
) -> model.Service:
    """Name the process that is to be active, and fence the one that is.

    :returns: the service as it is now.
    :raises NotFoundError: if there is no such service.
    """
    before = service_rows.known(conn, host)
    service_rows.update(
        conn,
        host,
        {
            'epoch': before.epoch + 1,
            'fenced': True,
            'incarnation': incarnation,
        },
    )
    service_rows.tell(
        conn,
        actor,
        change_set.SERVICE_FAILED_OVER,
        transaction.now_of(conn),
        from_host=host,
        to_host=host,
        reason=f'incarnation={incarnation}',
    )
    return service_rows.known(conn, host)


def _last_epoch(conn: sa.Connection, host: str) -> int:
    """Return the epoch with which a service of that host was deleted.

    A process from before the deletion may still run, and must not find its
    epoch current again.

    :returns: 0 if there never was one.
    """
    said = conn.execute(
        sa.select(_events.reason)
        .where(
            _events.kind == change_set.SERVICE_DELETED,
            _events.from_host == host,
        )
        .order_by(_events.id.desc())
        .limit(1)
    ).scalar()
    return int(said.removeprefix(EPOCH)) if said else 0
