"""What makes, settles and ends reservations in one process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ironic_ownership.contracts.allocations import Allocations, Method
from ironic_ownership.contracts.inventory import Inventory
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.wiring import member_policies

if TYPE_CHECKING:
    from ironic_ownership.engine.conditions import Conditions
    from ironic_ownership.engine.membership.fence import Fence
    from ironic_ownership.engine.reservations import recovery, release
    from ironic_ownership.engine.reservations.reserver import Reserver
    from ironic_ownership.wiring import container


def reserver(
    wired: container.Wiring, request_id: str | None = None
) -> Reserver:
    """Build what reserves nodes, for any number of threads.

    :param request_id: sent to Ironic with each request.
    :raises OwnershipError: if database or Ironic can't be used.
    """
    from ironic_ownership.engine.reservations.reserver import build

    mine = threading.local()

    def source_of() -> Inventory:
        if not hasattr(mine, 'source'):
            with wired.opening:
                mine.source = wired.inventory_of(request_id)
        source: Inventory = mine.source
        return source

    reservations = wired.ready_reservations()
    return build(
        wired.records,
        reservations,
        wired.backend,
        member_policies.interpret,
        source_of,
        allocations_of(wired, request_id),
    )


def allocations_of(
    wired: container.Wiring, request_id: str | None = None
) -> release.AllocationsOf:
    """Return what gives each thread clients of its own."""
    from ironic_ownership.clients.ironic.allocation_factory import (
        open_allocations,
    )

    mine = threading.local()

    def opened_for(
        method: Method,
    ) -> Allocations:
        opened: dict[str, Allocations] = mine.__dict__
        if method.value not in opened:
            with wired.opening:
                opened[method.value] = open_allocations(
                    wired.conf, method, request_id=request_id
                )
        return opened[method.value]

    return opened_for


def recovery_of(
    wired: container.Wiring,
    fence: Fence,
    conditions: Conditions,
) -> recovery.Recovery:
    """Build what settles the reservations of the service."""
    from ironic_ownership.engine.reservations import (
        allocation_method,
        recovery,
        release,
    )

    clients = allocations_of(wired)
    return recovery.Recovery(
        wired.settings.host,
        recovery.Ports(
            wired.reservations,
            clients,
            wired.inventory_of(),
            lambda policies: allocation_method.method_for(policies, clients),
        ),
        release.Releaser(wired.reservations, clients, may_act=fence.epoch),
        fence,
        conditions,
    )


def check_method(
    wired: container.Wiring, policies: policy_set.PolicySet
) -> None:
    """Refuse policies by which nodes can't be reserved in this Ironic."""
    from ironic_ownership.engine.reservations import allocation_method

    allocation_method.method_for(policies, allocations_of(wired))
