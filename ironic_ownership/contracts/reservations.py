"""The port to the reservations on record.

A reservation is on record before the request to Ironic, so that a process
that finds one without the other can repair it.
"""

from __future__ import annotations

import dataclasses
import enum

from ironic_ownership.contracts import reservation_request


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
