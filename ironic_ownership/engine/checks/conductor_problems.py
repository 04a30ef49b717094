"""Problems of conductors: nodes without a conductor that serves them.

Pure. Each function is one check and yields any number of problems.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

from ironic_ownership.engine import suggestions
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.checks.problem import (
    CheckedNode,
    Facts,
    Kind,
    Problem,
    Severity,
)


def no_conductor(facts: Facts) -> Iterator[Problem]:
    """Report that no conductor is alive."""
    fleet = facts.fleet
    if fleet is None or not fleet.all_gone:
        return
    known = sorted(c.hostname for c in facts.nodes.conductors or ())
    yield Problem(
        'no_conductor',
        Severity.ERROR,
        'no conductor of Ironic is alive: no node can be managed',
        Kind.CONDUCTOR,
        tuple(known),
        hint='Start the conductors, or find out why their heartbeats do not '
        'reach the database of Ironic',
    )


def unknown_conductors(facts: Facts) -> Iterator[Problem]:
    """Report that Ironic does not list its conductors."""
    if facts.nodes.unshown is None:
        return
    yield Problem(
        'conductors_unknown',
        Severity.UNKNOWN,
        'Ironic does not list its conductors: '
        f'{" ".join(str(facts.nodes.unshown).split())}',
        Kind.PART,
        ('conductors',),
        hint='Not checked: nodes out of service',
    )


def out_of_service(facts: Facts) -> Iterator[Problem]:
    """Find nodes whose driver no live conductor of their group has.

    Source: out-of-service. Unowned nodes have a code of their own: no refresh
    evaluates them, so only this check reports them.
    """
    if facts.fleet is None or facts.fleet.all_gone:
        return
    found: dict[tuple[bool, str, str], list[CheckedNode]]
    found = collections.defaultdict(list)
    for node in facts.statuses:
        if node.is_out_of_service:
            owned = node.owner is not None
            found[owned, node.driver, node.conductor_group].append(node)
    for (owned, driver, group), statuses in sorted(
        found.items(), key=lambda item: item[0]
    ):
        yield _out_of_service(facts.fleet, owned, driver, group, statuses)


def _out_of_service(
    fleet: evaluation.Fleet,
    owned: bool,
    driver: str,
    group: str,
    statuses: list[CheckedNode],
) -> Problem:
    kind = 'node' if owned else 'unowned node'
    where = f'conductor group {group!r}' if group else 'the default group'
    supported = fleet.supports(driver, group)
    needed = fleet.needed(driver, group)
    if supported:
        why = f'driver {driver!r} is back in {where} since a short time'
        hint = 'They return to service after [ownership] recovery_delay'
    else:
        why = f'no live conductor has the driver {driver!r} in {where}'
        hint = (
            f'Start one of these conductors: {suggestions.listed(needed)}'
            if needed
            else 'Start a conductor there that enables the driver, or correct '
            'driver and conductor group of the nodes'
        )
    return Problem(
        'out_of_service' if owned else 'out_of_service_unowned',
        Severity.WARNING if supported else Severity.ERROR,
        f'{suggestions.counted(len(statuses), kind)} out of service: {why}',
        Kind.NODE,
        tuple(sorted(s.uuid for s in statuses)),
        tuple(sorted({s.owner for s in statuses if s.owner is not None})),
        hint,
    )
