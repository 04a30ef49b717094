"""Lifecycle of a reservation: the transitions in Ironic and on record.

A client's request and the recovery by a service make the same ones::

    pending --activate--> active <---keep---.
       '----------------------'--release--> deleting --> closed
"""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable
from typing import TypeVar

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reservations import (
    Allocation,
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.ports import Allocations, BareMetal, Reservations

LOG = log.getLogger(__name__)

T = TypeVar('T')

TAKE_OVER_AFTER = 60.0
"""Seconds without a change after which another process takes a reservation
over. Longer than any request to Ironic takes with its retries."""

WAIT = 10.0
"""Seconds to wait for a release that another process has begun."""

PAUSES = (0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts; after the last pause the error is raised."""

_POLL_INTERVAL = 0.1

PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


@dataclasses.dataclass
class Lifecycle:
    """Makes the transitions of reservations.

    Threading: any thread, if each thread has its own clients.

    :param ironic_of: returns the client of the thread.
    :param allocations_of: returns the client of the thread.
    :param epoch: of the service that acts; raises if it may no longer act.
        It is called before each request to Ironic. ``None`` for a client.
    """

    reservations: Reservations
    ironic_of: Callable[[], BareMetal]
    allocations_of: Callable[[], Allocations]
    epoch: Callable[[], int | None] = lambda: None
    sleep: Callable[[float], None] = time.sleep

    def send(self, request: Callable[[Allocations], T]) -> T:
        """Send an idempotent request, again while Ironic is unavailable.

        :raises IronicUnavailableError: if there is no answer in time.
        """
        for pause in PAUSES:
            self.epoch()
            try:
                return request(self.allocations_of())
            except exceptions.IronicUnavailableError:
                self.sleep(pause)
        self.epoch()
        return request(self.allocations_of())

    def conclude(
        self,
        held: Reservation,
        allocation: Allocation | None,
        epoch: int,
        origin: Origin | None = None,
        node: model.Node | None = None,
    ) -> Reservation | None:
        """Record the node that Ironic allocated; without one, release.

        :param held: a pending reservation.
        :param epoch: of its service.
        :param node: the allocated one, if it is known.
        :returns: the active reservation; ``None`` if it is released.
        :raises FencedError: if that is not the service's epoch any more.
        :raises ServiceRefusedError: if the service is disabled.
        """
        found = allocation if node is None else None
        # Another client may have made it since.
        if found and found.owner == held.host and found.node_uuid:
            node = self.ironic_of().get(found.node_uuid)
        if node is None:
            why = (allocation and allocation.last_error) or ''
            LOG.info('instance %s gets no node: %s', held.instance_uuid, why)
            self.release(held, 'Ironic allocated no node', origin)
            return None
        try:
            return self.reservations.activate(
                held.id, node, epoch=epoch, origin=origin
            )
        except exceptions.ReservationConflictError as exc:
            LOG.warning('reservation %s: %s', held.id, exc)
            why = str(exc)
        now = self.reservations.find(held.id)
        if now is not None and now.state is ACTIVE:
            return now
        if now is not None and now.state is PENDING:
            self.release(now, why, origin)
        else:
            # Another process released it and may have missed our allocation.
            self.release_allocation(held.request, held.host, why, origin)
        return None

    def release(
        self, held: Reservation, detail: str, origin: Origin | None = None
    ) -> Reservation:
        """Release a reservation, unless another process has changed it.

        :param held: as it was last read.
        :param origin: the client's request, if one wants the release.
        :raises AllocationInUseError: if Ironic does not free the node; the
            reservation is unchanged then.
        :raises ReservationUnfinishedError: if Ironic does not answer.
        """
        epoch = self.epoch()
        try:
            # Recorded first, so that no other process releases it late: that
            # could free a node that the same instance got since.
            begun = self.reservations.begin_deletion(
                held.id, detail, seen=held, epoch=epoch
            )
        except exceptions.ReservationConflictError:
            return self.reservations.find(held.id) or held
        if begun.state is CLOSED:
            return begun
        try:
            self.send(lambda client: client.delete(begun.instance_uuid))
        except exceptions.AllocationConflictError as exc:
            # Ours is gone, and another client holds a node for the instance.
            LOG.warning('reservation %s: %s', begun.id, exc)
        except exceptions.AllocationInUseError as exc:
            kept = self.reservations.keep(begun.id, str(exc))
            if kept.state is not DELETING:
                raise
            raise _not_free(begun, exc) from exc
        except exceptions.IronicUnavailableError as exc:
            raise _not_free(begun, exc) from exc
        closed = self.reservations.close(
            begun.id, detail, epoch=epoch, origin=origin
        )
        LOG.info(
            'reservation %s of instance %s on node %s is closed: %s',
            closed.id,
            closed.instance_uuid,
            closed.node_uuid,
            detail,
        )
        return closed

    def release_allocation(
        self,
        request: Request,
        host: str,
        detail: str,
        origin: Origin | None = None,
    ) -> bool:
        """Release an allocation that has no open reservation.

        :returns: ``False`` if the instance has an open one after all.
        """
        wanted = Reservation(
            new_id(), request.instance_uuid, host, request, state=DELETING
        )
        self.epoch()
        # For the release alone: it protects the allocation from use meanwhile.
        begun = self.reservations.begin(wanted)
        if begun.id != wanted.id:
            return False
        self.release(begun, detail, origin)
        return True

    def await_release(
        self, held: Reservation, origin: Origin | None = None
    ) -> Reservation:
        """Wait for the release by another process, or take it over.

        :returns: the reservation, closed or kept.
        :raises ReservationUnfinishedError: if that takes too long.
        """
        waited = 0.0
        while held.state is DELETING:
            if is_abandoned(held, self.reservations.now()):
                detail = held.detail or 'its deletion was left unfinished'
                held = self.release(held, detail, origin)
            elif waited >= WAIT:
                raise exceptions.ReservationUnfinishedError(
                    held.id,
                    'another process is deleting it',
                    hint='Try again in a minute',
                )
            else:
                self.sleep(_POLL_INTERVAL)
                waited += _POLL_INTERVAL
                held = self.reservations.find(held.id) or held
        return held


def new_id() -> str:
    """Return the id of a new reservation."""
    return str(uuid.uuid4())


def is_abandoned(held: Reservation, now: float) -> bool:
    """Tell whether no process works on a reservation any longer.

    :param now: seconds since the epoch, by the database's clock.
    """
    return now - (held.updated_at or 0.0) > TAKE_OVER_AFTER


def _not_free(
    begun: Reservation, exc: Exception
) -> exceptions.ReservationUnfinishedError:
    return exceptions.ReservationUnfinishedError(
        begun.id,
        f'its node may not be free yet: {exc}',
        hint=f'Retry, or leave it to the next refresh of {begun.host}',
    )
