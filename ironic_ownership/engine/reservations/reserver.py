"""Reserve a node for an instance: record, ask Ironic, record what came of it.

The intent is on record before Ironic is asked, and Ironic alone says which
of two that ask at once gets a node. So whoever finds a reservation that was
left half-way, the next request for the same instance or the owner's next
refresh, can tell what was meant and what has come of it.

Source: multiple-compute-hosts, "Proposed change".
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.contracts import (
    exceptions,
    inventory,
    reservation_request,
)
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Records
from ironic_ownership.contracts.reservations import (
    Reservation,
    Reservations,
    ReservationState,
)
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.reservations import (
    allocation_method,
    attempt,
    candidates,
    eligibility,
    free_node_cache,
    release,
    selection,
)
from ironic_ownership.engine.reservations.retry import Retry

ROUNDS = 8
"""How often candidates are chosen anew when others were quicker."""

DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


def build(
    records: Records,
    reservations: Reservations,
    backend: MembershipBackend,
    interpret: policy_set.Interpreter,
    source_of: Callable[[], inventory.Inventory],
    allocations_of: release.AllocationsOf,
) -> Reserver:
    """Build what reserves nodes in one process.

    :param interpret: reads the settings that members advertise.
    :param source_of: gives each thread a source of its own.
    :param allocations_of: what reserves by a method, for the thread that
        asks for it.
    """
    nodes = free_node_cache.FreeNodeCache(source_of)
    return Reserver(
        attempt.Ports(
            eligibility.Services(records, backend, interpret),
            allocation_method.Methods(allocations_of).of,
            reservations,
            candidates.CandidateFinder(records, nodes),
            nodes,
            allocations_of,
        )
    )


class Reserver:
    """Makes, confirms and deletes reservations.

    Threading: any thread, as far as its ports allow.
    """

    def __init__(
        self,
        ports: attempt.Ports,
        retry: Retry | None = None,
    ) -> None:
        retry = retry or Retry()
        self._ports = ports
        self._reservations = ports.reservations
        self._ending = release.Ending(
            ports.reservations, ports.allocations_of, retry
        )
        self._round = attempt.Attempt(ports, self._ending, retry)

    def preview(
        self, request: reservation_request.Request
    ) -> selection.Choice:
        """Return the candidates for a request, and change nothing.

        :raises ServiceRefusedError: if its service can't be given a node.
        """
        fit = self._ports.services.find(request.service)
        self._ports.method_of(fit.fallback)
        return self._ports.chooser.choose(request, fit)

    def create(
        self, request: reservation_request.Request, *, actor: str
    ) -> Reservation:
        """Reserve a node; the same request again gives the same answer.

        :param actor: who asks for it.
        :returns: the reservation, which is active.
        :raises NoMatchError: if no free node fits, with the counts.
        :raises ServiceRefusedError: if its service can't be given a node.
        :raises ReservationConflictError: if the instance has a reservation
            for something else.
        :raises ReservationUnfinishedError: if Ironic does not come to an
            end; the same request again goes on from there.
        """
        tried: set[str] = set()
        for _ in range(ROUNDS):
            made = self._round.go(request, actor, tried)
            if made is not None:
                return made
        raise exceptions.ReservationConflictError(
            f'others were quicker {ROUNDS} times: nothing is reserved for '
            f'instance {request.instance_uuid}',
            hint='Try again',
        )

    def find(self, key: str) -> Reservation:
        """Return a reservation by its id, or an open one by its instance.

        :raises NotFoundError: if there is neither.
        """
        found = self._reservations.find(key)
        found = found or self._reservations.of_instance(key)
        if found is None:
            raise exceptions.NotFoundError(
                f'there is no reservation {key}',
                hint='Name it by its id, or by the uuid of its instance',
            )
        return found

    def confirm(self, key: str) -> Reservation:
        """Record that a reservation is used, so that it does not expire.

        :raises NotFoundError: if there is no such one.
        :raises ReservationConflictError: if it is not active.
        """
        return self._reservations.confirm(self.find(key).id)

    def delete(
        self, key: str, *, actor: str, detail: str = 'deleted'
    ) -> Reservation:
        """Give the node back; done before, it changes nothing.

        :param actor: who asks for it.
        :returns: the reservation, which is closed.
        :raises NotFoundError: if there is no such one.
        :raises AllocationInUseError: if Ironic does not give it back.
        :raises ReservationUnfinishedError: if Ironic does not answer.
        """
        held = self.find(key)
        for _ in range(ROUNDS):
            if held.state is CLOSED:
                return held
            if held.state is DELETING:
                held = self._ending.wait(held, actor=actor)
            else:
                held = self._ending.end(held, detail, actor=actor)
        raise exceptions.ReservationConflictError(
            f'reservation {held.id} changes all the time', hint='Try again'
        )
