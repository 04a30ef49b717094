"""Container of reservations: reserver, recovery and allocations."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ironic_ownership.wiring.container import Container

if TYPE_CHECKING:
    from ironic_ownership.engine.membership.service_context import (
        ServiceContext,
    )
    from ironic_ownership.engine.reservations import recovery, release
    from ironic_ownership.engine.reservations.reserver import Reserver

T = TypeVar('T')


def reserver(wired: Container, request_id: str | None = None) -> Reserver:
    """Build the reserver, for any number of threads."""
    from ironic_ownership.engine.reservations.reserver import build

    return build(
        wired.records,
        wired.ready_reservations(),
        wired.backend,
        wired.interpret,
        _of_thread(wired, lambda: wired.inventory_of(request_id)),
        allocations_of(wired, request_id),
    )


def allocations_of(
    wired: Container, request_id: str | None = None
) -> release.AllocationsOf:
    """Return a function that gives each thread its own client."""
    from ironic_ownership.clients.ironic.allocations import open_allocations

    return _of_thread(
        wired, lambda: open_allocations(wired.conf, request_id=request_id)
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
    from ironic_ownership.engine.reservations import recovery, release

    clients = allocations_of(wired)
    return recovery.Recovery(
        context.host,
        wired.inventory_of(),
        release.Releaser(
            wired.reservations, clients, may_act=context.fence.epoch
        ),
        context.fence,
        context.conditions,
    )
