"""Poll of the own service row, once per heartbeat interval.

So a process learns from the records that its right to act has ended, on every
membership backend, and even while that backend or Ironic does not answer. In
a thread of its own: neither the heartbeat waits for the records, nor this
poll for the members. It costs one query by key per interval.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership.fence import Clock
from ironic_ownership.engine.membership.heartbeat import (
    LONGEST_WATCH,
    Heartbeat,
)
from ironic_ownership.engine.membership.local_member import LocalMember


@dataclasses.dataclass(eq=False)
class EpochMonitor:
    """Drops the fence of a process when its epoch is no longer valid.

    :param heartbeat: gives the interval, and registers again.
    :param on_change: called after a change of the state of this process.
    """

    member: LocalMember
    heartbeat: Heartbeat
    conditions: Conditions
    clock: Clock
    on_change: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Make :meth:`run` return soon. Any thread."""
        self._stopping.set()

    def run(self) -> None:
        """Poll until :meth:`stop` is called."""
        while not self._stopping.is_set():
            started = self.clock()
            self._poll()
            self._wait(started)

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

    def _wait(self, started: float) -> None:
        # In steps: the interval may become shorter meanwhile.
        while (
            left := started + self.heartbeat.interval - self.clock()
        ) > 0 and not self._stopping.wait(min(left, LONGEST_WATCH)):
            pass
