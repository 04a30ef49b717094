"""The intervals of a deployment."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Times:
    """All intervals, in seconds.

    :param scale: of all of them, against those of production.
    :param refreshes: heartbeats between two refreshes.
    :param graces: those for which a stopped service is expected back.
    """

    scale: float = 1.0
    refreshes: float = 6.0
    graces: float = 0.0

    @property
    def heartbeat(self) -> float:
        return 5 * self.scale

    @property
    def ttl(self) -> float:
        return 20 * self.scale

    @property
    def margin(self) -> float:
        return 1 * self.scale

    @property
    def refresh(self) -> float:
        return self.refreshes * self.heartbeat

    @property
    def grace(self) -> float:
        return self.graces * self.heartbeat
