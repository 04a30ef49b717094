"""Settle what reservations left half-way, in the refresh of their service.

In either direction: what Ironic gave is recorded, what it holds and nobody
wants is given back, and what it does not hold any more is closed on record.
Whoever may still be at work on a reservation is left alone.
"""

from __future__ import annotations

import dataclasses
import uuid as uuid_
from collections.abc import Callable, Mapping

from oslo_log import log

from ironic_ownership.contracts import (
    allocations,
    exceptions,
    inventory,
    model,
    reservation_request,
)
from ironic_ownership.contracts.reservations import (
    Reservation,
    Reservations,
    ReservationState,
)
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.reservations import release

LOG = log.getLogger(__name__)

MOST = 50
"""Reservations that one refresh settles: claims do not wait for the rest."""

PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED

_UNUSED = (None, 'available')
"""Provision states of a node on which nothing is deployed yet."""


@dataclasses.dataclass(frozen=True)
class Ports:
    """What a repair is made with.

    :param allocations_of: used by no other thread.
    :param method: by what a service of these policies has its nodes
        reserved; ``None`` if it has none.
    """

    reservations: Reservations
    allocations_of: release.AllocationsOf
    source: inventory.Inventory
    method: Callable[[policy_set.PolicySet], allocations.Method | None]


class Repair:
    """Settles the reservations of one service.

    Threading: the refresh thread only.

    :param patience: seconds without a change after which nobody is believed
        to be at work on a reservation any more.
    """

    def __init__(
        self,
        host: str,
        ports: Ports,
        ending: release.Ending,
        fence: Fence,
        conditions: Conditions,
        *,
        patience: float = release.TAKE_OVER_AFTER,
    ) -> None:
        self._host = host
        self._ports = ports
        self._reservations = ports.reservations
        self._ending = ending
        self._fence = fence
        self._conditions = conditions
        self._patience = patience

    def repair(self, seen: refresh_result.RefreshResult) -> None:
        """Settle what can be settled now.

        Never fails because of Ironic or a reservation: the next refresh
        tries again.

        :param seen: by this refresh.
        :raises FencedError: if this service may not act any more.
        """
        try:
            left = self._settle(seen)
        except exceptions.FencedError:
            raise
        except exceptions.OwnershipError as exc:
            self._conditions.report(
                'reservations', f'reservations are not settled: {exc}'
            )
            return
        if left:
            self._conditions.report('reservations', '; '.join(left))
        else:
            self._conditions.clear('reservations', 'reservations are settled')

    def _settle(self, seen: refresh_result.RefreshResult) -> list[str]:
        method = self._ports.method(seen.policies)
        # Before the records: what Ironic holds then was on record before.
        held = {} if method is None else self._held(method)
        mine = self._reservations.reservations(host=self._host)
        if not mine and not held:
            return []
        now = self._reservations.now()
        nodes = {node.uuid: node for node in seen.nodes}
        left: list[str] = []
        settled = 0
        for one in mine:
            in_ironic = held.pop(one.instance_uuid, None)
            if settled >= MOST:
                continue
            try:
                settled += self._settle_one(one, in_ironic, nodes, now)
            except exceptions.FencedError:
                raise
            except exceptions.OwnershipError as exc:
                left.append(f'reservation {one.id}: {exc}')
        for orphan in held.values():
            if settled < MOST and method is not None:
                settled += self._disown(orphan, method)
        return left

    def _held(
        self, method: allocations.Method
    ) -> dict[str, allocations.Allocation]:
        found = self._ports.allocations_of(method).mine(self._host)
        return {one.instance_uuid: one for one in found}

    def _settle_one(
        self,
        one: Reservation,
        in_ironic: allocations.Allocation | None,
        nodes: Mapping[str, model.Node],
        now: float,
    ) -> bool:
        """Settle one reservation.

        :returns: whether there was something to do.
        """
        self._fence.epoch()
        if one.state is ACTIVE:
            return self._check_active(one, in_ironic, nodes, now)
        if not self._ending.is_left_alone(one, now, self._patience):
            return False
        if one.state is DELETING:
            self._end(one, one.detail or 'its deletion was left unfinished')
            return True
        return self._finish_pending(one)

    def _finish_pending(self, one: Reservation) -> bool:
        """Record what Ironic gave; give up what it did not give."""
        found = self._get(one)
        if (
            found is not None
            and found.state is allocations.AllocationState.ALLOCATING
        ):
            return False
        node = None
        if found is not None and found.node_uuid is not None:
            node = self._ports.source.get(found.node_uuid)
        if node is None:
            self._end(one, 'its request was left unfinished')
            return True
        try:
            self._reservations.activate(
                one.id, node, epoch=self._fence.epoch()
            )
        except (
            exceptions.ReservationConflictError,
            exceptions.ServiceRefusedError,
        ) as exc:
            self._end(one, str(exc))
            return True
        LOG.info(
            'reservation %s of instance %s was left unfinished: Ironic gave '
            'the node %s, which is recorded now',
            one.id,
            one.instance_uuid,
            node.uuid,
        )
        return True

    def _check_active(
        self,
        one: Reservation,
        in_ironic: allocations.Allocation | None,
        nodes: Mapping[str, model.Node],
        now: float,
    ) -> bool:
        node = nodes.get(one.node_uuid or '')
        is_on_it = node is not None and node.instance_uuid == (
            one.instance_uuid
        )
        if not is_on_it and not self._is_held(one, in_ironic):
            self._end(one, 'Ironic does not hold its node any more')
            return True
        if one.confirmed:
            return False
        if is_on_it and node is not None and _is_used(node):
            self._reservations.confirm(one.id)
            return True
        if one.expires_at is None or one.expires_at > now:
            return False
        return self._expire(one)

    def _is_held(
        self,
        one: Reservation,
        in_ironic: allocations.Allocation | None,
    ) -> bool:
        """Tell whether Ironic holds the node, asking once more if not.

        What was listed may be older than the reservation.
        """
        found = in_ironic
        if found is None or found.node_uuid != one.node_uuid:
            found = self._get(one)
        return found is not None and found.node_uuid == one.node_uuid

    def _expire(self, one: Reservation) -> bool:
        node = self._ports.source.get(one.node_uuid or '')
        if node is not None and _is_used(node):
            self._reservations.confirm(one.id)
            return True
        self._end(one, 'expired: nobody confirmed it in time')
        return True

    def _get(self, one: Reservation) -> allocations.Allocation | None:
        source = self._ports.allocations_of(one.method)
        return source.get(one.instance_uuid)

    def _end(self, one: Reservation, detail: str) -> None:
        LOG.info('reservation %s is given up: %s', one.id, detail)
        self._ending.end(one, detail, epoch=self._fence.epoch())

    def _disown(
        self, orphan: allocations.Allocation, method: allocations.Method
    ) -> bool:
        """Give back what Ironic holds for us and nothing is on record of."""
        last = Reservation(
            id=str(uuid_.uuid4()),
            instance_uuid=orphan.instance_uuid,
            host=self._host,
            request=reservation_request.Request(
                orphan.instance_uuid, self._host
            ),
            method=method,
            state=DELETING,
        )
        self._fence.epoch()
        begun = self._reservations.begin(last)
        if begun.id != last.id:
            # Of another service by now, or begun a moment ago.
            return False
        LOG.warning(
            'Ironic holds the node %s for instance %s of this service, and '
            'nothing is on record of that: it is given back',
            orphan.node_uuid,
            orphan.instance_uuid,
        )
        self._end(begun, 'nothing was on record of it')
        return True


def _is_used(node: model.Node) -> bool:
    return node.provision_state not in _UNUSED
