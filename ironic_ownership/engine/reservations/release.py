"""Release of a reservation: free its node in Ironic, then close the record.

The release is recorded first, and other processes leave the reservation
alone: a late release could free a node that the same instance got since.
"""

from __future__ import annotations

import dataclasses
import time
import uuid as uuid_
from collections.abc import Callable
from typing import TypeVar

from oslo_log import log

from ironic_ownership.contracts import (
    allocations,
    exceptions,
)
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.ports import Reservations

LOG = log.getLogger(__name__)

T = TypeVar('T')

AllocationsOf = Callable[[], allocations.Allocations]

TAKE_OVER_AFTER = 60.0
"""Seconds without a change after which another process takes a reservation
over. Longer than any request to Ironic takes with its retries."""

WAIT = 10.0
"""Seconds to wait for a release that another process has begun."""

PAUSES = (0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts; after the last pause the error is raised."""

_POLL_INTERVAL = 0.1

DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


@dataclasses.dataclass
class Retry:
    """Retries idempotent calls to Ironic while it is unavailable."""

    pauses: tuple[float, ...] = PAUSES
    sleep: Callable[[float], None] = time.sleep

    def call(self, request: Callable[[], T]) -> T:
        """Return the first answer.

        :raises IronicUnavailableError: if there is none in time.
        """
        for pause in self.pauses:
            try:
                return request()
            except exceptions.IronicUnavailableError:
                self.sleep(pause)
        return request()


@dataclasses.dataclass
class Releaser:
    """Releases reservations.

    Threading: any thread, if ``allocations_of`` has clients for each thread.

    :param may_act: raises if the service may no longer act; called before
        each request to Ironic.
    """

    reservations: Reservations
    allocations_of: AllocationsOf
    retry: Retry = dataclasses.field(default_factory=Retry)
    may_act: Callable[[], object] = lambda: None

    def release(
        self,
        held: Reservation,
        detail: str,
        *,
        origin: Origin | None = None,
        epoch: int | None = None,
    ) -> Reservation:
        """Release a reservation, unless another process has changed it.

        :param held: as it was last read.
        :param origin: the client's request, if one wants the release.
        :param epoch: of its service, if the service itself releases it.
        :raises AllocationInUseError: if Ironic does not free the node; the
            reservation is unchanged then.
        :raises ReservationUnfinishedError: if Ironic does not answer.
        """
        try:
            begun = self.reservations.begin_deletion(
                held.id, detail, seen=held, epoch=epoch
            )
        except exceptions.ReservationConflictError:
            return self.reservations.find(held.id) or held
        if begun.state is CLOSED:
            return begun
        return self._finish(begun, detail, origin, epoch)

    def begin(
        self,
        request: Request,
        host: str,
    ) -> Reservation | None:
        """Record the release of an allocation that has no open reservation.

        :returns: ``None`` if the instance has an open reservation after all.
        """
        wanted = Reservation(
            id=str(uuid_.uuid4()),
            instance_uuid=request.instance_uuid,
            host=host,
            request=request,
            state=DELETING,
        )
        begun = self.reservations.begin(wanted)
        return begun if begun.id == wanted.id else None

    def wait(
        self, held: Reservation, *, origin: Origin | None = None
    ) -> Reservation:
        """Wait for the release by another process, or take it over.

        :returns: the reservation, closed or kept.
        :raises ReservationUnfinishedError: if that takes too long.
        """
        waited = 0.0
        while held.state is DELETING:
            if self.is_abandoned(held, self.reservations.now()):
                detail = held.detail or 'its deletion was left unfinished'
                held = self.release(held, detail, origin=origin)
            elif waited >= WAIT:
                raise exceptions.ReservationUnfinishedError(
                    held.id,
                    'another process is deleting it',
                    hint='Try again in a minute',
                )
            else:
                self.retry.sleep(_POLL_INTERVAL)
                waited += _POLL_INTERVAL
                held = self.reservations.find(held.id) or held
        return held

    @staticmethod
    def is_abandoned(
        held: Reservation,
        now: float,
        after: float = TAKE_OVER_AFTER,
    ) -> bool:
        """Tell whether no process works on a reservation any longer.

        :param now: seconds since the epoch, by the database's clock.
        """
        return now - (held.updated_at or 0.0) > after

    def _finish(
        self,
        begun: Reservation,
        detail: str,
        origin: Origin | None,
        epoch: int | None,
    ) -> Reservation:
        try:
            self._free(begun)
        except exceptions.AllocationInUseError as exc:
            kept = self.reservations.keep(begun.id, str(exc))
            if kept.state is not DELETING:
                raise
            raise self._unfinished(begun, exc) from exc
        except exceptions.IronicUnavailableError as exc:
            raise self._unfinished(begun, exc) from exc
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

    def _free(self, begun: Reservation) -> None:
        def delete() -> bool:
            self.may_act()
            return self.allocations_of().delete(begun.instance_uuid)

        try:
            self.retry.call(delete)
        except exceptions.AllocationConflictError as exc:
            # Ours is gone, and another client holds a node for the instance.
            LOG.warning('reservation %s: %s', begun.id, exc)

    def _unfinished(
        self, begun: Reservation, exc: Exception
    ) -> exceptions.ReservationUnfinishedError:
        return exceptions.ReservationUnfinishedError(
            begun.id,
            f'its node may not be free yet: {exc}',
            hint=f'Retry, or leave it to the next refresh of {begun.host}',
        )
