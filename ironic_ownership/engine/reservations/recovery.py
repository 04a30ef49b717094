"""Recovery of unfinished reservations, in the refresh of their service.

Reconciles in both directions: allocations of Ironic are recorded, leftover
ones are released, and reservations without an allocation are closed.
Reservations on which a process may still be working are left alone.
"""

from __future__ import annotations

import dataclasses

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.reservations import (
    Allocation,
    AllocationState,
    Request,
    Reservation,
)
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.reservations.lifecycle import (
    ACTIVE,
    CLOSED,
    DELETING,
    TAKE_OVER_AFTER,
    Lifecycle,
    is_abandoned,
)

LOG = log.getLogger(__name__)

MAX_PER_REFRESH = 50
"""Reservations that one refresh settles, so that claims do not wait."""

MAX_OUTAGES = 3
"""Reservations of one refresh for which Ironic does not answer: each request
is repeated for seconds, and claims wait. The next refresh tries the others."""

_OUTAGES = (
    exceptions.IronicUnavailableError,
    exceptions.ReservationUnfinishedError,
)

_REPORTED = 3
"""Errors that the condition names."""

_UNUSED = (None, 'available')
"""Provision states of a node without a deployment."""


@dataclasses.dataclass
class Recovery:
    """Settles the reservations of one service.

    Threading: the refresh thread only.
    """

    host: str
    lifecycle: Lifecycle
    fence: Fence
    conditions: Conditions

    def __post_init__(self) -> None:
        # From the future, because the database's clock was set back: since
        # when they are known, by the own clock.
        self._ahead: dict[tuple[str, float | None], float] = {}

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
                'reservations', f'reservations cannot be settled: {exc}', exc
            )
            return
        if errors:
            # Stored in a column of the records, which is of limited size.
            more = len(errors) - _REPORTED
            shown = errors[:_REPORTED] + (
                [f'and {more} more'] if more > 0 else []
            )
            self.conditions.report('reservations', '; '.join(shown))
        else:
            self.conditions.clear('reservations', 'reservations are settled')
            self.conditions.succeeded(Loop.RESERVATIONS)

    def _settle(self, seen: refresh_result.RefreshResult) -> list[str]:
        # Read before the records: an allocation is recorded before it exists.
        held: dict[str, Allocation] = {}
        if seen.policies.releases_free:
            found = self.lifecycle.allocations_of().mine(self.host)
            held = {one.instance_uuid: one for one in found}
        mine = self.lifecycle.reservations.reservations(host=self.host)
        if not mine and not held:
            return []
        now = self.lifecycle.reservations.now()
        self._ahead = {
            key: self._ahead.get(key, self.conditions.clock())
            for one in mine
            if (one.updated_at or 0.0) > now
            for key in [(one.id, one.updated_at)]
        }
        errors: list[str] = []
        settled = outages = 0
        # A release that failed has changed its reservation, so it comes last.
        for one in sorted(mine, key=lambda one: one.updated_at or 0.0):
            in_ironic = held.pop(one.instance_uuid, None)
            if settled >= MAX_PER_REFRESH or outages >= MAX_OUTAGES:
                continue
            try:
                settled += self._settle_one(one, in_ironic, seen, now)
            except exceptions.FencedError:
                raise
            except exceptions.OwnershipError as exc:
                outages += isinstance(exc, _OUTAGES)
                errors.append(f'reservation {one.id}: {exc}')
        for orphan in held.values():
            if settled < MAX_PER_REFRESH and outages < MAX_OUTAGES:
                settled += self._release_orphan(orphan)
        return errors

    def _settle_one(
        self,
        one: Reservation,
        in_ironic: Allocation | None,
        seen: refresh_result.RefreshResult,
        now: float,
    ) -> bool:
        self.fence.epoch()
        if one.state is ACTIVE:
            node = seen.nodes.get(one.node_uuid or '')
            return self._check_active(one, in_ironic, node, now)
        return self._is_abandoned(one, now) and self._finish(one)

    def _is_abandoned(self, one: Reservation, now: float) -> bool:
        since = self._ahead.get((one.id, one.updated_at))
        if since is None:
            return is_abandoned(one, now)
        return self.conditions.clock() - since > TAKE_OVER_AFTER

    def _finish(self, one: Reservation) -> bool:
        if one.state is DELETING:
            return self._release(
                one, one.detail or 'its deletion was unfinished'
            )
        found = self._get(one)
        if found is not None and found.state is AllocationState.ALLOCATING:
            return False
        try:
            made = self.lifecycle.conclude(one, found, self.fence.epoch())
        except exceptions.ServiceRefusedError as exc:
            return self._release(one, str(exc))
        if made is not None:
            LOG.info(
                'reservation %s of instance %s was unfinished: the node %s '
                'that Ironic allocated is recorded now',
                *(one.id, one.instance_uuid, made.node_uuid),
            )
        return True

    def _check_active(
        self,
        one: Reservation,
        in_ironic: Allocation | None,
        node: model.Node | None,
        now: float,
    ) -> bool:
        is_on_it = node is not None and node.instance_uuid == (
            one.instance_uuid
        )
        if not is_on_it and not self._is_held(one, in_ironic):
            return self._release(one, 'Ironic no longer holds its node')
        if one.confirmed:
            return False
        used = is_on_it and _is_used(node)
        expired = one.expires_at is not None and one.expires_at <= now
        if expired and not used:
            # The list of nodes may be older than a deployment.
            used = _is_used(
                self.lifecycle.ironic_of().get(one.node_uuid or '')
            )
        if used:
            self.lifecycle.reservations.confirm(one.id)
            return True
        return expired and self._release(one, 'expired: not confirmed in time')

    def _is_held(self, one: Reservation, in_ironic: Allocation | None) -> bool:
        """Tell whether Ironic holds the node; look it up if it does not."""
        found = in_ironic
        # The list may be older than the reservation.
        if found is None or found.node_uuid != one.node_uuid:
            found = self._get(one)
        return found is not None and found.node_uuid == one.node_uuid

    def _get(self, one: Reservation) -> Allocation | None:
        return self.lifecycle.allocations_of().get(one.instance_uuid)

    def _release(self, one: Reservation, detail: str) -> bool:
        # Another service may reserve the node as soon as that is written.
        with self.fence.releasing(filter(None, [one.node_uuid])):
            # A pause may hold it, or another process has changed it.
            return self.lifecycle.release(one, detail).state is CLOSED

    def _release_orphan(self, orphan: Allocation) -> bool:
        # Otherwise it belongs to another service now, or was just begun.
        released = self.lifecycle.release_allocation(
            Request(orphan.instance_uuid, self.host),
            self.host,
            'it was not on record',
        )
        if released:
            LOG.warning(
                'released the node %s, which Ironic held for instance %s of '
                'this service without a record',
                orphan.node_uuid,
                orphan.instance_uuid,
            )
        return released


def _is_used(node: model.Node | None) -> bool:
    return node is not None and node.provision_state not in _UNUSED
