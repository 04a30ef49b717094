"""Metrics: names, labels and samples.

Names and labels are public interface: dashboards and alert rules use them.
Independent of the exposition format, and stateless, so that every process
reports the same values.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.engine.checks.problem import Problem
from ironic_ownership.engine.host.health import ROLES, Health
from ironic_ownership.engine.queries.deployment import Deployment, Part

PREFIX = 'ironic_ownership'
"""Of the names of all metrics."""

UNOWNED = ''
"""Label value for the owner of unowned nodes."""

Samples = Iterable[tuple[tuple[str, ...], float]]
"""Values, by those of the labels."""


@dataclasses.dataclass(frozen=True)
class Family:
    """One metric with its samples.

    :param name: without the prefix. That of a counter, which only grows, ends
        in ``_total``; a gauge otherwise.
    :param labels: names, in the order of the values of each sample.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    samples: Samples = ()


def _counted(keys: Iterable[tuple[str, ...]]) -> Samples:
    return sorted(collections.Counter(keys).items())


def of_deployment(
    seen: Deployment, problems: Iterable[Problem]
) -> Iterator[Family]:
    """Yield the metrics of one moment, without the parts in an outage."""
    yield Family(
        'answers',
        'Whether a part of the deployment answered: 1 or 0. Metrics that '
        'depend on a part that did not are left out.',
        ('part',),
        [((part.lower(),), float(part not in seen.unread)) for part in Part],
    )
    subjects: collections.Counter[tuple[str, ...]] = collections.Counter()
    for one in problems:
        subjects[one.code, str(one.severity)] += len(one.subjects)
    yield Family(
        'problems',
        'Subjects of the problems that "ironic-ownership check" finds, by '
        'reason code and severity.',
        ('code', 'severity'),
        sorted(subjects.items()),
    )
    if not seen.unread:
        # A policy that fails is among the problems.
        with contextlib.suppress(exceptions.PluginFaultError):
            yield _nodes(seen)
    if Part.RECORDS not in seen.unread:
        yield from _of_records(seen)
    if Part.MEMBERSHIP not in seen.unread:
        yield Family(
            'members',
            'Live processes by service; if there are several, all but one are '
            'standbys.',
            ('service',),
            _counted(
                (m.host,) for m in (*seen.view.members, *seen.view.standbys)
            ),
        )
    if Part.RECORDS not in seen.unread:
        yield Family(
            'reservations',
            'Open reservations by service and state; confirmed ones do not '
            'expire.',
            ('service', 'state', 'confirmed'),
            _counted(
                (one.host, one.state.value, str(one.confirmed).lower())
                for one in seen.reservations
            ),
        )


def _nodes(seen: Deployment) -> Family:
    return Family(
        'nodes',
        'Compute nodes, by the service that owns them (empty if unowned) and '
        'by state.',
        ('service', 'state'),
        _counted((s.owner or UNOWNED, str(s.state)) for s in seen.evaluated),
    )


def _of_records(seen: Deployment) -> Iterator[Family]:
    rows = seen.services.values()
    yield Family(
        'unavailable_nodes',
        'Compute nodes that nothing could be scheduled to at the last refresh '
        'of their owner, by owner and reason code.',
        ('service', 'reason'),
        _counted(
            (record.host or UNOWNED, str(record.unavailable))
            for record in seen.records.values()
            if record.unavailable is not None
        ),
    )
    alive: Samples = ()
    if Part.MEMBERSHIP not in seen.unread:
        live = seen.view.hosts | {r.host for r in rows if r.is_stock}
        hosts = {row.host for row in rows} | live
        alive = [((host,), float(host in live)) for host in sorted(hosts)]
    yield Family(
        'service_alive',
        'Whether the membership, or stock Nova, sees a service alive: 1 or 0.',
        ('service',),
        alive,
    )
    yield Family(
        'service_disabled',
        'Whether an operator disabled a service or forced it down: 1 or 0.',
        ('service',),
        [((r.host,), float(r.disabled or r.forced_down)) for r in rows],
    )
    yield Family(
        'pauses',
        'Pauses of automatic changes of owner that last.',
        samples=[((), float(len(seen.pauses)))],
    )
    yield from _loops([*seen.reports.values()])
    yield Family(
        'conditions_age_seconds',
        'Seconds since a service stored the conditions of its loops.',
        ('service',),
        [
            ((r.host,), max(0.0, r.age))
            for r in seen.reports.values()
            if not r.has_ended
        ],
    )


def _loops(reports: Sequence[ConditionReport]) -> Iterator[Family]:
    """Yield whether each loop works, and when it last did."""
    found = [
        (report, one)
        for report in reports
        if not report.is_outdated
        for one in report.conditions
    ]
    yield Family(
        'loop_works',
        'Whether a loop of a service does its work: 1 or 0. Left out for '
        'services that store no conditions.',
        ('service', 'loop'),
        [((r.host, one.loop), float(not one.fails)) for r, one in found],
    )
    yield Family(
        'loop_success_age_seconds',
        'Seconds since the last success of a loop, when its service '
        'last stored it.',
        ('service', 'loop'),
        [
            ((r.host, one.loop), max(0.0, r.reported_at - at))
            for r, one in found
            if (at := one.succeeded_at) is not None
        ],
    )


def taken(seconds: float, age: float) -> list[Family]:
    """Return the duration and the age of the collection."""
    took, since = (
        'Seconds that it took to collect these metrics.',
        'Seconds since these metrics were collected.',
    )
    return [
        Family('metrics_seconds', took, samples=[((), seconds)]),
        Family('metrics_age_seconds', since, samples=[((), age)]),
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
    own = functools.partial(_own, health.host)
    report = ConditionReport(
        health.host, '', 1.0, health.loops, reported_at=health.now
    )
    return [
        own(
            'healthy',
            'Whether the process does its work: 1 or 0.',
            [((), not health.faults)],
        ),
        own(
            'role',
            'Role of the process for its host: 1 for its current one.',
            [((role.value,), role == health.role) for role in ROLES],
            'role',
        ),
        own(
            'fence_remaining_seconds',
            'Seconds for which the service may act without another heartbeat.',
            [((), health.fence_remaining)],
        ),
        *_loops([report]),
        own(
            'loop_seconds',
            'Seconds that the last success of a loop took.',
            sorted(
                ((one.loop,), one.took)
                for one in health.loops
                if one.took is not None
            ),
            'loop',
        ),
        *_waits(health),
        own(
            'errors_total',
            'Failures of a loop since the start, by the code of the error.',
            sorted(health.errors.items()),
            'loop',
            'code',
        ),
        own(
            'changes_total',
            'Changes that the process wrote since its start: claims (a '
            'take-over is one), releases, updates, deletions and fences.',
            sorted(health.changes.items()),
            'kind',
            'reason',
        ),
    ]


def _own(
    host: str, name: str, text: str, samples: Samples, *labels: str
) -> Family:
    """Return a metric of one process, whose service is the first label."""
    own = [((host, *key), float(value)) for key, value in samples]
    return Family(name, text, ('service', *labels), own)


def _waits(health: Health) -> Iterator[Family]:
    summary = health.summary
    if summary is None:
        return
    own = functools.partial(_own, health.host)
    yield own(
        'nodes_in_scope',
        'Nodes in scope at the last refresh.',
        [((), summary.nodes)],
    )
    yield own(
        'waiting',
        'Changes that the last refresh postponed: '
        + '; '.join(f'{name}: {text}' for name, text in _WAITS.items())
        + '.',
        [((name,), getattr(summary, name)) for name in _WAITS],
        'what',
    )
    yield own(
        'handover_wait_seconds',
        'Seconds until the budget has allowed the delayed changes, at least.',
        [((), summary.wait)],
    )
    yield own(
        'brake',
        'Whether a brake held the last refresh back, 1 or 0: the handover '
        'limit, or the loss of many nodes.',
        [
            (('handover_limit',), summary.limited),
            (('handover_budget',), summary.delayed > 0),
            (('mass_loss',), summary.mass_loss),
        ],
        'brake',
    )
