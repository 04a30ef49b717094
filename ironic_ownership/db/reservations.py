"""The reservations port on SQL: each call is one transaction."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.reservations import (
    OPEN,
    Reservation,
    ReservationState,
)
from ironic_ownership.db import rows, tables, transaction
from ironic_ownership.db.reservation_transaction import (
    activate,
    change,
    check_pauses,
    check_writer,
    close,
    first,
    known,
)
from ironic_ownership.db.transaction import Transaction

_reservations = tables.reservations.c

DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED

_version = operator.attrgetter('state', 'confirmed', 'updated_at')


class SqlReservations(transaction.Port):
    """Reservations on record.

    ``epoch`` is that of the reservation's service when the service itself
    writes; ``None`` for an operator. ``origin`` is the client's request, for
    the event; without it the service itself is the actor.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @transaction.writes
    def begin(
        self,
        tx: Transaction,
        reservation: Reservation,
        *,
        lifetime: float | None = None,
    ) -> Reservation:
        # If two processes get here, the insertion of one of them fails,
        # and it is repeated from the start.
        """Store a reservation, unless its instance has an open one.

        :param reservation: pending; or deleting, to undo an allocation in
            Ironic that has no reservation on record.
        :param lifetime: seconds until it expires; ``None`` for never.
        :returns: the one on record then: this one, or the open one that was
            there before, for any request.
        """
        existing = _of_instance(tx.conn, reservation.instance_uuid)
        if existing is not None:
            return existing
        now = tx.now()
        row = rows.new_reservation(reservation, now, lifetime)
        tx.add_rows(tables.reservations, [row])
        return dataclasses.replace(
            reservation,
            created_at=now,
            updated_at=now,
            expires_at=row['expires_at'],
        )

    activate = transaction.method(activate)

    @transaction.writes
    def confirm(self, tx: Transaction, reservation_id: str) -> Reservation:
        """Record that the node is used: the reservation no longer expires.

        :raises ReservationConflictError: if it is not active.
        :raises NotFoundError: if there is no such reservation.
        """
        before = known(tx.conn, reservation_id, lock=True)
        if before.state is not ReservationState.ACTIVE:
            raise exceptions.ReservationConflictError(
                f'reservation {reservation_id} is {before.state}, so it '
                'cannot be confirmed'
            )
        if before.confirmed:
            return before
        return change(tx, reservation_id, confirmed=True, expires_at=None)

    @transaction.writes
    def begin_deletion(
        self,
        tx: Transaction,
        reservation_id: str,
        detail: str,
        *,
        seen: Reservation | None = None,
        epoch: int | None = None,
    ) -> Reservation:
        """Record that it is not wanted any more; a closed one stays closed.

        The caller, and no other process, then releases the node in Ironic: a
        deletion that another process began belongs to that process, unless
        the caller takes it over by passing it as ``seen``.

        :param detail: the reason.
        :param seen: the reservation on which the caller decided; without it
            the deletion begins from any state.
        :raises ReservationConflictError: if it was changed since it was seen,
            or a pause holds the node and the service itself wants the end.
        :raises FencedError: if the service has no right to write.
        :raises NotFoundError: if there is no such reservation.
        """
        found = known(tx.conn, reservation_id)
        check_writer(tx, found.host, epoch)
        if epoch is not None and found.node_uuid is not None:
            nodes, _ = tx.lock_nodes([found.node_uuid])
            check_pauses(tx, nodes.get(found.node_uuid))
        before = known(tx.conn, reservation_id, lock=True)
        if seen is not None and _version(seen) != _version(before):
            raise exceptions.ReservationConflictError(
                f'reservation {reservation_id} is {before.state} by now: '
                'another request changed it in the meantime'
            )
        if before.state is CLOSED or (
            before.state is DELETING and seen is None
        ):
            return before
        return change(tx, reservation_id, state=DELETING.value, detail=detail)

    @transaction.writes
    def keep(
        self, tx: Transaction, reservation_id: str, detail: str
    ) -> Reservation:
        """Take a deletion back: Ironic did not release the node.

        A reservation that was active is active again, and confirmed; nothing
        else changes.

        :param detail: why it could not be deleted.
        :raises NotFoundError: if there is no such reservation.
        """
        before = known(tx.conn, reservation_id, lock=True)
        if before.state is not DELETING or before.node_uuid is None:
            return before
        return change(
            tx,
            reservation_id,
            state=ReservationState.ACTIVE.value,
            confirmed=True,
            expires_at=None,
            detail=detail,
        )

    close = transaction.method(close)

    def find(self, reservation_id: str) -> Reservation | None:
        """Return one reservation, if it exists."""
        return self._database.read(
            lambda conn: first(conn, _reservations.id == reservation_id)
        )

    def of_instance(self, instance_uuid: str) -> Reservation | None:
        """Return the open reservation of an instance, if it has one."""
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
        """Return reservations, oldest first.

        :param creator: only those that this actor made, or may have.
        :param marker: id of the one after which the list begins.
        :raises NotFoundError: if that was purged: the place is not known.
        """
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
            self._database.read(lambda conn: known(conn, marker))
            after = sa.select(number).where(_reservations.id == marker)
            statement = statement.where(number > after.scalar_subquery())
        return self._database.select(statement, rows.reservation)


def _of_instance(
    conn: sa.Connection, instance_uuid: str
) -> Reservation | None:
    return first(conn, _reservations.open_instance_uuid == instance_uuid)
