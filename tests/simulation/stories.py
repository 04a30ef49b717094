"""Incidents as text: a deployment, and what happened to it.

A story has a title, prose, and then its lines: the policy with the hosts, the
standbys and nodes, and one line for each fault with its time, its targets and
its duration. What it leaves open is the choice of the seed.
"""

from __future__ import annotations

import dataclasses
import pathlib
import random
import re
from collections.abc import Iterator

from tests.simulation.faults import kinds
from tests.simulation.faults.kinds import Planned
from tests.simulation.plan import Plan

DIRECTORY = pathlib.Path(__file__).parent / 'stories'
HEARTBEAT = 5.0
"""Seconds between two heartbeats in the stories."""

_SITE = re.compile(
    r'  (?P<policy>\w+): (?P<hosts>[\w ]+?)'
    r'(, standby of (?P<standbys>[\w ]+?))?'
    r', (?P<nodes>\d+) nodes(?P<store>, members in a store)?'
    r'(?P<writers>, several writers)?'
    r'(, expected back for (?P<grace>\d+) s)?'
    r'(, without (?P<absent>\w+) in the end)?$'
)
_FAULT = re.compile(
    r' +(?P<at>\d+) s  (?P<kind>[\w-]+)(?P<named>( (?!for\b)[\w-]+)*)'
    r'( for (?P<lasts>\d+) s)?$'
)


def plan(text: str, seed: int) -> Plan:
    """Read a story.

    :raises ValueError: naming the line that cannot be read.
    """
    lines = [line for line in text.splitlines()[1:] if line.startswith('  ')]
    site = _SITE.match(lines[0])
    if site is None:
        raise ValueError(lines[0])
    planned = tuple(_faults(lines[1:]))
    return Plan(
        seed,
        site['policy'],
        tuple(site['hosts'].split()),
        tuple((site['standbys'] or '').split()),
        int(site['nodes']),
        not site['store'],
        bool(site['writers']),
        0.0,
        0.1,
        3,
        seed % 2 == 0,
        max(one.at + min(one.lasts, 4) for one in planned) + 1,
        planned,
        int(site['grace'] or 0) / HEARTBEAT,
        site['absent'] or '',
    )


def _faults(lines: list[str]) -> Iterator[Planned]:
    for line in lines:
        found = _FAULT.match(line)
        if found is None or found['kind'] not in kinds.ALL:
            raise ValueError(line)
        yield Planned(
            int(found['at']) / HEARTBEAT,
            found['kind'],
            int(found['lasts'] or 0) / HEARTBEAT,
            tuple(found['named'].split()),
        )


def varied(seed: int) -> Plan:
    """Return the plan of a seed: each second is a story with variations."""
    free = Plan.of(seed)
    rng = random.Random(f'story {seed}')
    if rng.random() < 0.5:
        return free
    path = rng.choice(sorted(DIRECTORY.glob('*.txt')))
    told = plan(path.read_text(), seed)
    return dataclasses.replace(
        told,
        clustered=told.clustered or free.clustered,
        in_database=told.in_database and free.in_database,
        slowness=free.slowness,
        refreshes=free.refreshes,
        churns=free.churns,
        absent=told.absent
        or (free.absent if free.absent in told.hosts else ''),
        faults=tuple(
            sorted(
                (
                    dataclasses.replace(
                        one,
                        at=max(one.at + rng.uniform(-1, 1), 1.0),
                        lasts=one.lasts * rng.uniform(0.5, 1.5),
                    )
                    for one in told.faults
                ),
                key=lambda one: one.at,
            )
        ),
    )


def every(seeds: int, name: str = '*') -> Iterator[tuple[str, Plan]]:
    """Return each story of a name with some seeds, by its title."""
    for path in sorted(DIRECTORY.glob(f'{name}.txt')):
        text = path.read_text()
        for seed in range(1, seeds + 1):
            yield text.splitlines()[0], plan(text, seed)
