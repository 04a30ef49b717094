"""Container of reservations: reserver, recovery and allocations."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ironic_ownership.contracts.allocations import Allocations
from ironic_ownership.contracts.inventory import Inventory
from ironic_ownership.wiring.container import Container

if TYPE_CHECKING:
    from ironic_ownership.engine.membership.service_context import (
        ServiceContext,
    )
    from ironic_ownership.engine.reservations import recovery, release
    from ironic_ownership.engine.reservations.reserver import Reserver


def reserver(wired: Container, request_id: str | None = None) -> Reserver:
    """Build the reserver, for any number of threads."""
    from ironic_ownership.engine.reservations.reserver import build

    mine = threading.local()

    def source_of() -> Inventory:
        if not hasattr(mine, 'source'):
            with wired.options_lock:
                mine.source = wired.inventory_of(request_id)
        source: Inventory = mine.source
        return source

    return build(
        wired.records,
        wired.ready_reservations(),
        wired.backend,
        wired.interpret,
        source_of,
        allocations_of(wired, request_id),
    )


def allocations_of(
    wired: Container, request_id: str | None = None
) -> release.AllocationsOf:
    """Return a function that gives each thread its own client."""
    from ironic_ownership.clients.ironic.allocations import open_allocations

    mine = threading.local()

    def opened() -> Allocations:
        if not hasattr(mine, 'client'):
            with wired.options_lock:
                mine.client = open_allocations(
                    wired.conf, request_id=request_id
                )
        client: Allocations = mine.client
        return client

    return opened


def recovery_of(
    wired: Container, context: ServiceContext
) -> recovery.Recovery:
    """Build the recovery of unfinished reservations of the service."""
    from ironic_ownership.engine.reservations import recovery, release

    clients = allocations_of(wired)
    return recovery.Recovery(
        context.host,
        recovery.Ports(wired.reservations, clients, wired.inventory_of()),
        release.Releaser(
            wired.reservations, clients, may_act=context.fence.epoch
        ),
        context.fence,
        context.conditions,
    )
