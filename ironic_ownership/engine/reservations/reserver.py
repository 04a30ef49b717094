"""Reserver: record the intent, allocate in Ironic, record the result.

The intent is recorded before the allocation, and Ironic alone decides which of
two concurrent requests gets a node. So the next request for the same instance,
or the next refresh of the service, can finish an unfinished reservation.

Source: multiple-compute-hosts, "Proposed change".
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ironic_ownership.contracts import bare_metal, exceptions
from ironic_ownership.contracts.allocations import Allocations
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reservations import (
    METHOD,
    Request,
    Reservation,
)
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.ports import Records, Reservations
from ironic_ownership.engine.reservations import (
    attempt,
    candidates,
    eligibility,
    selection,
)
from ironic_ownership.engine.reservations.lifecycle import (
    CLOSED,
    DELETING,
    Lifecycle,
)

MAX_ATTEMPTS = 8
"""Attempts when other requests take the candidates first."""


class Reserver:
    """Makes, confirms and deletes reservations, for any number of threads.

    :param ironic_of: returns the client of the thread.
    :param allocations_of: returns the client of the thread.
    """

    def __init__(
        self,
        records: Records,
        reservations: Reservations,
        backend: MembershipBackend,
        interpret: policy_set.Interpreter,
        ironic_of: Callable[[], bare_metal.BareMetal],
        allocations_of: Callable[[], Allocations],
        *,
        clock: fence.Clock = fence.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._reservations = reservations
        self._lifecycle = Lifecycle(
            reservations, ironic_of, allocations_of, sleep=sleep
        )
        self._services = eligibility.ServiceReader(
            records, backend, interpret, clock
        )
        self._candidates = candidates.CandidateFinder(
            records, ironic_of, clock
        )

    def preview(self, request: Request) -> selection.Choice:
        """Return the candidates for a request, and change nothing.

        :raises ServiceRefusedError: if its service is not eligible.
        """
        service = self._services.find(request.service)
        return self._candidates.choose(request, service)

    def create(self, request: Request, *, origin: Origin) -> Reservation:
        """Reserve a node; idempotent for the same request.

        :raises NoMatchError: if no free node fits, with the counts.
        :raises ServiceRefusedError: if its service is not eligible.
        :raises ReservationConflictError: if the instance has a reservation
            for another request.
        :raises ReservationUnfinishedError: if Ironic does not finish in
            time; repeating the request continues.
        """
        attempts = attempt.Attempt(
            *(self._services, self._candidates, self._lifecycle),
            *(request, origin),
        )
        for _ in range(MAX_ATTEMPTS):
            made = attempts.run()
            if made is not None:
                return made
        raise exceptions.ReservationConflictError(
            f'other requests took the candidates first, {MAX_ATTEMPTS} times: '
            f'no node is reserved for instance {request.instance_uuid}',
            hint='Try again',
        )

    def find(self, key: str) -> Reservation:
        """Return a reservation by its id, or an open one by its instance.

        :raises NotFoundError: if there is neither.
        """
        found = self._reservations.find(key)
        found = found or self._reservations.of_instance(key)
        if found is None:
            raise unknown(key)
        return found

    def confirm(self, key: str) -> Reservation:
        """Record that a reservation is used, so that it does not expire.

        :raises NotFoundError: if it does not exist.
        :raises ReservationConflictError: if it is not active.
        """
        return self._reservations.confirm(self.find(key).id)

    def delete(self, key: str, *, origin: Origin) -> Reservation:
        """Release the node; idempotent.

        :raises NotFoundError: if it does not exist.
        :raises AllocationInUseError: if Ironic does not free it.
        :raises ReservationUnfinishedError: if Ironic does not answer.
        """
        held = self.find(key)
        if held.method != METHOD and held.state is not CLOSED:
            raise exceptions.AllocationInUseError(
                f'reservation {held.id} was made by an earlier release, '
                f'without an allocation of the node {held.node_uuid}',
                hint='Undeploy the node: the reservation ends with that',
            )
        for _ in range(MAX_ATTEMPTS):
            if held.state is CLOSED:
                return held
            if held.state is DELETING:
                held = self._lifecycle.await_release(held, origin)
            else:
                held = self._lifecycle.release(held, 'deleted', origin)
        raise exceptions.ReservationConflictError(
            f'reservation {held.id} keeps changing', hint='Try again'
        )


def unknown(key: str) -> exceptions.NotFoundError:
    """Return the error of a reservation that does not exist."""
    return exceptions.NotFoundError(
        f'there is no reservation {key}',
        hint='Use its id, or the uuid of its instance',
    )
