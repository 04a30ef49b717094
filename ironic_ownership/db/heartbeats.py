"""The members' rows: the statements of the ``db`` membership backend.

The database's clock gives each heartbeat a time, by which a reader tells it
from the one before. Must not know about services or nodes.
"""

from __future__ import annotations

import dataclasses

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.db import clock, connection, rows, tables

_table = tables.members
_members = tables.members.c

_KEPT = 86400.0
"""Seconds for which a row is kept after its expiry: no jump of a clock by
hours may delete that of a live process."""


@dataclasses.dataclass(frozen=True)
class MemberRow:
    """The row of one process; ``ttl`` is in seconds."""

    host: str
    incarnation: str
    ttl: float

    def join(
        self, database: connection.Database, settings: model.MemberSettings
    ) -> None:
        """Write the row; other processes of the host stay.

        Rows of the host that expired long ago are deleted, so that they do
        not pile up. They are deleted first: at that time this transaction
        holds no row for which another one that joins would wait.
        """

        def work(conn: sa.Connection) -> None:
            now = clock.EpochSeconds()
            conn.execute(
                sa.delete(_table).where(
                    _members.host == self.host,
                    _members.expires_at <= now - _KEPT,
                )
            )
            values = {
                'settings': settings.to_json(),
                'expires_at': now + self.ttl,
            }
            renewed = conn.execute(
                sa.update(_table).where(self._is_own).values(**values)
            )
            if renewed.rowcount == 0:
                conn.execute(
                    sa.insert(_table).values(
                        host=self.host,
                        incarnation=self.incarnation,
                        joined_at=now,
                        **values,
                    )
                )

        database.write(work)

    def beat(self, database: connection.Database) -> bool:
        """Extend the life of a member; ``False`` if it has no row."""
        return self._change(
            database, expires_at=clock.EpochSeconds() + self.ttl
        )

    def advertise(
        self, database: connection.Database, settings: model.MemberSettings
    ) -> bool:
        """Replace the settings of a member; ``False`` if it has no row."""
        return self._change(database, settings=settings.to_json())

    def leave(self, database: connection.Database) -> None:
        statement = sa.delete(_table).where(self._is_own)
        database.write(lambda conn: conn.execute(statement))

    @property
    def _is_own(self) -> sa.ColumnElement[bool]:
        return (_members.host == self.host) & (
            _members.incarnation == self.incarnation
        )

    def _change(self, database: connection.Database, **values: object) -> bool:
        statement = sa.update(_table).where(self._is_own).values(**values)
        return database.write(
            lambda conn: conn.execute(statement).rowcount == 1
        )


@dataclasses.dataclass(frozen=True)
class Heartbeat:
    """The last heartbeat of one member.

    :param left: seconds until it expires by the clock of the server that
        answered; at most 0 if it has.
    :param expires_at: by the clock of the server that accepted it.
    """

    member: model.Member
    left: float
    expires_at: float


def alive(database: connection.Database) -> model.View:
    """Return the members that have not expired. One query."""
    found = last(database, _members.expires_at > clock.EpochSeconds())
    return model.View.of(
        (beat.member for beat in found),
        min((beat.left for beat in found), default=None),
    )


def last(
    database: connection.Database, *which: sa.ColumnElement[bool]
) -> list[Heartbeat]:
    """Return the last heartbeat of each member, expired or not. One query."""
    if not database.exists:
        return []  # no service has joined, and none is made here
    left = (_members.expires_at - clock.EpochSeconds()).label('left')
    statement = sa.select(_table, left).where(*which)
    found = database.read(lambda conn: conn.execute(statement).all())
    return [
        Heartbeat(rows.member(row), row.left, row.expires_at) for row in found
    ]
