"""The port to the reservations on record.

A reservation is on record before the request to Ironic, so that a process
that finds one without the other can repair it.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Collection, Sequence

from ironic_ownership.contracts import model, reservation_request
from ironic_ownership.contracts.events import Origin


class ReservationState(enum.StrEnum):
    """Life cycle of a reservation."""

    PENDING = 'pending'
    """Wanted: Ironic may have reserved a node for it, or not yet."""

    ACTIVE = 'active'
    """The node is reserved, the service owns it, the instance is open."""

    DELETING = 'deleting'
    """Not wanted any more: Ironic may still hold the node, or not."""

    CLOSED = 'closed'
    """Finished; kept as history, and does not block another one."""


METHOD = 'allocation'
"""Means of reserving a node in Ironic: an allocation with the instance's uuid.
Earlier releases also had ``instance_uuid``: only that field of the node."""

OPEN = frozenset(ReservationState) - {ReservationState.CLOSED}
"""States of which an instance has one reservation at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """A node that is held, was held, or is to be held for an instance.

    :param host: canonical name of the service that is to own the node.
    :param created_at: here and below seconds since the epoch, by the
        database's clock.
    :param expires_at: a confirmed one never does.
    :param confirmed: whether the node is in use, as observed or as a client
        stated.
    :param detail: explanation of its state.
    :param creator: actor of the request; ``None`` if a process made it to
        clean up, or a release that did not record it.
    """

    id: str
    instance_uuid: str
    host: str
    request: reservation_request.Request
    method: str = METHOD
    state: ReservationState = ReservationState.PENDING
    node_uuid: str | None = None
    created_at: float | None = None
    updated_at: float | None = None
    expires_at: float | None = None
    confirmed: bool = False
    detail: str | None = None
    creator: str | None = None

    def is_of(self, actor: str) -> bool:
        """Tell whether an actor made it, or may have."""
        return self.creator in (None, actor)


class Reservations(abc.ABC):
    """Reservations on record.

    ``epoch`` is that of the reservation's service when the service itself
    writes; ``None`` for an operator. ``origin`` is the client's request, for
    the event; without it the service itself is the actor.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @abc.abstractmethod
    def begin(
        self, reservation: Reservation, *, lifetime: float | None = None
    ) -> Reservation:
        """Store a reservation, unless its instance has an open one.

        :param reservation: pending; or deleting, to undo an allocation in
            Ironic that has no reservation on record.
        :param lifetime: seconds until it expires; ``None`` for never.
        :returns: the one on record then: this one, or the open one that was
            there before, for any request.
        """

    @abc.abstractmethod
    def activate(
        self,
        reservation_id: str,
        node: model.Node,
        *,
        epoch: int,
        origin: Origin | None = None,
    ) -> Reservation:
        """Record that Ironic gave the node, as one transaction.

        The reservation becomes active, the service the node's owner, the
        instance is opened on it, and one event is written. Idempotent.

        :param epoch: of the service, read before the request to Ironic.
        :raises FencedError: if that is not the service's epoch any more, or
            the service was fenced or deleted.
        :raises ServiceRefusedError: if the service is disabled.
        :raises ReservationConflictError: if another service owns the node,
            or the reservation is neither pending nor active.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def confirm(self, reservation_id: str) -> Reservation:
        """Record that the node is used: the reservation no longer expires.

        :raises ReservationConflictError: if it is not active.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def begin_deletion(
        self,
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
        :raises ReservationConflictError: if it was changed since it was seen.
        :raises FencedError: if the service has no right to write.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def keep(self, reservation_id: str, detail: str) -> Reservation:
        """Take a deletion back: Ironic did not release the node.

        A reservation that was active is active again, and confirmed; nothing
        else changes.

        :param detail: why it could not be deleted.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def close(
        self,
        reservation_id: str,
        detail: str,
        *,
        epoch: int | None = None,
        origin: Origin | None = None,
    ) -> Reservation:
        """Record that Ironic holds no node for it, as one transaction.

        The reservation and its instance are closed, the node's record is
        released, and one event is written. Idempotent.

        :raises FencedError: if the service has no right to write.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def find(self, reservation_id: str) -> Reservation | None:
        """Return one reservation, if it exists."""

    @abc.abstractmethod
    def of_instance(self, instance_uuid: str) -> Reservation | None:
        """Return the open reservation of an instance, if it has one."""

    @abc.abstractmethod
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
        """

    @abc.abstractmethod
    def now(self) -> float:
        """Return the time of the database's clock, which decides expiry."""
