"""What makes, settles and ends reservations in one process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ironic_ownership.contracts import allocations as allocations_
from ironic_ownership.contracts import inventory as inventory_
from ironic_ownership.engine.deciding import policy_set
from ironic_ownership.wiring import interpretation

if TYPE_CHECKING:
    from ironic_ownership.engine import notices
    from ironic_ownership.engine.members import fence
    from ironic_ownership.engine.reservations import (
        reservation_end,
        reservation_repair,
        reserving,
    )
    from ironic_ownership.wiring import process


def reserver(
    wired: process.Wiring, request_id: str | None = None
) -> reserving.Reserver:
    """Build what reserves nodes, for any number of threads.

    :param request_id: sent to Ironic with each request.
    :raises OwnershipError: if database or Ironic can't be used.
    """
    from ironic_ownership.engine.reservations import reserving

    mine = threading.local()

    def source_of() -> inventory_.Inventory:
        if not hasattr(mine, 'source'):
            with wired.opening:
                mine.source = wired.inventory_of(request_id)
        source: inventory_.Inventory = mine.source
        return source

    reservations = wired.ready_reservations()
    return reserving.build(
        wired.records,
        reservations,
        wired.backend,
        interpretation.interpret,
        source_of,
        allocations_of(wired, request_id),
    )


def allocations_of(
    wired: process.Wiring, request_id: str | None = None
) -> reservation_end.AllocationsOf:
    """Return what gives each thread clients of its own."""
    from ironic_ownership.clients import reserving as clients

    mine = threading.local()

    def opened_for(
        method: allocations_.Method,
    ) -> allocations_.Allocations:
        opened: dict[str, allocations_.Allocations] = mine.__dict__
        if method.value not in opened:
            with wired.opening:
                opened[method.value] = clients.open_allocations(
                    wired.conf, method, request_id=request_id
                )
        return opened[method.value]

    return opened_for


def repair(
    wired: process.Wiring,
    fence_: fence.Fence,
    notices_: notices.Notices,
) -> reservation_repair.Repair:
    """Build what settles the reservations of the service."""
    from ironic_ownership.engine.reservations import (
        reservation_end,
        reservation_repair,
        reserving_method,
    )

    clients = allocations_of(wired)
    return reservation_repair.Repair(
        wired.settings.host,
        reservation_repair.Ports(
            wired.reservations,
            clients,
            wired.inventory_of(),
            lambda policies: reserving_method.method_under(policies, clients),
        ),
        reservation_end.Ending(
            wired.reservations, clients, may_act=fence_.epoch
        ),
        fence_,
        notices_,
    )


def check_method(
    wired: process.Wiring, policies: policy_set.PolicySet
) -> None:
    """Refuse policies by which nodes can't be reserved in this Ironic."""
    from ironic_ownership.engine.reservations import reserving_method

    reserving_method.method_under(policies, allocations_of(wired))
