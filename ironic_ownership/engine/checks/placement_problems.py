"""Problems of Placement reports: nodes whose provider is out of date.

Pure, and without a request to Placement: the records have the digest of what
it accepted.
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


def behind(facts: Facts) -> Iterator[Problem]:
    """Find nodes whose latest state Placement has not accepted yet."""
    for host, diff in _diffs(facts):
        if diff.steps:
            nodes = suggestions.counted(len(diff.steps), 'node')
            yield Problem(
                'placement_behind',
                Severity.WARNING,
                f'Placement is out of date for {nodes} owned by {host}',
                Kind.NODE,
                tuple(sorted(step.uuid for step in diff.steps)),
                (host,),
                'Normal for a moment after a change, and for minutes when '
                'many nodes are new; if it lasts, the log of the service '
                "has Placement's answers",
            )


def without_class(facts: Facts) -> Iterator[Problem]:
    """Find nodes without a resource class, which Placement needs."""
    for host, diff in _diffs(facts):
        if diff.without_class:
            nodes = suggestions.counted(len(diff.without_class), 'node')
            yield Problem(
                'no_resource_class',
                Severity.WARNING,
                f'{nodes} owned by {host} without a resource class: not '
                'reported to Placement',
                Kind.NODE,
                tuple(sorted(diff.without_class)),
                (host,),
                'openstack baremetal node set UUID --resource-class CLASS',
            )


def _diffs(facts: Facts) -> Iterator[tuple[str, inventory_diff.Diff]]:
    """Yield the diff of each live owner that reports single nodes."""
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
            yield host, inventory_diff.compare(facts.nodes.listed, owned[host])
