"""The plan of a schedule: a deployment, and the faults in it."""

from __future__ import annotations

import dataclasses
import random

from tests.simulation.faults import kinds
from tests.simulation.faults.kinds import Planned


@dataclasses.dataclass(frozen=True)
class Plan:
    """A deployment, and what happens in it.

    :param seed: of everything that the plan leaves open.
    :param churns: whether nodes get and lose instances all the time.
    :param storm: time in which faults begin, in heartbeats.
    :param grace: for which a service that was stopped is expected back, in
        heartbeats.
    :param absent: the service that does not return when the faults end.
    """

    seed: int
    policy: str
    hosts: tuple[str, ...]
    standbys: tuple[str, ...]
    nodes: int
    in_database: bool
    clustered: bool
    full_refresh: float
    slowness: float
    refreshes: float
    churns: bool
    storm: float
    faults: tuple[Planned, ...]
    grace: float = 0.0
    absent: str = ''

    @classmethod
    def of(cls, seed: int) -> Plan:
        """Return the plan of a seed."""
        rng = random.Random(f'plan {seed}')
        storm = rng.uniform(4, 16)
        every = sorted([*kinds.ALL, *kinds.OFTEN, *kinds.OFTEN])
        chosen = rng.sample(every, rng.choice((2, 4, 8, 16)))
        times = sorted(rng.uniform(2, storm) for _ in range(rng.randint(2, 8)))
        hosts = ('ha', 'hb', 'hc', 'hd')[: rng.choice((2, 2, 3, 3, 4))]
        return cls(
            seed,
            rng.choice(('ring', 'ring', 'shards', 'pool', 'all')),
            hosts,
            hosts[: rng.choice((0, 0, 1, 1, 2))],
            rng.randint(2, 7),
            rng.random() < 0.4,
            rng.random() < 0.3,
            rng.choice((0.0, 0.0, 300.0)),
            rng.choice((0.004, 0.05, 0.3, 1.0)),
            rng.choice((2, 3, 6)),
            rng.random() < 0.8,
            storm,
            tuple(
                Planned(at, rng.choice(chosen), rng.expovariate(1 / 5))
                for at in times
            ),
            rng.choice((0, 0, 2, 6, 12)),
            rng.choice(hosts) if rng.random() < 0.2 else '',
        )
