"""The reservations on SQL: what the port asks, as transactions.

Must not ask Ironic: what is true there is told by whoever calls. What a
reservation changes on compute nodes is in ``reservation_transaction``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.reservations import (
    OPEN,
    Reservation,
    Reservations,
    ReservationState,
)
from ironic_ownership.db import (
    connection,
    reservation_rows,
    reservation_transaction,
    tables,
    transaction,
)

_rows = tables.reservations.c

DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


class SqlReservations(Reservations):
    """Reservations in the database of the records.

    :param database: an open database with this release's schema.
    """

    def __init__(self, database: connection.Database) -> None:
        self._database = database

    def begin(
        self, reservation: Reservation, *, lifetime: float | None = None
    ) -> Reservation:
        """Store a reservation, unless its instance has an open one."""

        def work(conn: sa.Connection) -> Reservation:
            # Who is slower by a moment fails to insert, and begins again.
            there = _of_instance(conn, reservation.instance_uuid)
            if there is not None:
                return there
            now = transaction.now_of(conn)
            row = reservation_rows.new_row(reservation, now, lifetime)
            conn.execute(sa.insert(tables.reservations), [row])
            return dataclasses.replace(
                reservation,
                created_at=now,
                updated_at=now,
                expires_at=row['expires_at'],
            )

        return self._database.write(work)

    def activate(
        self,
        reservation_id: str,
        node: model.Node,
        *,
        epoch: int,
        actor: str | None = None,
    ) -> Reservation:
        """Record that Ironic gave the node, as one transaction."""

        def work(conn: sa.Connection) -> Reservation:
            before = _known(conn, reservation_id)
            reservation_transaction.activate(
                conn, before, node, epoch, actor or before.host
            )
            return _known(conn, reservation_id)

        return self._database.write(work)

    def confirm(self, reservation_id: str) -> Reservation:
        """Record that it is used, so that it does not expire any more."""

        def work(conn: sa.Connection) -> Reservation:
            before = reservation_transaction.locked(conn, reservation_id)
            if before.state is not ReservationState.ACTIVE:
                raise exceptions.ReservationConflictError(
                    f'reservation {reservation_id} is {before.state}, so it '
                    'cannot be confirmed'
                )
            if before.confirmed:
                return before
            return self._change(
                conn, reservation_id, confirmed=True, expires_at=None
            )

        return self._database.write(work)

    def begin_deletion(
        self,
        reservation_id: str,
        detail: str,
        *,
        seen: Reservation | None = None,
        epoch: int | None = None,
    ) -> Reservation:
        """Record that it is not wanted any more."""

        def work(conn: sa.Connection) -> Reservation:
            host = _known(conn, reservation_id).host
            reservation_transaction.check_writer(conn, host, epoch)
            before = reservation_transaction.locked(conn, reservation_id)
            if seen is not None and _change_of(seen) != _change_of(before):
                raise exceptions.ReservationConflictError(
                    f'reservation {reservation_id} is {before.state} by now, '
                    'and was changed by somebody else in the meantime'
                )
            if before.state is CLOSED or (
                before.state is DELETING and seen is None
            ):
                return before
            return self._change(
                conn, reservation_id, state=DELETING.value, detail=detail
            )

        return self._database.write(work)

    def keep(self, reservation_id: str, detail: str) -> Reservation:
        """Take a deletion back: Ironic did not let go of the node."""

        def work(conn: sa.Connection) -> Reservation:
            before = reservation_transaction.locked(conn, reservation_id)
            if before.state is not DELETING or before.node_uuid is None:
                return before
            return self._change(
                conn,
                reservation_id,
                state=ReservationState.ACTIVE.value,
                confirmed=True,
                expires_at=None,
                detail=detail,
            )

        return self._database.write(work)

    def close(
        self,
        reservation_id: str,
        detail: str,
        *,
        epoch: int | None = None,
        actor: str | None = None,
    ) -> Reservation:
        """Record that Ironic holds no node for it, as one transaction."""

        def work(conn: sa.Connection) -> Reservation:
            before = _known(conn, reservation_id)
            reservation_transaction.close(
                conn, before, detail, epoch, actor or before.host
            )
            return _known(conn, reservation_id)

        return self._database.write(work)

    def find(self, reservation_id: str) -> Reservation | None:
        """Return one reservation, or ``None`` if there is no such one."""
        return self._database.read(lambda conn: _find(conn, reservation_id))

    def of_instance(self, instance_uuid: str) -> Reservation | None:
        """Return the open reservation of an instance, if it has one."""
        return self._database.read(
            lambda conn: _of_instance(conn, instance_uuid)
        )

    def reservations(
        self,
        *,
        host: str | None = None,
        states: Collection[ReservationState] = OPEN,
        limit: int | None = None,
        marker: str | None = None,
    ) -> Sequence[Reservation]:
        """Return reservations, oldest first."""
        statement = (
            sa.select(tables.reservations)
            .where(_rows.state.in_(sorted(state.value for state in states)))
            .order_by(_rows.number)
            .limit(limit)
        )
        if host is not None:
            statement = statement.where(_rows.host == host)
        if marker is not None:
            after = sa.select(_rows.number).where(_rows.id == marker)
            statement = statement.where(_rows.number > after.scalar_subquery())

        def work(conn: sa.Connection) -> list[Reservation]:
            return list(
                map(reservation_rows.reservation, conn.execute(statement))
            )

        return self._database.read(work)

    def now(self) -> float:
        """Return the time of the database's clock, by which they expire."""
        return self._database.read(transaction.now_of)

    @staticmethod
    def _change(
        conn: sa.Connection, reservation_id: str, **values: Any
    ) -> Reservation:
        reservation_transaction.change(conn, reservation_id, values)
        return _known(conn, reservation_id)


def _change_of(
    reservation: Reservation,
) -> tuple[ReservationState, bool, float | None]:
    return reservation.state, reservation.confirmed, reservation.updated_at


def _find(conn: sa.Connection, reservation_id: str) -> Reservation | None:
    row = conn.execute(
        sa.select(tables.reservations).where(_rows.id == reservation_id)
    ).first()
    return None if row is None else reservation_rows.reservation(row)


def _known(conn: sa.Connection, reservation_id: str) -> Reservation:
    found = _find(conn, reservation_id)
    if found is None:
        raise reservation_transaction.unknown(reservation_id)
    return found


def _of_instance(
    conn: sa.Connection, instance_uuid: str
) -> Reservation | None:
    row = conn.execute(
        sa.select(tables.reservations).where(
            _rows.open_instance_uuid == instance_uuid
        )
    ).first()
    return None if row is None else reservation_rows.reservation(row)
