"""The row of one service, locked and written: the statements, no rule.

Each works inside of a transaction that locks the row first.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import change_set, queries, rows, tables

_services = tables.services.c


def lock(conn: sa.Connection, host: str) -> model.Service | None:
    """Lock the row of a service until the end of the transaction.

    :returns: the service, or ``None`` if there is no such row.
    """
    found = conn.execute(
        queries.SERVICES.where(_services.host == host).with_for_update()
    ).first()
    return None if found is None else rows.service(found)


def known(conn: sa.Connection, host: str) -> model.Service:
    """Lock the row of a service that has to exist.

    :raises NotFoundError: if there is no such service.
    """
    found = lock(conn, host)
    if found is None:
        raise exceptions.NotFoundError(f'service {host!r} is not known')
    return found


def update(conn: sa.Connection, host: str, values: dict[str, Any]) -> None:
    """Write columns of the row of a service."""
    conn.execute(
        sa.update(tables.services)
        .where(_services.host == host)
        .values(**values)
    )


def tell(
    conn: sa.Connection, actor: str, kind: str, now: float, **values: Any
) -> None:
    """Leave one event.

    :param actor: who made the change.
    :param now: seconds since the epoch, by the database's clock.
    """
    conn.execute(
        sa.insert(tables.events).values(
            **change_set.event(now, actor, kind, **values)
        )
    )
