"""Tell Placement of nodes or of sums, as the policies of the moment want it.

Policies change without a restart. Whoever owns its nodes again takes back the
sums, so that nothing is offered twice.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.placement import (
    capacity_report,
    inventory_report,
    loop,
)


class PlacementReport:
    """Chooses what is reported.

    Threading: :meth:`withdraw` from any thread, the rest from one.
    """

    def __init__(
        self,
        nodes: inventory_report.InventoryReport,
        sums: capacity_report.CapacityReport,
        conditions: Conditions,
    ) -> None:
        self._nodes = nodes
        self._sums = sums
        self._conditions = conditions
        self._sums_are_gone = False
        self.counts: loop.Counts = nodes.counts

    def withdraw(self, uuid: str) -> None:
        """Tell nothing of a node any more, from this moment on."""
        self._nodes.withdraw(uuid)

    def tell(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Tell Placement what it does not know yet.

        :raises PlacementError: if Placement does not answer, or to nobody.
        :raises OwnershipError: if something else is in the way.
        """
        if seen.policies.releases_free:
            self._sums_are_gone = False
            self.counts = self._sums.counts
            self._sums.tell(seen, interrupted)
            return
        self.counts = self._nodes.counts
        self._nodes.tell(seen, interrupted)
        if not self._sums_are_gone and not interrupted():
            self._take_back()

    def _take_back(self) -> None:
        try:
            self._sums.forget()
        except exceptions.ProviderInUseError as exc:
            self._conditions.report(
                'capacity',
                f'the capacity reported before stays in Placement: {exc}',
            )
            return
        self._sums_are_gone = True
        self._conditions.clear('capacity', 'no capacity is reported any more')
