"""Choice between reports of nodes and of sums, by the current policies.

Policies change without a restart. A service that owns its nodes again deletes
its sums, so that no capacity is offered twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.placement import (
    capacity_report,
    inventory_report,
    loop,
    scheduling_status,
)


@dataclasses.dataclass
class SchedulingReport:
    """Reports the status of nodes, and their inventory where configured.

    Threading: as that of :class:`PlacementReport`.
    """

    status: scheduling_status.SchedulingStatus | None
    inventory: PlacementReport | None

    def __post_init__(self) -> None:
        self._no_counts = loop.Counts()

    @property
    def counts(self) -> loop.Counts:
        """Progress of the inventory."""
        return self.inventory.counts if self.inventory else self._no_counts

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node."""
        if self.inventory:
            self.inventory.withdraw(uuid)

    def report(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Report what has changed."""
        if self.status:
            self.status.report(interrupted)
        if self.inventory:
            self.inventory.report(seen, interrupted)


@dataclasses.dataclass
class PlacementReport:
    """Reports nodes or sums.

    Threading: :meth:`withdraw` from any thread, the rest from one.
    """

    nodes: inventory_report.InventoryReport
    sums: capacity_report.CapacityReport
    conditions: Conditions

    def __post_init__(self) -> None:
        self._sums_are_gone = False
        self.counts = self.nodes.counts

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node."""
        self.nodes.withdraw(uuid)

    def report(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Report what has changed."""
        if seen.policies.releases_free:
            self._sums_are_gone = False
            self.counts = self.sums.counts
            self.sums.report(seen)
            return
        self.counts = self.nodes.counts
        self.nodes.report(seen, interrupted)
        if not self._sums_are_gone and not interrupted():
            self._delete_sums()

    def _delete_sums(self) -> None:
        try:
            self.sums.delete()
        except exceptions.ProviderInUseError as exc:
            self.conditions.report(
                'capacity',
                f'the capacity reported earlier stays in Placement: {exc}',
            )
            return
        self._sums_are_gone = True
        self.conditions.clear(
            'capacity', 'the capacity reported earlier is deleted'
        )
