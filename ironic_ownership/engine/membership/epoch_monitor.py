"""Poll of the own service row, once per heartbeat interval.

So a process learns from the records that its right to act has ended, on every
membership backend, and even while that backend or Ironic does not answer. In
a thread of its own: neither the heartbeat waits for the records, nor this
poll for the members. It costs one query by key per interval.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership.fence import Clock
from ironic_ownership.engine.membership.heartbeat import (
    LONGEST_WATCH,
    Heartbeat,
)
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.worker import Worker


@dataclasses.dataclass(eq=False)
class EpochMonitor(Worker):
    """Drops the fence of a process when its epoch is no longer valid.

    :param heartbeat: gives the interval, and registers again.
    :param on_change: called after a change of the state of this process.
    """

    member: LocalMember
    heartbeat: Heartbeat
    conditions: Conditions
    clock: Clock
    on_change: Callable[[], None] = lambda: None
    first_due = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._polled_at = float('-inf')

    def step(self) -> float:
        """Poll if an interval has passed."""
        started = self.clock()
        if started - self._polled_at >= self.heartbeat.interval:
            self._polled_at = started
            self._poll()
        left = self._polled_at + self.heartbeat.interval - self.clock()
        # In steps: the interval may become shorter meanwhile.
        return min(max(left, 0.0), LONGEST_WATCH)

    def _poll(self) -> None:
        conditions = self.conditions
        try:
            if self.member.check_epoch():
                self.heartbeat.poll_soon()
                self.on_change()
        # The next change must find this thread alive.
        except Exception as exc:  # noqa: BLE001
            conditions.unexpected(
                'epoch', 'polling the own service row failed', exc
            )
        else:
            conditions.clear('epoch', 'the own service row is polled again')
            conditions.succeeded(Loop.EPOCH)
