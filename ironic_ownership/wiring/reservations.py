"""Container of reservations: reserver, recovery and allocations."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ironic_ownership.wiring.container import Container

if TYPE_CHECKING:
    from ironic_ownership.contracts.allocations import Allocations
    from ironic_ownership.contracts.inventory import Inventory
    from ironic_ownership.engine.membership.service_context import (
        ServiceContext,
    )
    from ironic_ownership.engine.reservations import recovery
    from ironic_ownership.engine.reservations.reserver import Reserver

T = TypeVar('T')


def reserver(wired: Container, request_id: str | None = None) -> Reserver:
    """Build the reserver, for any number of threads."""
    from ironic_ownership.engine.reservations.reserver import Reserver

    return Reserver(
        wired.records,
        wired.ready_reservations(),
        wired.backend,
        wired.interpret,
        *_clients(wired, request_id),
    )


def _clients(
    wired: Container, request_id: str | None = None
) -> tuple[Callable[[], Inventory], Callable[[], Allocations]]:
    """Return functions that give each thread its own clients."""
    from ironic_ownership.clients.ironic.allocations import open_allocations

    return (
        _of_thread(wired, lambda: wired.inventory_of(request_id)),
        _of_thread(
            wired, lambda: open_allocations(wired.conf, request_id=request_id)
        ),
    )


def _of_thread(wired: Container, build: Callable[[], T]) -> Callable[[], T]:
    mine = threading.local()

    def client() -> T:
        if not hasattr(mine, 'client'):
            with wired.options_lock:
                mine.client = build()
        found: T = mine.client
        return found

    return client


def recovery_of(
    wired: Container, context: ServiceContext
) -> recovery.Recovery:
    """Build the recovery of unfinished reservations of the service."""
    from ironic_ownership.engine.reservations import lifecycle, recovery

    fence = context.fence
    return recovery.Recovery(
        context.host,
        lifecycle.Lifecycle(
            wired.reservations, *_clients(wired), epoch=fence.epoch
        ),
        fence,
        context.conditions,
    )
