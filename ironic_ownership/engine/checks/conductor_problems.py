"""Problems of conductors: nodes that nobody can work on.

Pure. Each function is one check and gives any number of problems.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

from ironic_ownership.contracts import model
from ironic_ownership.contracts.availability import Unavailable
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.checks.problem import (
    Facts,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.queries import node_status


def no_conductor(facts: Facts) -> Iterator[Problem]:
    """Tell that no conductor is alive, which takes no node out of service."""
    fleet = facts.fleet
    if fleet is None or not fleet.all_gone:
        return
    known = sorted(c.hostname for c in facts.nodes.conductors or ())
    yield Problem(
        'no_conductor',
        Severity.ERROR,
        'no conductor of Ironic is alive: nobody can work on any node',
        Kind.CONDUCTOR,
        tuple(known),
        hint='Start the conductors, or look why their heartbeats do not '
        'reach the database of Ironic',
    )


def not_shown(facts: Facts) -> Iterator[Problem]:
    """Tell that it is not known which conductors there are."""
    if facts.nodes.unshown is None:
        return
    yield Problem(
        'conductors_unknown',
        Severity.UNKNOWN,
        'Ironic does not tell its conductors: '
        f'{" ".join(str(facts.nodes.unshown).split())}',
        Kind.PART,
        ('conductors',),
        hint='Not judged: which nodes are out of service',
    )


def out_of_service(facts: Facts) -> Iterator[Problem]:
    """Find nodes whose driver no live conductor of their group has.

    Source: out-of-service. Those that nobody owns are named apart: no
    service judges them in its refresh, so this is where they are seen.
    """
    if facts.fleet is None or facts.fleet.all_gone:
        return
    found: dict[tuple[bool, str, str], list[node_status.Finding]]
    found = collections.defaultdict(list)
    for finding in facts.findings:
        verdict, node = finding.verdict, finding.node
        if node is None or verdict is None:
            continue
        if verdict.code is Unavailable.OUT_OF_SERVICE:
            owned = _owner(finding) is not None
            place = owned, node.driver, node.conductor_group
            found[place].append(finding)
    for (owned, driver, group), findings in sorted(
        found.items(), key=lambda item: item[0]
    ):
        yield _out_of_service(facts.fleet, owned, driver, group, findings)


def _out_of_service(
    fleet: evaluation.Fleet,
    owned: bool,
    driver: str,
    group: str,
    findings: list[node_status.Finding],
) -> Problem:
    where = f'conductor group {group!r}' if group else 'the default group'
    supported = fleet.supports(driver, group)
    needed = fleet.needed(driver, group)
    if supported:
        why = f'driver {driver!r} came back to {where} not long ago'
        hint = 'They come back by themselves, see [ownership] recovery_delay'
    else:
        why = f'no live conductor has the driver {driver!r} in {where}'
        hint = (
            f'Start one of these conductors: {suggestions.listed(needed)}'
            if needed
            else 'Start a conductor there that enables it, or correct driver '
            'and conductor group of the nodes'
        )
    return Problem(
        'out_of_service' if owned else 'out_of_service_unowned',
        Severity.WARNING if supported else Severity.ERROR,
        f'{suggestions.counted(len(findings), "node")} '
        f'{"" if owned else "that nobody owns "}out of service: {why}',
        Kind.NODE,
        tuple(sorted(f.uuid for f in findings)),
        tuple(sorted({h for f in findings if (h := _owner(f)) is not None})),
        hint,
    )


def _owner(finding: node_status.Finding) -> str | None:
    record: model.ComputeNode | None = finding.record
    return record.host if record else None
