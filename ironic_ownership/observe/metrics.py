"""The metrics: their names, and how they come from what is observed.

Names and labels are public interface: dashboards and alert rules have them.
Must not know in which format they are read; and has no state, so that every
process says the same.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reservations import Reservation

PREFIX = 'ironic_ownership'
NOBODY = ''
"""Owner of nodes without one, in labels."""


@dataclasses.dataclass(frozen=True)
class Family:
    """One metric: a gauge with its samples.

    :param labels: names, in the order of the values of each sample.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    samples: Sequence[tuple[tuple[str, ...], float]] = ()


class Finding(Protocol):
    """What is counted of a compute node; the engine makes it."""

    @property
    def state(self) -> str: ...  # noqa: D102
    @property
    def record(self) -> model.ComputeNode | None: ...  # noqa: D102
    @property
    def node(self) -> model.Node | None: ...  # noqa: D102


class Problem(Protocol):
    """What is counted of a problem; the engine makes it."""

    @property
    def code(self) -> str: ...  # noqa: D102
    @property
    def severity(self) -> str: ...  # noqa: D102
    @property
    def subjects(self) -> Sequence[str]: ...  # noqa: D102


def _counted(
    keys: Iterable[tuple[str, ...]],
) -> list[tuple[tuple[str, ...], float]]:
    return sorted(collections.Counter(keys).items())


def answers(parts: Mapping[str, bool]) -> Family:
    """Say which parts of the deployment answer."""
    return Family(
        f'{PREFIX}_answers',
        'Whether a part of the deployment answered: 1 or 0. What depends on '
        'one that did not is left out.',
        ('part',),
        [((part.lower(),), float(up)) for part, up in parts.items()],
    )


def nodes(findings: Iterable[Finding]) -> Family:
    """Count the nodes by owner and state."""
    return Family(
        f'{PREFIX}_nodes',
        'Compute nodes, by the service that owns them (empty: nobody) and by '
        'state.',
        ('service', 'state'),
        _counted(
            ((f.record.host if f.record else None) or NOBODY, str(f.state))
            for f in findings
        ),
    )


def unavailable(records: Iterable[model.ComputeNode]) -> Family:
    """Count the nodes that can't be given to anybody, by reason."""
    return Family(
        f'{PREFIX}_unavailable_nodes',
        'Compute nodes that could not be scheduled to when their owner '
        'looked last, by owner and reason code.',
        ('service', 'reason'),
        _counted(
            (record.host or NOBODY, str(record.unavailable))
            for record in records
            if record.unavailable is not None
        ),
    )


def services(
    rows: Iterable[model.Service], alive: frozenset[str] | None
) -> Family:
    """Say of each service whether it is alive.

    :param alive: hosts that are members; ``None`` if that is not known.
    """
    if alive is None:
        samples = []
    else:
        hosts = {row.host for row in rows} | alive
        samples = [((host,), float(host in alive)) for host in sorted(hosts)]
    return Family(
        f'{PREFIX}_service_alive',
        'Whether the membership sees a service alive: 1 or 0.',
        ('service',),
        samples,
    )


def disabled(rows: Iterable[model.Service]) -> Family:
    """Say of each service whether an operator has stopped it."""
    return Family(
        f'{PREFIX}_service_disabled',
        'Whether an operator disabled a service or forced it down: 1 or 0.',
        ('service',),
        [
            ((row.host,), float(row.disabled or row.forced_down))
            for row in rows
        ],
    )


def members(view: model.View) -> Family:
    """Count the live processes."""
    return Family(
        f'{PREFIX}_members',
        'Live processes by service; more than one are active and standby.',
        ('service',),
        _counted((m.host,) for m in (*view.members, *view.standbys)),
    )


def problems(found: Iterable[Problem]) -> Family:
    """Count the subjects of each problem."""
    counted: collections.Counter[tuple[str, ...]] = collections.Counter()
    for one in found:
        counted[one.code, str(one.severity)] += len(one.subjects)
    return Family(
        f'{PREFIX}_problems',
        'Subjects of the problems that "ironic-ownership check" finds, by '
        'reason code and severity.',
        ('code', 'severity'),
        sorted(counted.items()),
    )


def reservations(found: Iterable[Reservation]) -> Family:
    """Count the open reservations."""
    return Family(
        f'{PREFIX}_reservations',
        'Open reservations by service and state; "confirmed" are those that '
        'do not expire.',
        ('service', 'state', 'confirmed'),
        _counted(
            (one.host, one.state.value, str(one.confirmed).lower())
            for one in found
        ),
    )


def taken(seconds: float, age: float) -> list[Family]:
    """Say what finding all this out took, and how long ago that was."""
    return [
        Family(
            f'{PREFIX}_metrics_seconds',
            'Seconds that it took to find out what these metrics say.',
            (),
            [((), seconds)],
        ),
        Family(
            f'{PREFIX}_metrics_age_seconds',
            'Seconds since these metrics were found out.',
            (),
            [((), age)],
        ),
    ]
