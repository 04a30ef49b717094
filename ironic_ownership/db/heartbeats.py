"""The members' rows: the SQL behind the ``db`` membership backend.

Alive means "not expired by the database's clock", judged inside each
statement. Must not know why somebody joins or what a node is.
"""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.contracts import model
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
    """Write the row of a member; other processes of the host stay.

    Expired rows of the host go, so that they do not pile up with every
    start. They go first: while they are looked for, this transaction holds
    no row that another one that joins would wait for.

    :param ttl: seconds until the member expires without a beat.
    """
    mine = (_members.host == host) & (_members.incarnation == incarnation)

    def work(conn: sa.Connection) -> None:
        now = clock.EpochSeconds()
        conn.execute(
            sa.delete(_table).where(
                _members.host == host, _members.expires_at <= now
            )
        )
        values = {'settings': settings.to_json(), 'expires_at': now + ttl}
        renewed = conn.execute(sa.update(_table).where(mine).values(**values))
        if renewed.rowcount == 0:
            conn.execute(
                sa.insert(_table).values(
                    host=host,
                    incarnation=incarnation,
                    joined_at=now,
                    **values,
                )
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
    left = (_members.expires_at - clock.EpochSeconds()).label('expires_in')
    statement = sa.select(_table, left).where(
        _members.expires_at > clock.EpochSeconds()
    )
    found = database.read(lambda conn: conn.execute(statement).all())
    return model.View.of(
        map(rows.member, found),
        min((row.expires_in for row in found), default=None),
    )
