"""The members' rows: the statements of the ``db`` membership backend.

A member is alive until it expires by the database's clock, which each
statement reads itself. Must not know about services or nodes.
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

    Expired rows of the host are deleted, so that they do not pile up. They
    are deleted first: at that time this transaction holds no row for which
    another one that joins would wait.

    :param ttl: seconds until the member expires without a beat.
    """

    def work(conn: sa.Connection) -> None:
        now = clock.EpochSeconds()
        conn.execute(
            sa.delete(_table).where(
                _members.host == host, _members.expires_at <= now
            )
        )
        values = {'settings': settings.to_json(), 'expires_at': now + ttl}
        renewed = conn.execute(
            sa.update(_table).where(_is(host, incarnation)).values(**values)
        )
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
    """Extend the life of a member that is still alive.

    :param ttl: seconds from now until it expires.
    :returns: whether it was alive.
    """
    expires_at = clock.EpochSeconds() + ttl
    return _change(database, host, incarnation, expires_at=expires_at)


def advertise(
    database: connection.Database,
    host: str,
    incarnation: str,
    settings: model.MemberSettings,
) -> bool:
    """Replace the settings that a member advertises.

    :returns: whether it was alive.
    """
    return _change(database, host, incarnation, settings=settings.to_json())


def _change(
    database: connection.Database,
    host: str,
    incarnation: str,
    **values: object,
) -> bool:
    statement = (
        sa.update(_table)
        .where(
            _is(host, incarnation),
            _members.expires_at > clock.EpochSeconds(),
        )
        .values(**values)
    )
    return database.write(lambda conn: conn.execute(statement).rowcount == 1)


def leave(database: connection.Database, host: str, incarnation: str) -> None:
    """Remove the row of this incarnation; nothing happens without one."""
    statement = sa.delete(_table).where(_is(host, incarnation))
    database.write(lambda conn: conn.execute(statement))


def _is(host: str, incarnation: str) -> sa.ColumnElement[bool]:
    return (_members.host == host) & (_members.incarnation == incarnation)


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
