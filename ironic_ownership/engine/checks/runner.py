"""Runner of all checks.

Pure: evaluates one snapshot. A part that could not be read is a problem that
names the skipped checks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checks import (
    conductor_problems,
    node_problems,
    placement_problems,
    reservation_problems,
    scope_problems,
    service_problems,
)
from ironic_ownership.engine.checks.problem import (
    Facts,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.engine.queries.deployment_snapshot import Part

_ALL = frozenset(Part)
_RECORDED = frozenset((Part.RECORDS, Part.MEMBERSHIP))
_PLACES = frozenset((Part.IRONIC, Part.MEMBERSHIP))
_MEMBERS = frozenset((Part.MEMBERSHIP,))
_ORDER = tuple(Severity)


@dataclasses.dataclass(frozen=True)
class _Check:
    """One check.

    :param title: what it looks for, for the list of skipped checks.
    :param needs: the parts that it needs.
    """

    title: str
    needs: frozenset[Part]
    find: Callable[[Facts], Iterable[Problem]]


_CHECKS = (
    _Check('unowned nodes', _ALL, node_problems.unowned),
    _Check('contested nodes', _ALL, node_problems.contested),
    _Check('conflicts', _ALL, node_problems.conflict),
    _Check(
        'conductors',
        frozenset((Part.IRONIC,)),
        conductor_problems.no_conductor,
    ),
    _Check(
        'conductors that Ironic does not list',
        frozenset((Part.IRONIC,)),
        conductor_problems.unknown_conductors,
    ),
    _Check('nodes out of service', _ALL, conductor_problems.out_of_service),
    _Check('owners that are gone', _RECORDED, node_problems.left_behind),
    _Check('settings of peers', _MEMBERS, service_problems.settings_differ),
    _Check('shared filters', _MEMBERS, service_problems.shared_filters),
    _Check(
        'shards without a service',
        _PLACES,
        scope_problems.shards_without_service,
    ),
    _Check(
        'conductor groups without a service',
        _PLACES,
        scope_problems.groups_without_service,
    ),
    _Check('case of shards', _PLACES, scope_problems.shard_case),
    _Check('unclaimed nodes', _ALL, node_problems.unclaimed),
    _Check('misplaced nodes', _ALL, node_problems.misplaced),
    _Check('nodes kept by a record', _ALL, node_problems.kept_from),
    _Check('filtered nodes', _ALL, node_problems.filtered),
    _Check(
        'orphans',
        frozenset((Part.RECORDS, Part.IRONIC)),
        node_problems.orphans,
    ),
    _Check(
        'unlisted nodes', frozenset((Part.IRONIC,)), node_problems.unlisted
    ),
    _Check(
        'shard keys without nodes',
        _PLACES,
        scope_problems.shards_without_nodes,
    ),
    _Check('case of settings', _MEMBERS, service_problems.settings_case),
    _Check('names of peers', _RECORDED, service_problems.unknown_peers),
    _Check('views', _RECORDED, service_problems.views_differ),
    _Check('unreadable settings', _MEMBERS, service_problems.unreadable),
    _Check('failing policies', _RECORDED, service_problems.plugin_faults),
    _Check(
        'refused configurations', _RECORDED, service_problems.config_errors
    ),
    _Check(
        'reservations left behind', _RECORDED, reservation_problems.unsettled
    ),
    _Check('reports to Placement', _ALL, placement_problems.behind),
    _Check('resource classes', _ALL, placement_problems.without_class),
    _Check('balance', _RECORDED, service_problems.imbalance),
)


def check(
    snapshot: deployment_snapshot.DeploymentSnapshot,
    interpret: policy_set.Interpreter,
    *,
    reporting: bool = False,
) -> list[Problem]:
    """Check a deployment.

    :param snapshot: the parts of it that could be read.
    :param interpret: reads the settings that members advertise.
    :param reporting: whether nodes are to be reported to Placement.
    :returns: all problems, errors first.
    """
    return find(Facts(snapshot, interpret, reporting))


def find(facts: Facts) -> list[Problem]:
    """Check the facts of a deployment.

    :returns: all problems, errors first.
    """
    snapshot = facts.snapshot
    problems: list[Problem] = []
    failed: dict[str, list[str]] = {}
    for one in _CHECKS:
        if one.needs & snapshot.unread.keys():
            continue
        try:
            problems.extend(one.find(facts))
        except exceptions.PluginFaultError as exc:
            failed.setdefault(str(exc), []).append(one.title)
    problems.extend(_failed(failed))
    problems.extend(_unread(snapshot))
    return sorted(problems, key=lambda problem: _ORDER.index(problem.severity))


def _failed(failed: Mapping[str, Sequence[str]]) -> Iterable[Problem]:
    for what, titles in failed.items():
        yield Problem(
            exceptions.PluginFaultError.code,
            Severity.UNKNOWN,
            what,
            Kind.PART,
            ('policies',),
            hint=f'Not checked: {", ".join(titles)}',
        )


def _unread(
    snapshot: deployment_snapshot.DeploymentSnapshot,
) -> Iterable[Problem]:
    for part, error in snapshot.unread.items():
        titles = [one.title for one in _CHECKS if part in one.needs]
        yield Problem(
            error.code,
            Severity.UNKNOWN,
            f'{part}: {" ".join(str(error).split())}',
            Kind.PART,
            (str(part),),
            hint=f'Not checked: {", ".join(titles)}',
        )
