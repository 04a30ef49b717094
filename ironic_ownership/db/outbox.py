"""The outbox of notifications, on SQL: one row with a position and a turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventPosition, Turn
from ironic_ownership.db import rows, tables, transaction
from ironic_ownership.db.transaction import Transaction

_outbox = tables.outbox.c
_events = tables.events.c


AHEAD = 60.0
"""Seconds by which a time on record may be ahead of the clock: several servers
have one each. More shows that the clock was set back."""


class SqlOutbox(transaction.Port):
    """The events of the history that have yet to be sent.

    One process of all services sends at a time. Two may overlap for a moment,
    and a new one sends the last events again: a consumer may see an event
    twice, but none is left out.

    Threading: any thread. Blocking and failure as for the records.

    :cvar name: of the row.
    """

    name = 'notifications'

    @transaction.writes
    def claim(
        self, tx: Transaction, sender: str, *, lease: float, max_age: float
    ) -> Turn:
        """Take the turn if it is free, or renew the own one.

        :param sender: unique name of the process.
        :param lease: seconds for which it is taken; renewed in the second
            half.
        :param max_age: seconds; older events are not sent any more. With no
            position on record that is now.
        """
        now = tx.now()
        # Another process may have changed it meanwhile, or inserts it: then
        # this insertion fails, and all of it is repeated.
        for is_locked in (False, True):
            row = self._row(tx, for_update=is_locked)
            turn = _turn(row, sender, now, lease)
            if turn is not None:
                break
        else:
            position = now
            if row is not None and not _is_ahead(row.position, now):
                position = row.position
            taken = {
                'sender': sender,
                'sender_until': now + lease,
                'position': position,
            }
            if row is None:
                tx.add_rows(tables.outbox, [{'name': self.name, **taken}])
            else:
                tx.update_rows(_outbox.name, [self.name], **taken)
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

    @transaction.writes
    def advance(
        self, tx: Transaction, sender: str, position: float, *, lease: float
    ) -> bool:
        """Record until when all events were sent, and renew the turn.

        :returns: ``False`` if another process has the turn.
        """
        until = tx.now() + lease
        return self._change(tx, sender, position=position, sender_until=until)

    @transaction.writes
    def yield_turn(self, tx: Transaction, sender: str) -> None:
        """Let another process have the turn."""
        self._change(tx, sender, sender_until=0.0)

    def _row(self, tx: Transaction, *, for_update: bool = False) -> Any:
        statement = sa.select(tables.outbox).where(_outbox.name == self.name)
        if for_update:
            statement = statement.with_for_update()
        return tx.conn.execute(statement).first()

    def _change(self, tx: Transaction, sender: str, **values: float) -> bool:
        """Change the row of a sender that has the turn; return if it has."""
        own = _outbox.sender == sender
        return tx.update_rows(_outbox.name, [self.name], own, **values) == 1


class SqlOrderTurn(SqlOutbox):
    """The turn of the service that carries out standing orders."""

    name = 'standing orders'


def _turn(row: Any, sender: str, now: float, lease: float) -> Turn | None:
    """Return the turn if it is another's, or does not need a renewal yet."""
    if row is None:
        return None
    is_mine = row.sender == sender
    # From before the clock was set back: it would last until it catches up.
    if _is_ahead(row.sender_until, now + lease) or (
        is_mine and _is_ahead(row.position, now)
    ):
        return None
    # The own turn is renewed in its second half, to write less often.
    if row.sender_until <= (now + lease / 2 if is_mine else now):
        return None
    return Turn(is_mine, row.position, now)


def _is_ahead(at: float, now: float) -> bool:
    return at > now + AHEAD
