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
from ironic_ownership.engine.membership.heartbeat import Heartbeat
from ironic_ownership.engine.worker import Worker


@dataclasses.dataclass(eq=False)
class EpochMonitor(Worker):
    """Drops the fence of a process when its epoch is no longer valid.

    :param heartbeat: gives the interval, and registers again.
    :param on_change: called after a change of the state of this process.
    """

    heartbeat: Heartbeat
    on_change: Callable[[], None] = lambda: None

    first_due = 0.0
    condition = 'epoch'
    fails = 'polling the own service row failed'
    works = 'the own service row is polled again'

    def __post_init__(self) -> None:
        super().__post_init__()
        self.conditions = self.heartbeat.conditions

    def step(self) -> float:
        """Poll, and come back after an interval."""
        clock = self.heartbeat.context.clock
        started = clock()
        if self.heartbeat.member.check_epoch():
            self.heartbeat.poll_soon()
            self.on_change()
        self.conditions.succeeded(Loop.EPOCH)
        return max(started + self.heartbeat.interval - clock(), 0.0)

    def failed(self, error: Exception) -> float:
        """Report the error; try again after an interval."""
        super().failed(error)
        return self.heartbeat.interval
