"""One attempt to reserve: from candidates to a reservation that is active.

An attempt that others were quicker than leaves nothing behind: what is on
record of it is closed, and Ironic holds nothing for it.
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
    reservation_request,
)
from ironic_ownership.contracts.reservations import (
    Reservation,
    Reservations,
    ReservationState,
)
from ironic_ownership.engine.reservations import (
    eligibility,
    free_node_cache,
    release,
)
from ironic_ownership.engine.reservations.candidates import (
    CandidateFinder,
    no_match,
)
from ironic_ownership.engine.reservations.retry import Retry

LOG = log.getLogger(__name__)

REGISTRATIONS = 3
"""How often a service may register anew while a node is recorded for it."""

SETTLING = 30.0
"""Seconds for which somebody waits for what another one asked Ironic."""

_LOOK_EVERY = 0.2

T = TypeVar('T')

PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING = ReservationState.DELETING

Request = reservation_request.Request


@dataclasses.dataclass(frozen=True)
class Ports:
    """What a reservation is made with.

    :param services: know which service may be given a node.
    :param method_of: returns by what nodes are reserved in this Ironic; see
        ``reserving_method``.
    :param allocations_of: what reserves by a method, for this thread.
    """

    services: eligibility.Services
    method_of: Callable[[str], allocations.Method]
    reservations: Reservations
    chooser: CandidateFinder
    nodes: free_node_cache.FreeNodeCache
    allocations_of: release.AllocationsOf


class Attempt:
    """Makes attempts.

    Threading: any thread, as far as its ports allow.
    """

    def __init__(
        self,
        ports: Ports,
        ending: release.Ending,
        retry: Retry,
    ) -> None:
        self._ports = ports
        self._reservations = ports.reservations
        self._ending = ending
        self._retry = retry

    def go(
        self, request: Request, actor: str, tried: set[str]
    ) -> Reservation | None:
        """Make one attempt.

        :param tried: uuids of nodes that could not be had; it grows.
        :returns: the active reservation; ``None`` if others were quicker.
        :raises OwnershipError: if it is no use to try again.
        """
        there = self._there(request)
        if there is not None and there.state is ACTIVE:
            return there
        fit = self._ports.services.find(request.service)
        if there is not None:
            allocation = self._left_by_another(there)
            if allocation is not None:
                return self._conclude(there, allocation, fit, actor, tried)
        candidates = self._candidates(request, fit, tried, there, actor)
        if not candidates:
            return None
        held = there or self._begin(request, fit)
        if held is None:
            return None
        allocation = self._allocate(held, candidates)
        known = {node.uuid: node for node in candidates}
        if allocation.state is allocations.AllocationState.ERROR:
            tried.update(known)
        elif there is None and allocation.node_uuid not in (None, *known):
            # Left in Ironic by a reservation that is closed: whether that
            # node fits, nobody knows.
            self._ending.end(held, 'another node was left over', actor=actor)
            return None
        return self._conclude(held, allocation, fit, actor, tried, known)

    def _there(self, request: Request) -> Reservation | None:
        """Return the open reservation of the instance, if it is the same."""
        there = self._reservations.of_instance(request.instance_uuid)
        if there is not None and there.state is DELETING:
            self._ending.wait(there)
            there = self._reservations.of_instance(request.instance_uuid)
        if there is not None and there.request != request:
            raise exceptions.ReservationConflictError(
                f'instance {request.instance_uuid} has the reservation '
                f'{there.id} already, and that asks for something else',
                hint='Repeat the request as it was, or delete it first: '
                f'ironic-ownership reservation delete {there.id}',
            )
        return there

    def _left_by_another(
        self, there: Reservation
    ) -> allocations.Allocation | None:
        """Return what Ironic has for a reservation that another one began.

        Waited for, because that one may be at work still.
        """
        waited = 0.0
        while True:
            held = self._asked(
                there,
                lambda: self._allocations(there).get(there.instance_uuid),
            )
            if held is None or held.state is allocations.AllocationState.ERROR:
                return None
            settled = held.state is allocations.AllocationState.ACTIVE
            if settled or waited >= SETTLING:
                return held
            self._retry.sleep(_LOOK_EVERY)
            waited += _LOOK_EVERY

    def _candidates(
        self,
        request: Request,
        fit: eligibility.Fit,
        tried: set[str],
        there: Reservation | None,
        actor: str,
    ) -> tuple[model.Node, ...]:
        choice = self._ports.chooser.choose(request, fit, tried)
        if choice.candidates:
            return choice.candidates
        if there is not None:
            self._ending.end(there, 'no free node fits', actor=actor)
        elif self._reservations.of_instance(request.instance_uuid):
            return ()  # the same request has taken the last one
        raise no_match(choice)

    def _begin(
        self, request: Request, fit: eligibility.Fit
    ) -> Reservation | None:
        wanted = Reservation(
            id=str(uuid_.uuid4()),
            instance_uuid=request.instance_uuid,
            host=request.service,
            request=request,
            method=self._ports.method_of(fit.fallback),
        )
        held = self._reservations.begin(wanted, lifetime=fit.lifetime)
        return held if held.id == wanted.id else None

    def _allocate(
        self, held: Reservation, candidates: Iterable[model.Node]
    ) -> allocations.Allocation:
        nodes = tuple(candidates)
        specs = held.request.specs()
        return self._asked(
            held,
            lambda: self._allocations(held).create(
                held.instance_uuid,
                resource_class=nodes[0].resource_class or '',
                candidates=[node.uuid for node in nodes],
                owner=held.host,
                traits=sorted({*held.request.traits, *specs.traits}),
            ),
        )

    def _asked(
        self,
        held: Reservation,
        ask: Callable[[], T],
    ) -> T:
        try:
            return self._retry.call(ask)
        except exceptions.IronicUnavailableError as exc:
            raise _unfinished(held, str(exc)) from exc
        except exceptions.AllocationConflictError:
            self._ending.end(held, 'Ironic holds another one')
            raise

    def _allocations(self, held: Reservation) -> allocations.Allocations:
        return self._ports.allocations_of(held.method)

    def _conclude(
        self,
        held: Reservation,
        allocation: allocations.Allocation,
        fit: eligibility.Fit,
        actor: str,
        tried: set[str],
        known: dict[str, model.Node] | None = None,
    ) -> Reservation | None:
        """Record what Ironic gave, or that it gave nothing."""
        if allocation.state is allocations.AllocationState.ALLOCATING:
            raise _unfinished(held, 'Ironic is still looking for a node')
        uuid = allocation.node_uuid
        node = (known or {}).get(uuid or '')
        if node is None and uuid is not None:
            node = self._ports.nodes.get(uuid)
        if node is None or uuid is None:
            LOG.info(
                'Ironic gave no node to instance %s: %s',
                held.instance_uuid,
                allocation.last_error,
            )
            self._ports.nodes.forget()
            self._ending.end(held, 'others were quicker', actor=actor)
            return None
        try:
            return self._activate(held, node, fit, actor)
        except exceptions.ReservationConflictError as exc:
            LOG.warning('reservation %s: %s', held.id, exc)
            tried.add(uuid)
            return self._settle(held, actor)

    def _activate(
        self,
        held: Reservation,
        node: model.Node,
        fit: eligibility.Fit,
        actor: str,
    ) -> Reservation:
        for _ in range(REGISTRATIONS):
            try:
                return self._reservations.activate(
                    held.id, node, epoch=fit.epoch, actor=actor
                )
            except (exceptions.FencedError, exceptions.ServiceRefusedError):
                try:
                    fit = self._ports.services.find(held.host, fresh=True)
                except exceptions.OwnershipError as exc:
                    self._ending.end(held, str(exc), actor=actor)
                    raise
        raise _unfinished(held, f'{held.host} registers all the time')

    def _settle(self, held: Reservation, actor: str) -> Reservation | None:
        """Leave nothing behind after the records refused the node."""
        now = self._reservations.find(held.id)
        if now is not None and now.state is ACTIVE:
            return now
        if now is not None and now.state is PENDING:
            self._ending.end(now, 'the records refused the node', actor=actor)
            return None
        # It was given up by somebody who may not have seen what Ironic did
        # for us since. Under a reservation of its own nobody else uses it.
        last = Reservation(
            id=str(uuid_.uuid4()),
            instance_uuid=held.instance_uuid,
            host=held.host,
            request=held.request,
            method=held.method,
            state=DELETING,
        )
        begun = self._reservations.begin(last)
        if begun.id == last.id:
            self._ending.end(begun, 'left over', actor=actor)
        return None


def _unfinished(
    held: Reservation, why: str
) -> exceptions.ReservationUnfinishedError:
    return exceptions.ReservationUnfinishedError(
        held.id,
        why,
        hint='Repeat the request: it goes on from here. Otherwise a refresh '
        f'of {held.host} settles it in a minute',
    )
