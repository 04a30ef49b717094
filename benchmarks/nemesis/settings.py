"""Settings of one run."""

from __future__ import annotations

import dataclasses

SLOWER_HEARTBEAT = 1.3
"""Factor of the interval of heartbeats after some reloads."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that shapes a run; times are in seconds.

    :param seed: of the schedule.
    :param policy: by which the services share the nodes.
    :param deployed: share of the nodes with an instance.
    :param storm: duration of the faults of one round.
    :param pause: mean time between two faults.
    :param together: how many faults may last at the same time.
    :param patience: longest time until all is well after the faults.
    :param ask_interval: pause of each process between two questions to its
        guard.
    :param broken: name of a guard that is broken on purpose; '' for none.
    """

    seed: int
    minutes: float
    records: str = 'postgresql'
    members: str = 'db'
    policy: str = 'peer_list'
    nodes: int = 60
    deployed: float = 0.33
    ttl: float = 8
    heartbeat_interval: float = 1
    refresh_interval: float = 3
    storm: float = 60
    pause: float = 2.5
    together: int = 4
    patience: float = 120
    ask_interval: float = 0.05
    broken: str = ''
    kinds: tuple[str, ...] = ()

    @property
    def longest_permission(self) -> float:
        """Seconds for which a permission counts without a new question."""
        return self.heartbeat_interval * SLOWER_HEARTBEAT
