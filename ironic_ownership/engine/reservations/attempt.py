"""One attempt to reserve a node: from candidates to an active reservation.

An attempt that loses its candidates to other requests is closed on record, and
Ironic holds nothing for it.
"""

from __future__ import annotations

import dataclasses
import uuid as uuid_
from collections.abc import Callable, Iterable
from typing import TypeVar

from oslo_log import log

from ironic_ownership.contracts import (
    allocations,
    exceptions,
    model,
)
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.ports import Reservations
from ironic_ownership.engine.reservations import (
    eligibility,
    free_node_cache,
    release,
)
from ironic_ownership.engine.reservations.candidates import (
    CandidateFinder,
    no_match,
)

LOG = log.getLogger(__name__)

MAX_REGISTRATIONS = 3
"""Registrations of a service that are tolerated while a node is recorded."""

SETTLING = 30.0
"""Seconds to wait for an allocation that another process requested."""

_POLL_INTERVAL = 0.2

T = TypeVar('T')

PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING = ReservationState.DELETING


@dataclasses.dataclass(frozen=True)
class Ports:
    """Ports of an attempt."""

    services: eligibility.ServiceReader
    reservations: Reservations
    candidates: CandidateFinder
    nodes: free_node_cache.FreeNodeCache
    allocations_of: release.AllocationsOf


@dataclasses.dataclass(frozen=True)
class Attempt:
    """Makes attempts.

    Threading: any thread, as far as its ports allow.
    """

    ports: Ports
    releaser: release.Releaser
    retry: release.Retry

    def run(
        self, request: Request, origin: Origin, tried: set[str]
    ) -> Reservation | None:
        """Make one attempt.

        :param tried: uuids of nodes that could not be reserved; extended.
        :returns: the active reservation; ``None`` if other requests took the
            candidates first.
        :raises OwnershipError: if a retry would not help.
        """
        existing = self._existing(request, origin)
        if existing is not None and existing.state is ACTIVE:
            return existing
        service = self.ports.services.find(request.service)
        if existing is not None:
            allocation = self._started_elsewhere(existing, origin)
            if allocation is not None:
                return self._conclude(
                    existing, allocation, service, origin, tried
                )
        candidates = self._candidates(
            request, service, tried, existing, origin
        )
        if not candidates:
            return None
        held = existing or self._begin(request, service, origin)
        if held is None:
            return None
        allocation = self._allocate(held, candidates, origin)
        known = {node.uuid: node for node in candidates}
        if allocation.state is allocations.AllocationState.ERROR:
            tried.update(known)
        elif existing is None and allocation.node_uuid not in (None, *known):
            # Left in Ironic by a closed reservation; that node was not
            # checked for this request.
            self.releaser.release(
                held, 'Ironic held another node', origin=origin
            )
            return None
        return self._conclude(held, allocation, service, origin, tried, known)

    def _existing(
        self, request: Request, origin: Origin
    ) -> Reservation | None:
        existing = self.ports.reservations.of_instance(request.instance_uuid)
        if existing is not None and existing.state is DELETING:
            self.releaser.wait(existing, origin=origin)
            existing = self.ports.reservations.of_instance(
                request.instance_uuid
            )
        if existing is not None and existing.request != request:
            raise exceptions.ReservationConflictError(
                f'instance {request.instance_uuid} already has a reservation '
                f'for another request: {existing.id}',
                hint='Repeat the original request, or delete the reservation: '
                f'ironic-ownership reservation delete {existing.id}',
            )
        return existing

    def _started_elsewhere(
        self, existing: Reservation, origin: Origin
    ) -> allocations.Allocation | None:
        """Return Ironic's allocation for another process's reservation.

        Waits for it, because that process may still be running.
        """
        waited = 0.0
        while True:
            held = self._call(
                existing,
                lambda client: client.get(existing.instance_uuid),
                origin,
            )
            if held is None or held.state is allocations.AllocationState.ERROR:
                return None
            settled = held.state is allocations.AllocationState.ACTIVE
            if settled or waited >= SETTLING:
                return held
            self.retry.sleep(_POLL_INTERVAL)
            waited += _POLL_INTERVAL

    def _candidates(
        self,
        request: Request,
        service: eligibility.EligibleService,
        tried: set[str],
        existing: Reservation | None,
        origin: Origin,
    ) -> tuple[model.Node, ...]:
        choice = self.ports.candidates.choose(request, service, tried)
        if choice.candidates:
            return choice.candidates
        if existing is not None:
            self.releaser.release(existing, 'no free node fits', origin=origin)
        elif self.ports.reservations.of_instance(request.instance_uuid):
            return ()  # a repetition of this request took the last one
        raise self.ports.nodes.without_conductors() or no_match(choice)

    def _begin(
        self,
        request: Request,
        service: eligibility.EligibleService,
        origin: Origin,
    ) -> Reservation | None:
        wanted = Reservation(
            id=str(uuid_.uuid4()),
            instance_uuid=request.instance_uuid,
            host=request.service,
            request=request,
            creator=origin.actor,
        )
        held = self.ports.reservations.begin(wanted, lifetime=service.lifetime)
        return held if held.id == wanted.id else None

    def _allocate(
        self,
        held: Reservation,
        candidates: Iterable[model.Node],
        origin: Origin,
    ) -> allocations.Allocation:
        nodes = tuple(candidates)
        specs = held.request.specs()
        return self._call(
            held,
            lambda client: client.create(
                held.instance_uuid,
                resource_class=nodes[0].resource_class or '',
                candidates=[node.uuid for node in nodes],
                owner=held.host,
                traits=sorted({*held.request.traits, *specs.traits}),
            ),
            origin,
        )

    def _call(
        self,
        held: Reservation,
        request: Callable[[allocations.Allocations], T],
        origin: Origin,
    ) -> T:
        try:
            return self.retry.call(
                lambda: request(self.ports.allocations_of())
            )
        except exceptions.IronicUnavailableError as exc:
            gone = self.ports.nodes.without_conductors()
            if gone is None:
                raise _unfinished(held, str(exc)) from exc
            self.releaser.release(held, str(gone), origin=origin)
            raise gone from exc
        except exceptions.AllocationConflictError:
            self.releaser.release(
                held, 'Ironic holds another allocation', origin=origin
            )
            raise

    def _conclude(
        self,
        held: Reservation,
        allocation: allocations.Allocation,
        service: eligibility.EligibleService,
        origin: Origin,
        tried: set[str],
        known: dict[str, model.Node] | None = None,
    ) -> Reservation | None:
        if allocation.state is allocations.AllocationState.ALLOCATING:
            raise _unfinished(held, 'Ironic is still allocating a node')
        uuid = allocation.node_uuid
        node = (known or {}).get(uuid or '')
        if node is None and uuid is not None:
            node = self.ports.nodes.get(uuid)
        if node is None or uuid is None:
            LOG.info(
                'Ironic allocated no node to instance %s: %s',
                held.instance_uuid,
                allocation.last_error,
            )
            self.ports.nodes.invalidate()
            self.releaser.release(
                held, 'other requests took the candidates first', origin=origin
            )
            return None
        try:
            return self._activate(held, node, service, origin)
        except exceptions.ReservationConflictError as exc:
            LOG.warning('reservation %s: %s', held.id, exc)
            tried.add(uuid)
            return self._settle(held, origin)

    def _activate(
        self,
        held: Reservation,
        node: model.Node,
        service: eligibility.EligibleService,
        origin: Origin,
    ) -> Reservation:
        for _ in range(MAX_REGISTRATIONS):
            try:
                return self.ports.reservations.activate(
                    held.id, node, epoch=service.epoch, origin=origin
                )
            except (exceptions.FencedError, exceptions.ServiceRefusedError):
                try:
                    service = self.ports.services.find(held.host, fresh=True)
                except exceptions.OwnershipError as exc:
                    self.releaser.release(held, str(exc), origin=origin)
                    raise
        raise _unfinished(held, f'{held.host} keeps registering again')

    def _settle(self, held: Reservation, origin: Origin) -> Reservation | None:
        now = self.ports.reservations.find(held.id)
        if now is not None and now.state is ACTIVE:
            return now
        if now is not None and now.state is PENDING:
            self.releaser.release(
                now, 'the records refused the node', origin=origin
            )
            return None
        # Another process released it and may have missed our allocation. A
        # reservation for the release alone protects the allocation from use.
        begun = self.releaser.begin(held.request, held.host)
        if begun is not None:
            self.releaser.release(begun, 'leftover allocation', origin=origin)
        return None


def _unfinished(
    held: Reservation, why: str
) -> exceptions.ReservationUnfinishedError:
    return exceptions.ReservationUnfinishedError(
        held.id,
        why,
        hint='Repeat the request to continue. Otherwise a refresh of '
        f'{held.host} settles it in a minute',
    )
