"""Problems of nodes and records: unowned, contested, orphaned, stranded.

Pure. Each function is one check and yields any number of problems.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Collection, Iterable, Iterator

from ironic_ownership.contracts import texts
from ironic_ownership.contracts.reasons import Contest, Reason
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    ALL,
    IRONIC,
    NODES,
    RECORDED,
    Check,
    Kind,
    Problem,
    Severity,
    check,
)
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.engine.queries.deployment import Deployment, NodeStatus

_ERROR, _WARNING, _UNKNOWN, _ = Severity
_NODE = Kind.NODE
_MOVE = 'ironic-ownership compute node move UUID --to'
_NONE = 'no service'  # in a sentence, in place of a host
_Hosts = tuple[str, ...]
_ByHost = dict[str, list[str]]


def _by_hosts(
    title: str,
    severity: Severity,
    code: str,
    what: str,
    hint: str,
    chosen: Callable[[Deployment, NodeStatus], bool],
    hosts_of: Callable[[NodeStatus], _Hosts],
) -> None:
    """Declare a check that finds nodes, by the hosts concerned.

    :param what: a template with the number of nodes, as {nodes}, each of the
        hosts, as {0} and {1}, and all of them, as {hosts}; so is ``hint``.
    """

    @check(title, ALL, severity, _NODE, code)
    def _(seen: Deployment, problem: Check) -> Iterator[Problem]:
        found: dict[_Hosts, list[str]] = collections.defaultdict(list)
        for status in seen.evaluated:
            if chosen(seen, status):
                found[hosts_of(status)].append(status.uuid)
        for hosts, uuids in sorted(found.items()):
            names = texts.listed(hosts)
            text = what.format(*hosts, nodes=_count(uuids), hosts=names)
            services = tuple(host for host in hosts if host != _NONE)
            yield problem(text, uuids, hint.format(*hosts), services)


_by_hosts(
    'unowned nodes',
    *(_ERROR, 'unowned'),
    '{nodes} unowned: admitted by no live, enabled service',
    'Start a service for their shard and conductor group; '
    '"ironic-ownership compute node explain UUID" has the details',
    lambda _, s: s.owner is None and s.decision.reason is Reason.NOT_ADMITTED,
    lambda s: (),
)
_by_hosts(
    'contested nodes',
    *(_ERROR, 'contested'),
    '{nodes} admitted by services that are not peers: {hosts}',
    'Give these services filters that do not overlap, such as a shard_key '
    'each; or, without a shard key, the same policies and options. Until '
    'then an owner on record keeps its nodes, and no service claims the '
    'others',
    lambda _, s: s.decision.contest is Contest.CONTESTED,
    lambda s: s.decision.contenders,
)
_by_hosts(
    'conflicts',
    *(_ERROR, 'conflict'),
    '{nodes} admitted by several services with the same filter: {hosts}',
    'Only the one that joined first claims them: stop the others, or '
    'give each its own filter',
    lambda _, s: s.decision.contest is Contest.CONFLICT,
    lambda s: s.decision.contenders,
)


_GONE = 'owner_gone'
_STATES = {
    _GONE: 'which is no longer a service',
    'owner_forced_down': 'which is forced down',
    'owner_unregistered': 'which has never registered',
    'owner_away': 'which was stopped and is expected back',
    'owner_dead': 'which is not alive',
    'owner_disabled': 'which is disabled',
}
_SET = 'ironic-ownership service set {host}'
_STOPPED_HINT = (
    f'Start {{host}} again; or, if it has stopped for good: {_SET} --down, '
    f'and {_MOVE} HOST'
)
_LEFT_HINTS = {
    _GONE: f'Move the nodes: {_MOVE} HOST; or start {{host}} again',
    'owner_forced_down': f'{_SET} --up; or move the nodes: {_MOVE} HOST',
    'owner_disabled': (
        f'{_SET} --enable; or, to empty it, stop it, then: {_SET} --down, '
        f'and {_MOVE} HOST'
    ),
}
_OWNER_CODES = (*_STATES, *(f'{code}_with_instance' for code in _STATES))
_PASSING = frozenset(('owner_disabled', 'owner_away', 'owner_unregistered'))


@check('owners that are gone', RECORDED, _ERROR, _NODE, *_OWNER_CODES)
def left_behind(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find records whose owner does not serve: dead, gone, away, disabled."""
    code_of = functools.lru_cache(functools.partial(owner_code, seen))
    found: dict[tuple[str, str, bool], list[str]] = collections.defaultdict(
        list
    )
    for record in seen.records.values():
        host, deployed = record.host, record.instance_uuid is not None
        if host is not None and (code := code_of(host)) is not None:
            found[host, code, not deployed].append(record.uuid)
    for of, uuids in sorted(found.items()):
        yield left(*of, uuids)


def left(
    host: str,
    code: str,
    is_free: bool,
    uuids: Iterable[str],
    counted: int | None = None,
) -> Problem:
    """Return the problem of nodes whose owner does not serve.

    :param code: of :func:`owner_code`.
    :param is_free: whether the nodes have no instance.
    :param counted: the number of the nodes, if they are not named.
    """
    passing = code in _PASSING or (is_free and code != _GONE)
    names = tuple(sorted(uuids))
    number = len(names) if counted is None else counted
    those = f'{texts.counted(number, "node")} with{"out" * is_free}'
    return Problem(
        code if is_free else f'{code}_with_instance',
        _WARNING if passing else _ERROR,
        f'{those} an instance owned by {host}, {_STATES[code]}',
        _NODE,
        names,
        (host,),
        _LEFT_HINTS.get(code, _STOPPED_HINT).format(host=host),
        counted,
    )


def owner_code(seen: Deployment, host: str) -> str | None:
    """Return why the owner of nodes does not serve; ``None`` if it does."""
    row, alive = seen.services.get(host), host in seen.view.hosts
    if row is None:
        return None if alive else _GONE
    alive = alive or row.is_stock
    for code, applies in (
        ('owner_forced_down', row.forced_down),
        ('owner_unregistered', not alive and row.never_registered),
        ('owner_away', not alive and row.away),
        ('owner_dead', not alive),
        ('owner_disabled', row.disabled),
    ):
        if applies:
            return code
    return None


_by_hosts(
    'unclaimed nodes',
    *(_WARNING, 'unclaimed'),
    '{nodes} not yet claimed by {0}',
    'It claims them at its next refresh, or once it is back if it was '
    'stopped. If it does not, see its log, and whether an interrupted '
    'move holds them: ironic-ownership move list --unfinished',
    lambda _, s: s.owner is None and s.decision.owner is not None,
    lambda s: (s.decision.owner or '',),
)
_by_hosts(
    'released nodes',
    *(_ERROR, 'released_with_instance'),
    '{nodes} with an instance released by {0}, which does not serve',
    'Start {0} again: it claims them, unless an interrupted move holds '
    'them: ironic-ownership move list --unfinished. Or move them: '
    f'{_MOVE} HOST --override instance_agrees --reason TEXT',
    lambda _, s: (
        s.owner is None
        and s.decision.owner is None
        and s.decision.reason is Reason.RETURNED
    ),
    lambda s: (s.released_by or '',),
)
_by_hosts(
    'misplaced nodes',
    *(_WARNING, 'misplaced'),
    '{nodes} still owned by {0}, decided for {1}',
    'They change owner at the next refreshes of both services',
    lambda seen, s: (
        s.owner in seen.peer_groups.alive and s.decision.owner != s.owner
    ),
    lambda s: (s.owner or '', s.decision.owner or _NONE),
)
# Source: ironic-shards, "Data model impact": only an operator moves them. Not
# those of a service that has never registered: it releases nothing.
_by_hosts(
    'nodes kept by a record',
    *(_WARNING, 'record_keeps'),
    '{nodes} on record with {0}; the policies give them to {1}',
    'Only an operator changes the owner: '
    + suggestions.RELEASE.format(uuid='UUID', host='{1}'),
    lambda seen, s: (
        s.decision.reason is Reason.RECORD_KEEPS
        and not (
            (row := seen.services.get(s.owner or '')) and row.never_registered
        )
    ),
    lambda s: (s.owner or '', s.decision.wanted_by or _NONE),
)
# Outside of its own filters, by a live owner.
_by_hosts(
    'filtered nodes',
    *(_WARNING, 'filtered'),
    '{nodes} kept by {0}, and no longer admitted by its policies',
    'Restore their shard and conductor group in Ironic; or move them: '
    + suggestions.HAND_OVER.format(owner='{0}', uuid='UUID', host='HOST'),
    lambda _, s: (
        bool(s.owner_alive)
        and s.decision.filtered
        and s.decision.reason is not Reason.RECORD_KEEPS
    ),
    lambda s: (s.owner or '',),
)


@check(
    'orphans',
    NODES,
    _WARNING,
    _NODE,
    *('orphan', 'orphan_with_instance', 'orphan_not_verified'),
)
def orphans(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find records of nodes that Ironic no longer has."""
    lost = {u for u in seen.gone if seen.records[u].instance_uuid is not None}
    gone = seen.gone - lost
    if lost:
        yield problem(
            f'{_count(lost)} with an instance on record for which Ironic '
            'answers 404',
            lost,
            'Their records are kept. If the instances no longer exist: '
            'ironic-ownership instance forget UUID --reason TEXT',
            _owners(seen, lost),
            code='orphan_with_instance',
            severity=_ERROR,
        )
    if gone:
        yield problem(
            f'{_count(gone)} on record for which Ironic answers 404',
            gone,
            'Its owner, or for an unowned record a service in whose scope it '
            'is, deletes such a record unless a gate refuses it. See why: '
            'ironic-ownership compute node check-delete UUID. Otherwise: '
            'ironic-ownership compute node delete UUID',
            _owners(seen, gone),
        )
    if seen.unverified:
        yield problem(
            f'{_count(seen.unverified)} on record and not listed by Ironic, '
            'too many to verify one by one',
            seen.unverified,
            'Make sure that this is the right Ironic, and that the '
            'credential sees all of its nodes',
            _owners(seen, seen.unverified),
            code='orphan_not_verified',
            severity=_UNKNOWN,
        )


@check('unlisted nodes', IRONIC, _UNKNOWN, Kind.PART, 'not_listed')
def unlisted(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Report nodes that may not be listed with this configuration."""
    if seen.unlisted:
        yield problem(
            f'{texts.counted(seen.unlisted, "node")} without a shard '
            'not checked: with a shard key set they may not be listed',
            ('nodes without a shard',),
            'Set their shard in Ironic, or run this with a configuration '
            'without shard_key, such as [ownership] policies = all',
        )


@check(
    'reports to Placement, resource classes',
    ALL,
    _WARNING,
    _NODE,
    *('placement_behind', 'no_resource_class'),
)
def placement(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find nodes that are not in Placement as they should be."""
    behind, without_class = _placement_gaps(seen)
    for host, uuids in sorted(behind.items()):
        yield problem(
            f'Placement is out of date for {_count(uuids)} owned by {host}',
            uuids,
            'Normal for a moment after a change, and for minutes when '
            'many nodes are new; if it lasts, the log of the service '
            "has Placement's answers",
            (host,),
        )
    for host, uuids in sorted(without_class.items()):
        yield problem(
            f'{_count(uuids)} owned by {host} without a resource class: not '
            'reported to Placement',
            uuids,
            'openstack baremetal node set UUID --resource-class CLASS',
            (host,),
            code='no_resource_class',
        )


def _placement_gaps(seen: Deployment) -> tuple[_ByHost, _ByHost]:
    """Return nodes that Placement has not accepted, and that it cannot have.

    Of live services whose policies keep free nodes: others report none.
    """
    behind: _ByHost = collections.defaultdict(list)
    without_class: _ByHost = collections.defaultdict(list)
    records = seen.records.values()
    if seen.reporting or any(r.placement_digest is not None for r in records):
        policies = seen.peer_groups.policies
        hosts = {
            host
            for host in seen.view.hosts
            if (known := policies.get(host)) is None or not known.releases_free
        }
        for uuid, node in seen.nodes.items():
            record = seen.records.get(uuid)
            if record is not None and record.host in hosts:
                diff = inventory_diff.compare([node], {uuid: record})
                if diff.steps:
                    behind[record.host or ''].append(uuid)
                if diff.without_class:
                    without_class[record.host or ''].append(uuid)
    return behind, without_class


def _count(uuids: Collection[str]) -> str:
    return texts.counted(len(uuids), 'node')


def _owners(seen: Deployment, uuids: Iterable[str]) -> _Hosts:
    owners = {seen.records[uuid].host for uuid in uuids}
    return tuple(sorted(host for host in owners if host is not None))
