"""Reserver: record the intent, allocate in Ironic, record the result.

The intent is recorded before the allocation, and Ironic alone decides which of
two concurrent requests gets a node. So the next request for the same instance,
or the next refresh of the service, can finish an unfinished reservation.

Source: multiple-compute-hosts, "Proposed change".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.refusals import NoMatchError
from ironic_ownership.contracts.reservations import (
    METHOD,
    Allocation,
    AllocationState,
    Request,
    Reservation,
)
from ironic_ownership.contracts.texts import canonical_uuid
from ironic_ownership.engine.ports import Allocations
from ironic_ownership.engine.reservations import selection
from ironic_ownership.engine.reservations.candidates import CandidateFinder
from ironic_ownership.engine.reservations.eligibility import (
    EligibleService,
    ServiceReader,
)
from ironic_ownership.engine.reservations.lifecycle import (
    ACTIVE,
    CLOSED,
    DELETING,
    Lifecycle,
    new_id,
)

MAX_ATTEMPTS = 8
"""Attempts when other requests take the candidates first."""


@dataclasses.dataclass(frozen=True)
class Reserver:
    """Makes, confirms and deletes reservations, for any number of threads."""

    services: ServiceReader
    candidates: CandidateFinder
    lifecycle: Lifecycle

    def preview(self, request: Request) -> selection.Choice:
        """Return the candidates for a request, and change nothing.

        :raises ServiceRefusedError: if its service is not eligible.
        """
        service = self.services.find(request.service)
        return self.candidates.choose(request, service)

    def create(self, request: Request, *, origin: Origin) -> Reservation:
        """Reserve a node; idempotent for the same request.

        :raises NoMatchError: if no free node fits, with the counts.
        :raises ServiceRefusedError: if its service is not eligible.
        :raises ReservationConflictError: if the instance has a reservation
            for another request.
        :raises ReservationUnfinishedError: if Ironic does not finish in
            time; repeating the request continues.
        """
        attempts = Attempt(self, request, origin)
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
        stored, uuid = self.lifecycle.reservations, canonical_uuid(key) or key
        found = stored.find(uuid) or stored.of_instance(uuid)
        if found is None:
            raise unknown(key)
        return found

    def confirm(self, key: str) -> Reservation:
        """Record that a reservation is used, so that it does not expire.

        :raises NotFoundError: if it does not exist.
        :raises ReservationConflictError: if it is not active.
        """
        return self.lifecycle.reservations.confirm(self.find(key).id)

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
                held = self.lifecycle.await_release(held, origin)
            else:
                held = self.lifecycle.release(held, 'deleted', origin)
        raise exceptions.ReservationConflictError(
            f'reservation {held.id} keeps changing', hint='Try again'
        )


def unknown(key: str) -> exceptions.NotFoundError:
    """Return the error of a reservation that does not exist."""
    return exceptions.NotFoundError(
        f'there is no reservation {key}',
        hint='Use its id, or the uuid of its instance',
    )


MAX_REGISTRATIONS = 3
"""Registrations of a service that are tolerated while a node is recorded."""

SETTLING = 30.0
"""Seconds to wait for an allocation that another process requested."""

_POLL_INTERVAL = 0.2

T = TypeVar('T')


@dataclasses.dataclass
class Attempt:
    """Makes attempts for one request.

    :ivar tried: uuids of nodes that could not be reserved.
    """

    reserver: Reserver
    request: Request
    origin: Origin
    tried: set[str] = dataclasses.field(default_factory=set)

    def run(self) -> Reservation | None:
        """Make one attempt.

        :returns: the active reservation; ``None`` if other requests took the
            candidates first.
        :raises OwnershipError: if a retry would not help.
        """
        existing = self._existing()
        if existing is not None and existing.state is ACTIVE:
            return existing
        service = self.reserver.services.find(self.request.service)
        if existing is not None:
            allocation = self._started_elsewhere(existing)
            if allocation is not None:
                return self._conclude(existing, allocation, service, {})
        nodes = self._candidates(service, existing)
        if not nodes:
            return None
        held = existing or self._begin(service)
        if held is None:
            return None
        allocation = self._allocate(held, nodes)
        if allocation.state is AllocationState.ERROR:
            self.tried.update(nodes)
        elif existing is None and allocation.node_uuid not in (None, *nodes):
            # Left in Ironic by a closed reservation; that node was not
            # checked for this request.
            self._release(held, 'Ironic held another node')
            return None
        return self._conclude(held, allocation, service, nodes)

    def _existing(self) -> Reservation | None:
        instance = self.request.instance_uuid
        existing = self.reserver.lifecycle.reservations.of_instance(instance)
        if existing is not None and existing.state is DELETING:
            self.reserver.lifecycle.await_release(existing, self.origin)
            existing = self.reserver.lifecycle.reservations.of_instance(
                instance
            )
        if existing is not None and existing.request != self.request:
            raise exceptions.ReservationConflictError(
                f'instance {instance} already has a reservation for another '
                f'request: {existing.id}',
                hint='Repeat the original request, or delete the reservation: '
                f'ironic-ownership reservation delete {existing.id}',
            )
        return existing

    def _started_elsewhere(self, existing: Reservation) -> Allocation | None:
        """Return Ironic's allocation for another process's reservation."""
        # Waits for it, because that process may still be running.
        waited = 0.0
        while True:
            found = self._send(
                existing, lambda client: client.get(existing.instance_uuid)
            )
            if found is None or found.state is AllocationState.ERROR:
                return None
            if found.state is AllocationState.ACTIVE or waited >= SETTLING:
                return found
            self.reserver.lifecycle.sleep(_POLL_INTERVAL)
            waited += _POLL_INTERVAL

    def _candidates(
        self,
        service: EligibleService,
        existing: Reservation | None,
    ) -> dict[str, model.Node]:
        choice = self.reserver.candidates.choose(
            self.request, service, self.tried
        )
        if choice.candidates:
            return {node.uuid: node for node in choice.candidates}
        if existing is not None:
            self._release(existing, 'no free node fits')
        elif self.reserver.lifecycle.reservations.of_instance(
            self.request.instance_uuid
        ):
            return {}  # a repetition of this request took the last one
        raise self.reserver.candidates.without_conductors() or NoMatchError(
            choice.examined, choice.removed
        )

    def _begin(self, service: EligibleService) -> Reservation | None:
        wanted = Reservation(
            id=new_id(),
            instance_uuid=self.request.instance_uuid,
            host=self.request.service,
            request=self.request,
            creator=self.origin.actor,
        )
        held = self.reserver.lifecycle.reservations.begin(
            wanted, lifetime=service.lifetime
        )
        return held if held.id == wanted.id else None

    def _allocate(
        self, held: Reservation, nodes: Mapping[str, model.Node]
    ) -> Allocation:
        resource_class = next(iter(nodes.values())).resource_class or ''
        traits = {*held.request.traits, *held.request.specs().traits}
        return self._send(
            held,
            lambda client: client.create(
                held.instance_uuid,
                resource_class=resource_class,
                candidates=[*nodes],
                owner=held.host,
                traits=sorted(traits),
            ),
        )

    def _send(
        self, held: Reservation, request: Callable[[Allocations], T]
    ) -> T:
        try:
            return self.reserver.lifecycle.send(request)
        except exceptions.IronicUnavailableError as exc:
            gone = self.reserver.candidates.without_conductors()
            if gone is None:
                raise _unfinished(held, str(exc)) from exc
            self._release(held, str(gone))
            raise gone from exc
        except exceptions.AllocationConflictError:
            self._release(held, 'Ironic holds another allocation')
            raise

    def _release(self, held: Reservation, detail: str) -> None:
        self.reserver.lifecycle.release(held, detail, self.origin)

    def _conclude(
        self,
        held: Reservation,
        allocation: Allocation,
        service: EligibleService,
        known: Mapping[str, model.Node],
    ) -> Reservation | None:
        if allocation.state is AllocationState.ALLOCATING:
            raise _unfinished(held, 'Ironic is still allocating a node')
        uuid = allocation.node_uuid or ''
        for _ in range(MAX_REGISTRATIONS):
            try:
                made = self.reserver.lifecycle.conclude(
                    held,
                    allocation,
                    service.epoch,
                    self.origin,
                    known.get(uuid),
                )
            except (exceptions.FencedError, exceptions.ServiceRefusedError):
                try:
                    service = self.reserver.services.find(
                        held.host, fresh=True
                    )
                except exceptions.OwnershipError as exc:
                    self._release(held, str(exc))
                    raise
            else:
                if made is None:
                    self.tried.add(uuid)
                    self.reserver.candidates.invalidate()
                return made
        raise _unfinished(held, f'{held.host} keeps registering again')


def _unfinished(
    held: Reservation, why: str
) -> exceptions.ReservationUnfinishedError:
    return exceptions.ReservationUnfinishedError(
        held.id,
        why,
        hint='Repeat the request to continue. Otherwise a refresh of '
        f'{held.host} settles it in a minute',
    )
