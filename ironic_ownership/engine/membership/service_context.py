"""The context of one running service, shared by all its parts."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.ports import BareMetal, Ports


@dataclasses.dataclass(frozen=True)
class ServiceContext:
    """Name, access, write lease and conditions of one service process.

    :param host: name of the service.
    """

    host: str
    ports: Ports
    fence: Fence
    conditions: Conditions
    clock: Clock = monotonic

    def with_ironic(self, ironic: BareMetal) -> ServiceContext:
        """Return a copy with another Ironic client, for another thread."""
        return dataclasses.replace(
            self, ports=dataclasses.replace(self.ports, ironic=ironic)
        )
