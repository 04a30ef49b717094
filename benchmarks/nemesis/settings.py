"""Settings of one run."""

from __future__ import annotations

import dataclasses

SLOWER_HEARTBEAT = 1.3
"""Factor of the interval of heartbeats after some reloads."""

MIDDLEWARE = 'middleware'
"""Name of the guard outside of the services that can be broken."""


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
    :param request_interval: mean pause of each thread between two changing
        requests to an Ironic with the middleware; 0 for an Ironic without.
    :param pace: factor of the durations of the faults; see :meth:`slower`.
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
    request_interval: float = 0
    pace: float = 1
    broken: str = ''
    kinds: tuple[str, ...] = ()

    @property
    def breaks_middleware(self) -> bool:
        """True if it is Ironic's middleware that is broken on purpose."""
        return self.broken == MIDDLEWARE

    def slower(self, pace: float) -> Settings:
        """Return the same settings with all times longer by a factor."""
        return dataclasses.replace(
            self,
            ttl=self.ttl * pace,
            heartbeat_interval=self.heartbeat_interval * pace,
            refresh_interval=self.refresh_interval * pace,
            storm=self.storm * pace,
            pause=self.pause * pace,
            patience=self.patience * pace,
            ask_interval=self.ask_interval * pace,
            request_interval=self.request_interval * pace,
            pace=self.pace * pace,
        )

    @property
    def longest_permission(self) -> float:
        """Seconds for which a permission counts without a new question."""
        return self.heartbeat_interval * SLOWER_HEARTBEAT
