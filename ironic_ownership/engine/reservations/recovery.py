"""Recovery of unfinished reservations, in the refresh of their service.

Reconciles in both directions: allocations of Ironic are recorded, leftover
ones are released, and reservations without an allocation are closed.
Reservations on which a process may still be working are left alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from oslo_log import log

from ironic_ownership.contracts import (
    allocations,
    exceptions,
    inventory,
    model,
)
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.reservations import release

LOG = log.getLogger(__name__)

MAX_PER_REFRESH = 50
"""Reservations that one refresh settles, so that claims do not wait."""

ACTIVE, DELETING = ReservationState.ACTIVE, ReservationState.DELETING

_UNUSED = (None, 'available')
"""Provision states of a node without a deployment."""


@dataclasses.dataclass
class Recovery:
    """Settles the reservations of one service.

    Threading: the refresh thread only.

    :param releaser: used by no other thread, nor are its ports.
    :param take_over_after: seconds without a change after which a
        reservation counts as abandoned.
    """

    host: str
    source: inventory.Inventory
    releaser: release.Releaser
    fence: Fence
    conditions: Conditions
    take_over_after: float = release.TAKE_OVER_AFTER

    def __post_init__(self) -> None:
        self._reservations = self.releaser.reservations
        self._allocations_of = self.releaser.allocations_of

    def recover(self, seen: refresh_result.RefreshResult) -> None:
        """Settle the reservations that can be settled now.

        Never fails because of Ironic or a reservation: the next refresh
        retries.

        :raises FencedError: if this service may no longer act.
        """
        try:
            errors = self._settle(seen)
        except exceptions.FencedError:
            raise
        except exceptions.OwnershipError as exc:
            self.conditions.report(
                'reservations',
                f'reservations cannot be settled: {exc}',
                exc,
            )
            return
        if errors:
            self.conditions.report('reservations', '; '.join(errors))
        else:
            self.conditions.clear('reservations', 'reservations are settled')
            self.conditions.succeeded(Loop.RESERVATIONS)

    def _settle(self, seen: refresh_result.RefreshResult) -> list[str]:
        # Read before the records: an allocation is recorded before it exists.
        held = self._held() if seen.policies.releases_free else {}
        mine = self._reservations.reservations(host=self.host)
        if not mine and not held:
            return []
        now = self._reservations.now()
        nodes = seen.nodes
        errors: list[str] = []
        settled = 0
        for one in mine:
            in_ironic = held.pop(one.instance_uuid, None)
            if settled >= MAX_PER_REFRESH:
                continue
            try:
                settled += self._settle_one(one, in_ironic, nodes, now)
            except exceptions.FencedError:
                raise
            except exceptions.OwnershipError as exc:
                errors.append(f'reservation {one.id}: {exc}')
        for orphan in held.values():
            if settled < MAX_PER_REFRESH:
                settled += self._release_orphan(orphan)
        return errors

    def _held(self) -> dict[str, allocations.Allocation]:
        found = self._allocations_of().mine(self.host)
        return {one.instance_uuid: one for one in found}

    def _settle_one(
        self,
        one: Reservation,
        in_ironic: allocations.Allocation | None,
        nodes: Mapping[str, model.Node],
        now: float,
    ) -> bool:
        self.fence.epoch()
        if one.state is ACTIVE:
            return self._check_active(one, in_ironic, nodes, now)
        if not self.releaser.is_abandoned(one, now, self.take_over_after):
            return False
        if one.state is DELETING:
            self._release(one, one.detail or 'its deletion was unfinished')
            return True
        return self._finish_pending(one)

    def _finish_pending(self, one: Reservation) -> bool:
        found = self._get(one)
        if (
            found is not None
            and found.state is allocations.AllocationState.ALLOCATING
        ):
            return False
        node = None
        if found is not None and found.node_uuid is not None:
            node = self.source.get(found.node_uuid)
        if node is None:
            self._release(one, 'its request was unfinished')
            return True
        try:
            self._reservations.activate(one.id, node, epoch=self.fence.epoch())
        except (
            exceptions.ReservationConflictError,
            exceptions.ServiceRefusedError,
        ) as exc:
            self._release(one, str(exc))
            return True
        LOG.info(
            'reservation %s of instance %s was unfinished: the node %s that '
            'Ironic allocated is recorded now',
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
            self._release(one, 'Ironic no longer holds its node')
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
        """Tell whether Ironic holds the node, with a new read if it does not.

        The list may be older than the reservation.
        """
        found = in_ironic
        if found is None or found.node_uuid != one.node_uuid:
            found = self._get(one)
        return found is not None and found.node_uuid == one.node_uuid

    def _expire(self, one: Reservation) -> bool:
        node = self.source.get(one.node_uuid or '')
        if node is not None and _is_used(node):
            self._reservations.confirm(one.id)
            return True
        self._release(one, 'expired: not confirmed in time')
        return True

    def _get(self, one: Reservation) -> allocations.Allocation | None:
        return self._allocations_of().get(one.instance_uuid)

    def _release(self, one: Reservation, detail: str) -> None:
        LOG.info('releasing reservation %s: %s', one.id, detail)
        self.releaser.release(one, detail, epoch=self.fence.epoch())

    def _release_orphan(self, orphan: allocations.Allocation) -> bool:
        request = Request(orphan.instance_uuid, self.host)
        self.fence.epoch()
        begun = self.releaser.begin(request, self.host)
        if begun is None:
            # Belongs to another service now, or was just begun.
            return False
        LOG.warning(
            'releasing the node %s, which Ironic holds for instance %s of '
            'this service without a record',
            orphan.node_uuid,
            orphan.instance_uuid,
        )
        self._release(begun, 'it was not on record')
        return True


def _is_used(node: model.Node) -> bool:
    return node.provision_state not in _UNUSED
