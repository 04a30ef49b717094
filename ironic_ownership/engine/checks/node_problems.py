"""Problems of nodes and records: unowned, contested, orphaned, stranded.

Pure. Each function is one check and yields any number of problems.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable, Iterator

from ironic_ownership.contracts import reasons
from ironic_ownership.contracts.decision import Contest
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    CheckedNode,
    Facts,
    Kind,
    Problem,
    Severity,
)

_MOVE = 'ironic-ownership compute node move UUID --service'
_Hosts = tuple[str, ...]


def unowned(facts: Facts) -> Iterator[Problem]:
    """Find unowned nodes that no live service admits."""
    found = [
        f.uuid
        for f in facts.statuses
        if f.owner is None and f.decision.reason is reasons.Reason.NOT_ADMITTED
    ]
    if found:
        yield _nodes(
            'unowned',
            Severity.ERROR,
            f'{_count(found)} unowned: no live, enabled service admits them',
            found,
            hint='Start a service for their shard and conductor group; '
            '"ironic-ownership compute node explain UUID" has the details',
        )


def unclaimed(facts: Facts) -> Iterator[Problem]:
    """Find nodes whose owner is decided and has not claimed them yet."""
    yield from _by_hosts(
        facts,
        lambda s: s.owner is None and s.decision.owner is not None,
        lambda s: (s.decision.owner or '',),
        'unclaimed',
        Severity.WARNING,
        '{nodes} not yet claimed by {0}',
        'It claims them at its next refresh; if it does not, see its log',
    )


def unreturned(facts: Facts) -> Iterator[Problem]:
    """Find deployed nodes that only a service which does not serve claims."""
    yield from _by_hosts(
        facts,
        lambda s: (
            s.owner is None
            and s.decision.owner is None
            and s.decision.reason is reasons.Reason.RETURNED
        ),
        lambda s: (s.released_by or '',),
        'released_with_instance',
        Severity.ERROR,
        '{nodes} with an instance released by {0}, which does not serve',
        f'Start {{0}} again: it claims them. Or move them: {_MOVE} HOST '
        '--override instance_agrees --reason TEXT',
    )


def misplaced(facts: Facts) -> Iterator[Problem]:
    """Find free nodes that their live owner is about to release."""
    yield from _by_hosts(
        facts,
        lambda s: bool(s.owner_alive) and s.decision.owner != s.owner,
        lambda s: (s.owner or '', s.decision.owner or 'no service'),
        'misplaced',
        Severity.WARNING,
        '{nodes} still owned by {0}, decided for {1}',
        'They change owner at the next refreshes of both services',
    )


def contested(facts: Facts) -> Iterator[Problem]:
    """Find nodes that several services admit, and do not share as peers."""
    yield from _by_hosts(
        facts,
        lambda s: s.decision.contest is Contest.CONTESTED,
        lambda s: s.decision.contenders,
        'contested',
        Severity.ERROR,
        '{nodes} admitted by services that are no peers: {hosts}',
        'Give these services filters that do not overlap, such as a shard_key '
        'each; or, without a shard key, the same policies and options. Until '
        'then an owner on record keeps its nodes, and no service claims the '
        'others',
    )


def conflict(facts: Facts) -> Iterator[Problem]:
    """Find nodes that several services admit by the same filter."""
    yield from _by_hosts(
        facts,
        lambda s: s.decision.contest is Contest.CONFLICT,
        lambda s: s.decision.contenders,
        'conflict',
        Severity.ERROR,
        '{nodes} admitted by several services with the same filter: {hosts}',
        'Only the one that joined first claims them: stop the others, or '
        'give each its own filter',
    )


def kept_from(facts: Facts) -> Iterator[Problem]:
    """Find free nodes whose record names another service than the policies.

    Source: ironic-shards, "Data model impact": only an operator moves them.
    Not those of a service that has never registered: it releases nothing.
    """
    unregistered = {
        row.host for row in facts.services.values() if row.never_registered
    }
    yield from _by_hosts(
        facts,
        lambda s: (
            s.decision.reason is reasons.Reason.RECORD_KEEPS
            and s.owner not in unregistered
        ),
        lambda s: (s.owner or '', s.decision.wanted_by or 'no service'),
        'record_keeps',
        Severity.WARNING,
        '{nodes} on record with {0}; the policies give them to {1}',
        'Only an operator changes the owner: '
        + suggestions.release('UUID', '{1}'),
    )


def filtered(facts: Facts) -> Iterator[Problem]:
    """Find nodes that a live owner keeps outside of its own filters."""
    yield from _by_hosts(
        facts,
        lambda s: (
            bool(s.owner_alive)
            and s.decision.filtered
            and s.decision.reason is not reasons.Reason.RECORD_KEEPS
        ),
        lambda s: (s.owner or '',),
        'filtered',
        Severity.WARNING,
        '{nodes} kept by {0}, whose policies no longer admit them',
        'Restore their shard and conductor group in Ironic; or move them: '
        + suggestions.hand_over('{0}', 'UUID', 'HOST'),
    )


def unlisted(facts: Facts) -> Iterator[Problem]:
    """Report nodes that may not be listed with this configuration."""
    if facts.nodes.unlisted:
        yield Problem(
            'not_listed',
            Severity.UNKNOWN,
            f'{suggestions.counted(facts.nodes.unlisted, "node")} without a '
            'shard not checked: with a shard key set they may not be listed',
            Kind.PART,
            ('nodes without a shard',),
            hint='Run this with a configuration without shard_key',
        )


def orphans(facts: Facts) -> Iterator[Problem]:
    """Find records of nodes that Ironic no longer has."""
    unverified = facts.nodes.unverified
    gone: list[str] = []
    lost: list[str] = []
    for uuid in sorted(facts.nodes.gone):
        deployed = facts.records[uuid].instance_uuid is not None
        (lost if deployed else gone).append(uuid)
    if lost:
        yield _nodes(
            'orphan_with_instance',
            Severity.ERROR,
            f'{_count(lost)} with an instance on record for which Ironic '
            'answers 404',
            lost,
            _owners(facts, lost),
            'Their records are kept. If the instances no longer exist: '
            'ironic-ownership instance forget UUID --reason TEXT',
        )
    if gone:
        yield _nodes(
            'orphan',
            Severity.WARNING,
            f'{_count(gone)} on record for which Ironic answers 404',
            gone,
            _owners(facts, gone),
            'Its owner, or for an unowned record a service in whose scope it '
            'is, deletes such a record unless a gate refuses it. See why: '
            'ironic-ownership compute node check-delete UUID. Otherwise: '
            'ironic-ownership compute node delete UUID',
        )
    if unverified:
        yield _nodes(
            'orphan_not_verified',
            Severity.UNKNOWN,
            f'{_count(unverified)} on record and not listed by Ironic, too '
            'many to verify one by one',
            unverified,
            _owners(facts, unverified),
            'Make sure that this is the right Ironic, and that the '
            'credential sees all of its nodes',
        )


def left_behind(facts: Facts) -> Iterator[Problem]:
    """Find records whose owner does not serve: dead, gone, away, disabled."""
    code_of = functools.lru_cache(functools.partial(_owner_code, facts))
    found: dict[tuple[str, bool], list[str]] = collections.defaultdict(list)
    for record in facts.records.values():
        host, is_free = record.host, record.instance_uuid is None
        if host is not None and code_of(host) is not None:
            found[host, is_free].append(record.uuid)
    for (host, is_free), uuids in sorted(found.items()):
        yield _left(host, code_of(host) or _GONE, not is_free, uuids)


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
OWNER_CODES = frozenset(
    code for state in _STATES for code in (state, f'{state}_with_instance')
)
"""The codes of :func:`left_behind`."""


def _owner_code(facts: Facts, host: str) -> str | None:
    row, alive = facts.services.get(host), host in facts.view.hosts
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


_PASSING = frozenset(('owner_disabled', 'owner_away', 'owner_unregistered'))


def _left(host: str, code: str, deployed: bool, uuids: list[str]) -> Problem:
    passing = code in _PASSING or not (deployed or code == _GONE)
    return _nodes(
        f'{code}_with_instance' if deployed else code,
        Severity.WARNING if passing else Severity.ERROR,
        f'{_count(uuids)} {"with" if deployed else "without"} an instance '
        f'owned by {host}, {_STATES[code]}',
        uuids,
        (host,),
        _LEFT_HINTS.get(code, _STOPPED_HINT).format(host=host),
    )


def placement_behind(facts: Facts) -> Iterator[Problem]:
    """Find nodes whose latest state Placement has not accepted yet."""
    for host, uuids in sorted(facts.placement.behind.items()):
        yield _nodes(
            'placement_behind',
            Severity.WARNING,
            f'Placement is out of date for {_count(uuids)} owned by {host}',
            uuids,
            (host,),
            'Normal for a moment after a change, and for minutes when '
            'many nodes are new; if it lasts, the log of the service '
            "has Placement's answers",
        )


def without_class(facts: Facts) -> Iterator[Problem]:
    """Find nodes without a resource class, which Placement needs."""
    for host, uuids in sorted(facts.placement.without_class.items()):
        yield _nodes(
            'no_resource_class',
            Severity.WARNING,
            f'{_count(uuids)} owned by {host} without a resource class: not '
            'reported to Placement',
            uuids,
            (host,),
            'openstack baremetal node set UUID --resource-class CLASS',
        )


def _by_hosts(
    facts: Facts,
    chosen: Callable[[CheckedNode], bool],
    hosts_of: Callable[[CheckedNode], _Hosts],
    code: str,
    severity: Severity,
    what: str,
    hint: str,
) -> Iterator[Problem]:
    """Yield a problem for each combination of hosts of the chosen nodes.

    :param what: a template with the number of nodes, as {nodes}, each of the
        hosts, as {0} and {1}, and all of them, as {hosts}; so is ``hint``.
    """
    found: dict[_Hosts, list[str]] = collections.defaultdict(list)
    for status in facts.statuses:
        if chosen(status):
            found[hosts_of(status)].append(status.uuid)
    for hosts, uuids in sorted(found.items()):
        text = what.format(
            *hosts, nodes=_count(uuids), hosts=suggestions.listed(hosts)
        )
        yield _nodes(code, severity, text, uuids, hosts, hint.format(*hosts))


def _nodes(
    code: str,
    severity: Severity,
    what: str,
    uuids: Iterable[str],
    hosts: _Hosts = (),
    hint: str = '',
) -> Problem:
    return Problem(
        code, severity, what, Kind.NODE, tuple(sorted(uuids)), hosts, hint
    )


def _count(uuids: Iterable[str]) -> str:
    return suggestions.counted(len(tuple(uuids)), 'node')


def _owners(facts: Facts, uuids: Iterable[str]) -> _Hosts:
    owners = {facts.records[uuid].host for uuid in uuids}
    return tuple(sorted(host for host in owners if host is not None))
