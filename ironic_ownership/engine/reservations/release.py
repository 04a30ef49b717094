"""End a reservation: give its node back in Ironic, then close it on record.

Whoever ends one says so first, and everybody else keeps his hands off: what
is given back late could be the node that the same instance was given anew.
"""

from __future__ import annotations

from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import allocations, exceptions
from ironic_ownership.contracts.reservations import (
    Reservation,
    Reservations,
    ReservationState,
)
from ironic_ownership.engine.reservations.retry import Retry

LOG = log.getLogger(__name__)

AllocationsOf = Callable[[allocations.Method], allocations.Allocations]

TAKE_OVER_AFTER = 60.0
"""Seconds without a change after which whoever was at work on a reservation
is believed to be gone. Longer than anybody asks Ironic for one thing."""

WAIT = 10.0
"""Seconds that somebody waits for a deletion that another one has begun."""

_LOOK_EVERY = 0.1

DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


class Ending:
    """Ends reservations.

    Threading: any thread, if ``allocations_of`` gives each its own.

    :param allocations_of: what gives nodes back in Ironic, by the method by
        which they were reserved.
    :param may_act: raises if the service that ends its own reservations may
        not act any more; asked before each request to Ironic.
    """

    def __init__(
        self,
        reservations: Reservations,
        allocations_of: AllocationsOf,
        retry: Retry | None = None,
        *,
        may_act: Callable[[], object] = lambda: None,
    ) -> None:
        self._reservations = reservations
        self._allocations_of = allocations_of
        self._retry = retry or Retry()
        self._may_act = may_act

    def end(
        self,
        held: Reservation,
        detail: str,
        *,
        actor: str | None = None,
        epoch: int | None = None,
    ) -> Reservation:
        """End a reservation, unless somebody else changed it meanwhile.

        :param held: as it was read last.
        :param detail: why it ends.
        :param epoch: of its service, if that ends it itself.
        :returns: what is on record of it then.
        :raises AllocationInUseError: if Ironic does not give the node back;
            the reservation is then as it was.
        :raises ReservationUnfinishedError: if Ironic does not answer.
        """
        try:
            begun = self._reservations.begin_deletion(
                held.id, detail, seen=held, epoch=epoch
            )
        except exceptions.ReservationConflictError:
            return self._reservations.find(held.id) or held
        if begun.state is CLOSED:
            return begun
        return self._finish(begun, detail, actor, epoch)

    def wait(
        self, held: Reservation, *, actor: str | None = None
    ) -> Reservation:
        """Wait for the end that somebody else has begun, or take it over.

        :returns: the reservation, closed or kept after all.
        :raises ReservationUnfinishedError: if that takes too long.
        """
        waited = 0.0
        while held.state is DELETING:
            if self.is_left_alone(held, self._reservations.now()):
                detail = held.detail or 'its deletion was left unfinished'
                held = self.end(held, detail, actor=actor)
            elif waited >= WAIT:
                raise exceptions.ReservationUnfinishedError(
                    held.id,
                    'somebody else is about to delete it',
                    hint='Try again in a minute',
                )
            else:
                self._retry.sleep(_LOOK_EVERY)
                waited += _LOOK_EVERY
                held = self._reservations.find(held.id) or held
        return held

    @staticmethod
    def is_left_alone(
        held: Reservation,
        now: float,
        after: float = TAKE_OVER_AFTER,
    ) -> bool:
        """Tell whether nobody is at work on a reservation any more.

        :param now: seconds since the epoch, by the database's clock.
        """
        return now - (held.updated_at or 0.0) > after

    def _finish(
        self,
        begun: Reservation,
        detail: str,
        actor: str | None,
        epoch: int | None,
    ) -> Reservation:
        try:
            self._give_back(begun)
        except exceptions.AllocationInUseError as exc:
            kept = self._reservations.keep(begun.id, str(exc))
            if kept.state is not DELETING:
                raise
            raise self._unfinished(begun, exc) from exc
        except exceptions.IronicUnavailableError as exc:
            raise self._unfinished(begun, exc) from exc
        closed = self._reservations.close(
            begun.id, detail, epoch=epoch, actor=actor
        )
        LOG.info(
            'reservation %s of instance %s on node %s is closed: %s',
            closed.id,
            closed.instance_uuid,
            closed.node_uuid,
            detail,
        )
        return closed

    def _give_back(self, begun: Reservation) -> None:
        def delete() -> bool:
            self._may_act()
            held = self._allocations_of(begun.method)
            return held.delete(begun.instance_uuid)

        try:
            self._retry.call(delete)
        except exceptions.AllocationConflictError as exc:
            # Ours is gone, and somebody else holds a node for the instance.
            LOG.warning('reservation %s: %s', begun.id, exc)

    def _unfinished(
        self, begun: Reservation, exc: Exception
    ) -> exceptions.ReservationUnfinishedError:
        return exceptions.ReservationUnfinishedError(
            begun.id,
            f'its node may not be free yet: {exc}',
            hint=f'Repeat it, or leave it to the next refresh of {begun.host}',
        )
