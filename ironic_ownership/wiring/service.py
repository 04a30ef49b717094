"""The objects that only services and reservations need."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ironic_ownership.wiring.container import Container, built

if TYPE_CHECKING:
    from ironic_ownership.engine.membership.service_context import (
        ServiceContext,
    )
    from ironic_ownership.engine.ports import Allocations, BareMetal
    from ironic_ownership.engine.reservations.recovery import Recovery
    from ironic_ownership.engine.reservations.reserver import Reserver

T = TypeVar('T')


class ServiceContainer(Container):
    """The objects of one process, also those that serve and reserve."""

    @built
    def reports_inventory(self) -> bool:
        """True if this configuration reports nodes to Placement.

        Never next to a Nova cell: nova-compute reports them.

        :raises ConfigurationError: if its options can't work.
        """
        from ironic_ownership.clients import options

        return self.companion is None and bool(
            options.value(self.conf, 'report_inventory')
        )

    @built
    def reports_status(self) -> bool:
        """True if nodes of services that do not serve are not offered.

        Not next to a Nova cell, whose scheduler sees to that; errors as for
        :attr:`reports_inventory`.
        """
        from ironic_ownership.clients import options

        return self.companion is None and bool(
            options.value(self.conf, 'disable_stopped')
        )

    @built
    def reserver(self) -> Reserver:
        """The reserver; concurrent requests share its reads of Ironic.

        :raises OwnershipError: if database or Ironic can't be used.
        """
        return self.new_reserver()

    def new_reserver(self) -> Reserver:
        """Build a reserver, for any number of threads."""
        from ironic_ownership.engine.reservations import (
            candidates,
            eligibility,
            lifecycle,
            reserver,
        )

        ironic_of, allocations_of = self._clients(self.request_id)
        return reserver.Reserver(
            eligibility.ServiceReader(
                self.records, self.backend, self.interpret
            ),
            candidates.CandidateFinder(self.records, ironic_of),
            lifecycle.Lifecycle(self.reservations, ironic_of, allocations_of),
        )

    def recovery(self, context: ServiceContext) -> Recovery:
        """Build the recovery of unfinished reservations of the service."""
        from ironic_ownership.engine.reservations import lifecycle, recovery

        fence = context.fence
        return recovery.Recovery(
            context.host,
            lifecycle.Lifecycle(
                self.reservations, *self._clients(None), epoch=fence.epoch
            ),
            fence,
            context.conditions,
        )

    def _clients(
        self, request_id: str | None
    ) -> tuple[Callable[[], BareMetal], Callable[[], Allocations]]:
        """Return functions that give each thread its own clients."""
        from ironic_ownership.clients.options import open_allocations

        return (
            self._of_thread(lambda: self.ironic_of(request_id)),
            self._of_thread(
                lambda: open_allocations(self.conf, request_id=request_id)
            ),
        )

    def _of_thread(self, build: Callable[[], T]) -> Callable[[], T]:
        """Return a function that gives each thread its own client."""
        mine = threading.local()

        def client() -> T:
            if not hasattr(mine, 'client'):
                with self.lock:
                    mine.client = build()
            found: T = mine.client
            return found

        return client
