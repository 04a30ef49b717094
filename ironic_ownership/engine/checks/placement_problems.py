"""Problems of what Placement was told: nodes it does not know as they are.

Pure, and without a question to Placement: the records say what it accepted.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

from ironic_ownership.contracts import model
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    Facts,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.placement import inventory_diff


def context(facts: Facts) -> Iterator[Problem]:
    """Find nodes of which Placement does not know the latest."""
    for host, made in _plans(facts):
        if made.steps:
            nodes = suggestions.counted(len(made.steps), 'node')
            yield Problem(
                'placement_behind',
                Severity.WARNING,
                f'Placement does not know the latest of {nodes} owned by '
                f'{host}',
                Kind.NODE,
                tuple(sorted(step.uuid for step in made.steps)),
                (host,),
                'Normal for a moment after a change, and for minutes when '
                'many nodes are new; if it lasts, the log of the service '
                'says what Placement answers',
            )


def without_class(facts: Facts) -> Iterator[Problem]:
    """Find nodes that have nothing in Placement for want of a class."""
    for host, made in _plans(facts):
        if made.without_class:
            nodes = suggestions.counted(len(made.without_class), 'node')
            yield Problem(
                'no_resource_class',
                Severity.WARNING,
                f'{nodes} owned by {host} without a resource class: nothing '
                'is reported to Placement',
                Kind.NODE,
                tuple(sorted(made.without_class)),
                (host,),
                'openstack baremetal node set UUID --resource-class CLASS',
            )


def _plans(facts: Facts) -> Iterator[tuple[str, inventory_diff.Plan]]:
    """Plan as each live owner does that reports single nodes."""
    if not facts.reports:
        return
    owned: dict[str, dict[str, model.ComputeNode]] = collections.defaultdict(
        dict
    )
    for record in facts.records:
        if record.host in facts.view.hosts:
            owned[str(record.host)][record.uuid] = record
    for host in sorted(owned):
        policies = facts.peer_groups.policies.get(host)
        if policies is None or not policies.releases_free:
            yield host, inventory_diff.plan(facts.nodes.listed, owned[host])
