"""The reservations port on SQL: each call is one transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reservations import (
    OPEN,
    Reservation,
    Reservations,
    ReservationState,
)
from ironic_ownership.db import (
    connection,
    reservation_transaction,
    rows,
    tables,
    transaction,
)

_reservations = tables.reservations.c

DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


class SqlReservations(connection.Port, Reservations):
    """Reservations in the database of the records."""

    @connection.writes
    def begin(
        self,
        conn: sa.Connection,
        reservation: Reservation,
        *,
        lifetime: float | None = None,
    ) -> Reservation:
        # If two processes get here, the insertion of one of them fails,
        # and it is repeated from the start.
        existing = _of_instance(conn, reservation.instance_uuid)
        if existing is not None:
            return existing
        now = transaction.now_of(conn)
        row = rows.new_reservation(reservation, now, lifetime)
        conn.execute(sa.insert(tables.reservations), [row])
        return dataclasses.replace(
            reservation,
            created_at=now,
            updated_at=now,
            expires_at=row['expires_at'],
        )

    @connection.writes
    def activate(
        self,
        conn: sa.Connection,
        reservation_id: str,
        node: model.Node,
        *,
        epoch: int,
        origin: Origin | None = None,
    ) -> Reservation:
        before = _known(conn, reservation_id)
        reservation_transaction.activate(
            conn,
            self._companion,
            before,
            node,
            epoch,
            origin or Origin(before.host),
        )
        return _known(conn, reservation_id)

    @connection.writes
    def confirm(self, conn: sa.Connection, reservation_id: str) -> Reservation:
        before = reservation_transaction.locked(conn, reservation_id)
        if before.state is not ReservationState.ACTIVE:
            raise exceptions.ReservationConflictError(
                f'reservation {reservation_id} is {before.state}, so it '
                'cannot be confirmed'
            )
        if before.confirmed:
            return before
        return _change(conn, reservation_id, confirmed=True, expires_at=None)

    @connection.writes
    def begin_deletion(
        self,
        conn: sa.Connection,
        reservation_id: str,
        detail: str,
        *,
        seen: Reservation | None = None,
        epoch: int | None = None,
    ) -> Reservation:
        host = _known(conn, reservation_id).host
        reservation_transaction.check_writer(conn, host, epoch)
        before = reservation_transaction.locked(conn, reservation_id)
        if seen is not None and _version(seen) != _version(before):
            raise exceptions.ReservationConflictError(
                f'reservation {reservation_id} is {before.state} by now: '
                'another request changed it in the meantime'
            )
        if before.state is CLOSED or (
            before.state is DELETING and seen is None
        ):
            return before
        return _change(
            conn, reservation_id, state=DELETING.value, detail=detail
        )

    @connection.writes
    def keep(
        self, conn: sa.Connection, reservation_id: str, detail: str
    ) -> Reservation:
        before = reservation_transaction.locked(conn, reservation_id)
        if before.state is not DELETING or before.node_uuid is None:
            return before
        return _change(
            conn,
            reservation_id,
            state=ReservationState.ACTIVE.value,
            confirmed=True,
            expires_at=None,
            detail=detail,
        )

    @connection.writes
    def close(
        self,
        conn: sa.Connection,
        reservation_id: str,
        detail: str,
        *,
        epoch: int | None = None,
        origin: Origin | None = None,
    ) -> Reservation:
        before = _known(conn, reservation_id)
        reservation_transaction.close(
            conn, before, detail, epoch, origin or Origin(before.host)
        )
        return _known(conn, reservation_id)

    def find(self, reservation_id: str) -> Reservation | None:
        return self._database.read(lambda conn: _find(conn, reservation_id))

    def of_instance(self, instance_uuid: str) -> Reservation | None:
        return self._database.read(
            lambda conn: _of_instance(conn, instance_uuid)
        )

    def reservations(
        self,
        *,
        host: str | None = None,
        creator: str | None = None,
        states: Collection[ReservationState] = OPEN,
        limit: int | None = None,
        marker: str | None = None,
    ) -> Sequence[Reservation]:
        number = _reservations.number
        statement = (
            sa.select(tables.reservations)
            .where(
                _reservations.state.in_(
                    sorted(state.value for state in states)
                )
            )
            .order_by(number)
            .limit(limit)
        )
        if host is not None:
            statement = statement.where(_reservations.host == host)
        if creator is not None:
            statement = statement.where(
                _reservations.creator.is_(None)
                | (_reservations.creator == creator)
            )
        if marker is not None:
            after = sa.select(number).where(_reservations.id == marker)
            statement = statement.where(number > after.scalar_subquery())
        return self._database.select(statement, rows.reservation)

    def now(self) -> float:
        return self._database.read(transaction.now_of)


def _version(
    reservation: Reservation,
) -> tuple[ReservationState, bool, float | None]:
    return reservation.state, reservation.confirmed, reservation.updated_at


def _change(
    conn: sa.Connection, reservation_id: str, **values: Any
) -> Reservation:
    reservation_transaction.change(conn, reservation_id, values)
    return _known(conn, reservation_id)


def _known(conn: sa.Connection, reservation_id: str) -> Reservation:
    found = _find(conn, reservation_id)
    if found is None:
        raise reservation_transaction.unknown(reservation_id)
    return found


def _find(conn: sa.Connection, reservation_id: str) -> Reservation | None:
    return _first(conn, _reservations.id == reservation_id)


def _of_instance(
    conn: sa.Connection, instance_uuid: str
) -> Reservation | None:
    return _first(conn, _reservations.open_instance_uuid == instance_uuid)


def _first(
    conn: sa.Connection, which: sa.ColumnElement[bool]
) -> Reservation | None:
    row = conn.execute(sa.select(tables.reservations).where(which)).first()
    return None if row is None else rows.reservation(row)
