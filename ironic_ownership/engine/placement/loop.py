"""Background thread that reports each refresh to Placement.

Claims never wait for it, regardless of how slow Placement is. An outage is
logged once and retried with growing pauses, without waiting for a refresh.
"""

from __future__ import annotations

import dataclasses

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.placement.report import PlacementReport
from ironic_ownership.engine.placement.scheduling_status import (
    SchedulingStatus,
)
from ironic_ownership.engine.worker import Worker, back_off

LOG = log.getLogger(__name__)

LONGEST_PAUSE = 60.0
"""Longest pause between retries, in seconds, while Placement is down."""


@dataclasses.dataclass(eq=False)
class PlacementLoop(Worker):
    """Reports each refresh.

    Threading: any, but for :meth:`step`.

    :param status: reports which nodes the scheduler may choose, if that is
        configured.
    :param inventory: reports the inventories, if that is configured.
    """

    conditions: Conditions
    status: SchedulingStatus | None
    inventory: PlacementReport | None

    first_due = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._seen: refresh_result.RefreshResult | None = None
        self._failures = 0
        self._retry_at = float('-inf')

    def refreshed(self, seen: refresh_result.RefreshResult) -> None:
        """Schedule the report of a refresh whose changes are written."""
        self._seen = seen
        if self.inventory:
            self.inventory.listed(seen.nodes)
        self.wake()

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node whose provider is to be deleted."""
        if self.inventory:
            self.inventory.withdraw(uuid)

    def step(self) -> float | None:
        """Report the last refresh, and wait for the next one."""
        clock = self.conditions.clock
        left = self._retry_at - clock()
        # No refresh cuts the pause short.
        if left > 0:
            return left
        seen = self._seen
        if seen is None:
            return None
        try:
            if self.status:
                self.status.report(self._wanted.is_set)
            if self.inventory:
                self.inventory.report(seen, self._wanted.is_set)
        except exceptions.PlacementError as exc:
            if not self._stopping.is_set():
                # Without the number of pending nodes: each new text is logged.
                self.conditions.report(
                    'placement',
                    f'Placement is not updated: {exc}. All other work '
                    'continues, and the report is retried',
                    exc,
                )
            self._failures += 1
            pause = back_off(self._failures, LONGEST_PAUSE)
            self._retry_at = clock() + pause
            return pause
        except exceptions.OwnershipError as exc:
            # The next refresh has the same error and logs it.
            LOG.debug('nothing is reported to Placement: %s', exc)
        except Exception as exc:  # noqa: BLE001 - this thread has to survive
            self.conditions.unexpected(
                'placement', 'the report to Placement failed', exc
            )
        else:
            self.conditions.clear('placement', 'Placement is updated again')
            self.conditions.succeeded(Loop.PLACEMENT)
        self._failures = 0
        return None
