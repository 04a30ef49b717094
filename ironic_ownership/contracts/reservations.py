"""The port to the reservations: who asked for a node, and what came of it.

The record comes before the deed: a reservation is on record before Ironic is
asked, so that whoever finds either without the other knows what was meant.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Collection, Sequence

from ironic_ownership.contracts import allocations, model, reservation_request


class ReservationState(enum.StrEnum):
    """How far a reservation is."""

    PENDING = 'pending'
    """Wanted: Ironic may have reserved a node for it, or not yet."""

    ACTIVE = 'active'
    """The node is reserved, the service owns it, the instance is open."""

    DELETING = 'deleting'
    """Not wanted any more: Ironic may still hold the node, or not."""

    CLOSED = 'closed'
    """Over; kept to be read, and no longer in the way of another one."""


OPEN = frozenset(ReservationState) - {ReservationState.CLOSED}
"""States of which an instance has one reservation at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """A node that is held, was held, or is to be held for an instance.

    :param id: uuid of the reservation itself.
    :param host: canonical name of the service that is to own the node.
    :param node_uuid: ``None`` while there is none.
    :param method: by what the node is reserved in Ironic.
    :param created_at: seconds since the epoch, by the database's clock.
    :param updated_at: the same, of the last change.
    :param expires_at: the same; ``None`` if it does not expire. What is
        confirmed never does.
    :param confirmed: whether the node was seen to be used, or somebody said
        so.
    :param detail: why it is where it is, in words.
    """

    id: str
    instance_uuid: str
    host: str
    request: reservation_request.Request
    method: allocations.Method = allocations.Method.ALLOCATION
    state: ReservationState = ReservationState.PENDING
    node_uuid: str | None = None
    created_at: float | None = None
    updated_at: float | None = None
    expires_at: float | None = None
    confirmed: bool = False
    detail: str | None = None


class Reservations(abc.ABC):
    """Reservations on record.

    ``epoch`` is that of the reservation's service when it is the service
    itself that writes; ``None`` for an operator. ``actor`` is who writes, for
    the event; the service itself if it is not given.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @abc.abstractmethod
    def begin(
        self, reservation: Reservation, *, lifetime: float | None = None
    ) -> Reservation:
        """Store a reservation, unless its instance has an open one.

        :param reservation: pending; or deleting, to undo in Ironic what no
            reservation is on record for.
        :param lifetime: seconds until it expires; ``None`` for never.
        :returns: what is on record then: this one, or the open one that was
            there before, whatever it asks for.
        """

    @abc.abstractmethod
    def activate(
        self,
        reservation_id: str,
        node: model.Node,
        *,
        epoch: int,
        actor: str | None = None,
    ) -> Reservation:
        """Record that Ironic gave the node, as one transaction.

        The reservation becomes active, the service the node's owner, the
        instance is opened on it, and one event is written. Done before, it
        changes nothing.

        :param epoch: of the service, as it was read before Ironic was asked.
        :raises FencedError: if that is not the service's epoch any more, or
            the service was fenced or deleted.
        :raises ServiceRefusedError: if the service is disabled.
        :raises ReservationConflictError: if another service owns the node,
            or the reservation is neither pending nor active.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def confirm(self, reservation_id: str) -> Reservation:
        """Record that it is used, so that it does not expire any more.

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

        Who does this gives the node back in Ironic, and nobody else does:
        a deletion that somebody else began is his, unless it is taken over
        by naming it in ``seen``.

        :param detail: why not.
        :param seen: what it was when that was decided; whatever it is, if
            not given.
        :raises ReservationConflictError: if it was changed since it was seen.
        :raises FencedError: if the service has no right to write.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def keep(self, reservation_id: str, detail: str) -> Reservation:
        """Take a deletion back: Ironic did not let go of the node.

        What was active before is active again, and confirmed; nothing else
        changes.

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
        actor: str | None = None,
    ) -> Reservation:
        """Record that Ironic holds no node for it, as one transaction.

        The reservation and its instance are closed, the node's record is
        released, and one event is written. Done before, it changes nothing.

        :raises FencedError: if the service has no right to write.
        :raises NotFoundError: if there is no such reservation.
        """

    @abc.abstractmethod
    def find(self, reservation_id: str) -> Reservation | None:
        """Return one reservation, or ``None`` if there is no such one."""

    @abc.abstractmethod
    def of_instance(self, instance_uuid: str) -> Reservation | None:
        """Return the open reservation of an instance, if it has one."""

    @abc.abstractmethod
    def reservations(
        self,
        *,
        host: str | None = None,
        states: Collection[ReservationState] = OPEN,
        limit: int | None = None,
        marker: str | None = None,
    ) -> Sequence[Reservation]:
        """Return reservations, oldest first.

        :param limit: how many at most.
        :param marker: id of the one after which the list begins.
        """

    @abc.abstractmethod
    def now(self) -> float:
        """Return the time of the database's clock, by which they expire."""
