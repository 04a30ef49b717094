"""Metrics: names, labels and samples.

Names and labels are public interface: dashboards and alert rules use them.
Independent of the exposition format, and stateless, so that every process
reports the same values.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.records import Pause
from ironic_ownership.contracts.reservations import Reservation
from ironic_ownership.engine.checks.problem import Problem
from ironic_ownership.engine.host.health import ROLES, Health
from ironic_ownership.engine.queries.deployment import NodeStatus

PREFIX = 'ironic_ownership'
UNOWNED = ''
"""Label value for the owner of unowned nodes."""


@dataclasses.dataclass(frozen=True)
class Family:
    """One metric with its samples.

    :param labels: names, in the order of the values of each sample.
    :param counts: whether it is a counter, which only grows; its name ends
        in ``_total``. A gauge otherwise.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    samples: Sequence[tuple[tuple[str, ...], float]] = ()
    counts: bool = False


def _counted(
    keys: Iterable[tuple[str, ...]],
) -> list[tuple[tuple[str, ...], float]]:
    return sorted(collections.Counter(keys).items())


def answers(parts: Mapping[str, bool]) -> Family:
    """Return which parts of the deployment answer."""
    return Family(
        f'{PREFIX}_answers',
        'Whether a part of the deployment answered: 1 or 0. Metrics that '
        'depend on a part that did not are left out.',
        ('part',),
        [((part.lower(),), float(up)) for part, up in parts.items()],
    )


def nodes(statuses: Iterable[NodeStatus]) -> Family:
    """Count the nodes by owner and state."""
    return Family(
        f'{PREFIX}_nodes',
        'Compute nodes, by the service that owns them (empty if unowned) and '
        'by state.',
        ('service', 'state'),
        _counted((s.owner or UNOWNED, str(s.state)) for s in statuses),
    )


def unavailable(records: Iterable[model.ComputeNode]) -> Family:
    """Count the nodes that nothing can be scheduled to, by reason."""
    return Family(
        f'{PREFIX}_unavailable_nodes',
        'Compute nodes that nothing could be scheduled to at the last refresh '
        'of their owner, by owner and reason code.',
        ('service', 'reason'),
        _counted(
            (record.host or UNOWNED, str(record.unavailable))
            for record in records
            if record.unavailable is not None
        ),
    )


def services(
    rows: Iterable[model.Service], alive: frozenset[str] | None
) -> Family:
    """Return whether each service is alive.

    :param alive: hosts that are members; ``None`` if they are not known.
    """
    hosts = {row.host for row in rows} | (alive or set())
    return Family(
        f'{PREFIX}_service_alive',
        'Whether the membership sees a service alive: 1 or 0.',
        ('service',),
        [((host,), float(host in alive)) for host in sorted(hosts)]
        if alive is not None
        else [],
    )


def disabled(rows: Iterable[model.Service]) -> Family:
    """Return whether an operator has disabled each service."""
    return Family(
        f'{PREFIX}_service_disabled',
        'Whether an operator disabled a service or forced it down: 1 or 0.',
        ('service',),
        [
            ((row.host,), float(row.disabled or row.forced_down))
            for row in rows
        ],
    )


def paused(pauses: Iterable[Pause]) -> Family:
    """Count the pauses of automatic changes of owner."""
    return Family(
        f'{PREFIX}_pauses',
        'Pauses of automatic changes of owner that last.',
        samples=[((), float(len([*pauses])))],
    )


def loops(reports: Sequence[ConditionReport]) -> list[Family]:
    """Return whether each loop works, and when it last did."""
    found = [
        (report, one)
        for report in reports
        if not report.is_outdated
        for one in report.conditions
    ]
    return [
        Family(
            f'{PREFIX}_loop_works',
            'Whether a loop of a service does its work: 1 or 0. Left out for '
            'services that store no conditions.',
            ('service', 'loop'),
            [((r.host, one.loop), float(not one.fails)) for r, one in found],
        ),
        Family(
            f'{PREFIX}_loop_success_age_seconds',
            'Seconds since the last success of a loop, when its service '
            'last stored it.',
            ('service', 'loop'),
            [
                ((r.host, one.loop), max(0.0, r.reported_at - at))
                for r, one in found
                if (at := one.succeeded_at) is not None
            ],
        ),
        Family(
            f'{PREFIX}_conditions_age_seconds',
            'Seconds since a service stored the conditions of its loops.',
            ('service',),
            [((r.host,), r.age) for r in reports if not r.has_ended],
        ),
    ]


def members(view: model.View) -> Family:
    """Count the live processes."""
    return Family(
        f'{PREFIX}_members',
        'Live processes by service; if there are several, all but one are '
        'standbys.',
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
        'Open reservations by service and state; confirmed ones do not '
        'expire.',
        ('service', 'state', 'confirmed'),
        _counted(
            (one.host, one.state.value, str(one.confirmed).lower())
            for one in found
        ),
    )


def taken(seconds: float, age: float) -> list[Family]:
    """Return the duration and the age of the collection."""
    took, since = (
        'Seconds that it took to collect these metrics.',
        'Seconds since these metrics were collected.',
    )
    return [
        Family(f'{PREFIX}_metrics_seconds', took, (), [((), seconds)]),
        Family(f'{PREFIX}_metrics_age_seconds', since, (), [((), age)]),
    ]


_WAITS = {
    'waiting': 'nodes whose live owner has to release them first',
    'deferred': 'nodes of services that may be dead or alive',
    'pending': 'own missing nodes that were not looked up yet',
    'refused': 'changes that lost a race to another service',
    'delayed': 'nodes that keep their owner until the budget allows more',
}


def of_process(health: Health) -> list[Family]:
    """Return the metrics of one process."""
    return [
        _single(
            health,
            'healthy',
            'Whether the process does its work: 1 or 0.',
            float(not health.faults),
        ),
        Family(
            f'{PREFIX}_role',
            'Role of the process for its host: 1 for its current one.',
            ('service', 'role'),
            [
                ((health.host, role.value), float(role == health.role))
                for role in ROLES
            ],
        ),
        _single(
            health,
            'fence_remaining_seconds',
            'Seconds for which the service may act without another heartbeat.',
            health.fence_remaining,
        ),
        *_loops(health),
        *_waits(health),
        Family(
            f'{PREFIX}_errors_total',
            'Failures of a loop since the start, by the code of the error.',
            ('service', 'loop', 'code'),
            [
                ((health.host, *key), float(number))
                for key, number in sorted(health.errors.items())
            ],
            counts=True,
        ),
        Family(
            f'{PREFIX}_changes_total',
            'Changes that the process wrote since its start: claims (a '
            'take-over is one), releases, updates, deletions and fences.',
            ('service', 'kind', 'reason'),
            [
                ((health.host, *key), float(number))
                for key, number in sorted(health.changes.items())
            ],
            counts=True,
        ),
    ]


def _single(health: Health, name: str, text: str, value: float) -> Family:
    return Family(
        f'{PREFIX}_{name}', text, ('service',), [((health.host,), value)]
    )


def _loops(health: Health) -> Iterator[Family]:
    report = ConditionReport(
        health.host, '', 1.0, health.loops, reported_at=health.now
    )
    for family in loops([report]):
        # It is asked itself: nothing is stored in between.
        if family.name != f'{PREFIX}_conditions_age_seconds':
            yield family
    yield Family(
        f'{PREFIX}_loop_seconds',
        'Seconds that the last success of a loop took.',
        ('service', 'loop'),
        [
            ((health.host, loop), seconds)
            for loop, seconds in sorted(health.took.items())
        ],
    )


def _waits(health: Health) -> Iterator[Family]:
    if health.summary is None:
        return
    yield _single(
        health,
        'nodes_in_scope',
        'Nodes in scope at the last refresh.',
        float(health.summary.nodes),
    )
    yield Family(
        f'{PREFIX}_waiting',
        'Changes that the last refresh postponed: '
        + '; '.join(f'{name}: {text}' for name, text in _WAITS.items())
        + '.',
        ('service', 'what'),
        [
            ((health.host, name), float(getattr(health.summary, name)))
            for name in _WAITS
        ],
    )
    yield _single(
        health,
        'handover_wait_seconds',
        'Seconds until the budget has allowed the delayed changes, at least.',
        float(health.summary.wait),
    )
    yield Family(
        f'{PREFIX}_brake',
        'Whether a brake held the last refresh back, 1 or 0: the handover '
        'limit, or the loss of many nodes.',
        ('service', 'brake'),
        [
            ((health.host, 'handover_limit'), float(health.summary.limited)),
            (
                (health.host, 'handover_budget'),
                float(health.summary.delayed > 0),
            ),
            ((health.host, 'mass_loss'), float(health.summary.mass_loss)),
        ],
    )
