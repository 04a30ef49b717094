"""Metrics of one host process: what it knows of itself.

Those that the HTTP service has as well have the same names and labels there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.engine.host.health import ROLES, Health
from ironic_ownership.observe import metrics
from ironic_ownership.observe.metrics import PREFIX, Family

_WAITS = {
    'waiting': 'nodes whose live owner has to release them first',
    'deferred': 'nodes of services that may be dead or alive',
    'pending': 'own missing nodes that were not looked up yet',
    'refused': 'changes that lost a race to another service',
}


def families(health: Health) -> list[Family]:
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
    for family in metrics.loops([report]):
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
    counts = dataclasses.asdict(health.summary)
    yield _single(
        health,
        'nodes_in_scope',
        'Nodes in scope at the last refresh.',
        float(health.summary.nodes),
    )
    yield Family(
        f'{PREFIX}_waiting',
        'What the last refresh left for later: '
        + '; '.join(f'{name}: {text}' for name, text in _WAITS.items())
        + '.',
        ('service', 'what'),
        [((health.host, name), float(counts[name])) for name in _WAITS],
    )
    yield Family(
        f'{PREFIX}_brake',
        'Whether a brake held the last refresh back, 1 or 0: the handover '
        'limit, or the loss of many nodes.',
        ('service', 'brake'),
        [
            ((health.host, 'handover_limit'), float(health.summary.limited)),
            ((health.host, 'mass_loss'), float(health.summary.mass_loss)),
        ],
    )
