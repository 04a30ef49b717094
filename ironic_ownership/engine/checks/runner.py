"""Runner of all checks.

Pure: evaluates one snapshot. A part that could not be read is a problem that
names the skipped checks.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checks import conductor_problems as conductors
from ironic_ownership.engine.checks import loop_problems as loops
from ironic_ownership.engine.checks import node_problems as nodes
from ironic_ownership.engine.checks import scope_problems as scopes
from ironic_ownership.engine.checks import service_problems as services
from ironic_ownership.engine.checks.problem import (
    Check,
    Facts,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.engine.queries.deployment_snapshot import Part

_ALL = frozenset((Part.RECORDS, Part.IRONIC, Part.MEMBERSHIP))
_RECORDED = frozenset((Part.RECORDS, Part.MEMBERSHIP))
_PLACES = frozenset((Part.IRONIC, Part.MEMBERSHIP))
_MEMBERS = frozenset((Part.MEMBERSHIP,))
_NODES = frozenset((Part.RECORDS, Part.IRONIC))
_IRONIC = frozenset((Part.IRONIC,))
_ORDER = tuple(Severity)


_CHECKS = (
    Check('loops of services', _RECORDED, loops.stalled, loops.CODES),
    Check('mass loss', _RECORDED, loops.mass_loss, ('mass_loss',)),
    Check(
        'conditions of services',
        _RECORDED,
        loops.outdated,
        ('conditions_outdated',),
    ),
    Check('unowned nodes', _ALL, nodes.unowned, ('unowned',)),
    Check('contested nodes', _ALL, nodes.contested, ('contested',)),
    Check('conflicts', _ALL, nodes.conflict, ('conflict',)),
    Check('conductors', _IRONIC, conductors.no_conductor, ('no_conductor',)),
    Check(
        'unlisted conductors',
        _IRONIC,
        conductors.unknown_conductors,
        ('conductors_unknown',),
    ),
    Check(
        'nodes out of service',
        _ALL,
        conductors.out_of_service,
        (
            'out_of_service',
            'out_of_service_unowned',
        ),
    ),
    Check(
        'owners that are gone', _RECORDED, nodes.left_behind, nodes.OWNER_CODES
    ),
    Check(
        'settings of peers',
        _MEMBERS,
        services.settings_differ,
        ('settings_differ',),
    ),
    Check(
        'shared filters',
        _MEMBERS,
        services.shared_filters,
        (
            'filter_shared',
            'shard_shared',
        ),
    ),
    Check(
        'shards without a service',
        _PLACES,
        scopes.unserved_shards,
        ('shard_without_service',),
    ),
    Check(
        'conductor groups without a service',
        _PLACES,
        scopes.unserved_groups,
        ('conductor_group_without_service',),
    ),
    Check('case of shards', _PLACES, scopes.shard_case, ('shard_case',)),
    Check('unclaimed nodes', _ALL, nodes.unclaimed, ('unclaimed',)),
    Check(
        'released nodes', _ALL, nodes.unreturned, ('released_with_instance',)
    ),
    Check('misplaced nodes', _ALL, nodes.misplaced, ('misplaced',)),
    Check('nodes kept by a record', _ALL, nodes.kept_from, ('record_keeps',)),
    Check('filtered nodes', _ALL, nodes.filtered, ('filtered',)),
    Check(
        'orphans',
        _NODES,
        nodes.orphans,
        (
            'orphan',
            'orphan_with_instance',
            'orphan_not_verified',
        ),
    ),
    Check('unlisted nodes', _IRONIC, nodes.unlisted, ('not_listed',)),
    Check(
        'shard keys without nodes',
        _PLACES,
        scopes.empty_shards,
        ('shard_without_nodes',),
    ),
    Check(
        'case of settings',
        _MEMBERS,
        services.settings_case,
        ('settings_case',),
    ),
    Check(
        'names of peers', _RECORDED, services.unknown_peers, ('peer_unknown',)
    ),
    Check('views', _RECORDED, services.views_differ, ('view_differs',)),
    Check(
        'unreadable settings',
        _MEMBERS,
        services.unreadable,
        ('settings_unreadable',),
    ),
    Check(
        'failing policies',
        _RECORDED,
        services.plugin_faults,
        ('plugin_fault',),
    ),
    Check(
        'lost commits',
        _RECORDED,
        services.records_rewound,
        ('records_rewound',),
    ),
    Check(
        'clocks of the database',
        _RECORDED,
        services.clock_skew,
        ('clock_skew',),
    ),
    Check(
        'rejected configurations',
        _RECORDED,
        services.config_errors,
        ('config_error',),
    ),
    Check(
        'reservations of dead services',
        _RECORDED,
        services.unsettled,
        ('reservation_left',),
    ),
    Check(
        'reports to Placement',
        _ALL,
        nodes.placement_behind,
        ('placement_behind',),
    ),
    Check(
        'resource classes', _ALL, nodes.without_class, ('no_resource_class',)
    ),
    Check('balance', _RECORDED, services.imbalance, ('imbalance',)),
)

CODES = frozenset(code for one in _CHECKS for code in one.codes)
"""The codes of all findings but those of a companion; none is ever removed.
What does not answer has the code of its error instead."""


def check(
    snapshot: deployment_snapshot.DeploymentSnapshot,
    interpret: policy_set.Interpreter,
    *,
    reporting: bool = False,
) -> list[Problem]:
    """Return all problems of a deployment, errors first."""
    return find(Facts(snapshot, interpret, reporting))


def find(facts: Facts) -> list[Problem]:
    """Return all problems that the facts show, errors first."""
    unread, companion = facts.snapshot.unread, facts.snapshot.companion
    checks = (*_CHECKS, *companion.checks) if companion else _CHECKS
    problems: list[Problem] = []
    failed: dict[str, list[str]] = {}
    for one in checks:
        if one.needs & unread.keys():
            continue
        try:
            problems.extend(one.find(facts))
        except exceptions.PluginFaultError as exc:
            failed.setdefault(str(exc), []).append(one.title)
    code = exceptions.PluginFaultError.code
    for what, titles in failed.items():
        problems.append(_unknown(code, what, 'policies', titles))
    for part, error in unread.items():
        titles = [one.title for one in checks if part in one.needs]
        what = f'{part}: {" ".join(str(error).split())}'
        problems.append(_unknown(error.code, what, str(part), titles))
    return sorted(problems, key=lambda problem: _ORDER.index(problem.severity))


def _unknown(
    code: str, what: str, part: str, skipped: Iterable[str]
) -> Problem:
    return Problem(
        code,
        Severity.UNKNOWN,
        what,
        Kind.PART,
        (part,),
        hint=f'Not checked: {", ".join(skipped)}',
    )
