"""The outbox of notifications, on SQL: one row with a position and a turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventPosition, Turn
from ironic_ownership.db import connection, rows, tables, transaction

_outbox = tables.outbox.c
_events = tables.events.c


class SqlOutbox(connection.Port):
    """The events of the history that have yet to be sent.

    One process of all services sends at a time. Two may overlap for a moment,
    and a new one sends the last events again: a consumer may see an event
    twice, but none is left out.

    Threading: any thread. Blocking and failure as for the records.

    :cvar name: of the row.
    """

    name = 'notifications'

    @connection.writes
    def claim(
        self, conn: sa.Connection, sender: str, *, lease: float, max_age: float
    ) -> Turn:
        """Take the turn if it is free, or renew the own one.

        :param sender: unique name of the process.
        :param lease: seconds for which it is taken; renewed in the second
            half.
        :param max_age: seconds; older events are not sent any more. With no
            position on record that is now.
        """
        now = transaction.now_of(conn)
        row = _row(conn, self.name)
        turn = _turn(row, sender, now, lease)
        if turn is None:
            # Another process may have changed it meanwhile, or inserts it:
            # then this insertion fails, and all of it is repeated.
            row = _row(conn, self.name, for_update=True)
            turn = _turn(row, sender, now, lease)
        if turn is None:
            _take(conn, self.name, row, sender, now, now + lease)
            position = now if row is None else row.position
            turn = Turn(True, position, now)
        oldest = now - max_age
        return dataclasses.replace(turn, position=max(turn.position, oldest))

    def read(
        self, since: float, after: EventPosition | None, limit: int
    ) -> Sequence[model.Event]:
        """Return events, oldest first.

        :param since: first moment, by the database's clock.
        :param after: only those that follow this place in the list.
        """
        statement = (
            sa.select(tables.events)
            # An index finds ``at``; the second condition drops the few sent
            # already.
            .where(_events.at >= (since if after is None else after.at))
            .order_by(_events.at, _events.id)
            .limit(limit)
        )
        if after is not None:
            statement = statement.where(
                (_events.at > after.at) | (_events.id > after.id)
            )
        return self._database.select(statement, rows.event)

    @connection.writes
    def advance(
        self,
        conn: sa.Connection,
        sender: str,
        position: float,
        *,
        lease: float,
    ) -> bool:
        """Record until when all events were sent, and renew the turn.

        :returns: ``False`` if another process has the turn.
        """
        until = transaction.now_of(conn) + lease
        return _change(
            conn,
            self.name,
            _outbox.sender == sender,
            position=position,
            sender_until=until,
        )

    @connection.writes
    def yield_turn(self, conn: sa.Connection, sender: str) -> None:
        """Let another process have the turn."""
        _change(conn, self.name, _outbox.sender == sender, sender_until=0.0)


class SqlOrderTurn(SqlOutbox):
    """The turn of the service that carries out standing orders."""

    name = 'standing orders'


def _row(conn: sa.Connection, name: str, *, for_update: bool = False) -> Any:
    statement = sa.select(tables.outbox).where(_outbox.name == name)
    if for_update:
        statement = statement.with_for_update()
    return conn.execute(statement).first()


def _turn(row: Any, sender: str, now: float, lease: float) -> Turn | None:
    """Return the turn if it is another's, or does not need a renewal yet."""
    if row is None:
        return None
    is_mine = row.sender == sender
    # The own turn is renewed in its second half, to write less often.
    if row.sender_until <= (now + lease / 2 if is_mine else now):
        return None
    return Turn(is_mine, row.position, now)


def _take(
    conn: sa.Connection,
    name: str,
    row: Any,
    sender: str,
    now: float,
    until: float,
) -> None:
    if row is not None:
        _change(conn, name, sender=sender, sender_until=until)
        return
    conn.execute(
        sa.insert(tables.outbox).values(
            name=name, position=now, sender=sender, sender_until=until
        )
    )


def _change(
    conn: sa.Connection,
    name: str,
    *conditions: sa.ColumnElement[bool],
    **values: str | float,
) -> bool:
    changed = conn.execute(
        sa.update(tables.outbox)
        .where(_outbox.name == name, *conditions)
        .values(**values)
    )
    return changed.rowcount == 1
