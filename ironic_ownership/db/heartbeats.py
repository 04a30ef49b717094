"""The members' rows: the SQL behind the ``db`` membership backend.

Alive means "not expired by the database's clock", judged inside each
statement. Must not know why somebody joins or what a node is.
"""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import clock, connection, rows, tables

_table = tables.members
_members = tables.members.c


def join(
    database: connection.Database,
    host: str,
    incarnation: str,
    settings: model.MemberSettings,
    ttl: float,
) -> None:
    """Write the row of a member, unless another one is alive.

    Of two that join at once one finds the other's row: by its lock, or
    because its own insertion fails and is tried again.

    :param ttl: seconds until the member expires without a beat.
    :raises MemberExistsError: naming the one that is alive.
    """

    def work(conn: sa.Connection) -> None:
        now = clock.EpochSeconds()
        found = conn.execute(
            sa.select(
                _members.incarnation,
                (_members.expires_at > now).label('alive'),
            )
            .where(_members.host == host)
            .with_for_update()
        ).one_or_none()
        values = {
            'incarnation': incarnation,
            'settings': settings.to_json(),
            'expires_at': now + ttl,
        }
        if found is None:
            conn.execute(
                sa.insert(_table).values(host=host, joined_at=now, **values)
            )
            return
        if found.alive and found.incarnation != incarnation:
            raise exceptions.MemberExistsError(
                f'{host} is served already by incarnation '
                f'{found.incarnation}, which is alive',
                hint='Stop that process, or wait until it has expired',
            )
        if not found.alive:
            values['joined_at'] = now
        conn.execute(
            sa.update(_table).where(_members.host == host).values(**values)
        )

    database.write(work)


def beat(
    database: connection.Database, host: str, incarnation: str, ttl: float
) -> bool:
    """Put off the expiry of a member that is still alive.

    :param ttl: seconds from now until it expires.
    :returns: whether it was alive.
    """
    return _change(
        database,
        host,
        incarnation,
        {'expires_at': clock.EpochSeconds() + ttl},
    )


def advertise(
    database: connection.Database,
    host: str,
    incarnation: str,
    settings: model.MemberSettings,
) -> bool:
    """Replace what a member advertises.

    :returns: whether it was alive.
    """
    return _change(
        database, host, incarnation, {'settings': settings.to_json()}
    )


def _change(
    database: connection.Database,
    host: str,
    incarnation: str,
    values: dict[str, object],
) -> bool:
    statement = (
        sa.update(_table)
        .where(
            _members.host == host,
            _members.incarnation == incarnation,
            _members.expires_at > clock.EpochSeconds(),
        )
        .values(**values)
    )
    return database.write(lambda conn: conn.execute(statement).rowcount == 1)


def leave(database: connection.Database, host: str, incarnation: str) -> None:
    """Remove the row of this incarnation; nothing happens without one."""
    statement = sa.delete(_table).where(
        _members.host == host, _members.incarnation == incarnation
    )
    database.write(lambda conn: conn.execute(statement))


def alive(database: connection.Database) -> model.View:
    """Return the members that have not expired. One query."""
    statement = sa.select(_table).where(
        _members.expires_at > clock.EpochSeconds()
    )

    def work(conn: sa.Connection) -> list[model.Member]:
        return [rows.member(row) for row in conn.execute(statement)]

    return model.View.of(database.read(work))
