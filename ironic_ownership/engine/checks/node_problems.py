"""Problems of nodes and records: unowned, contested, orphaned, left behind.

Pure. Each function is one check and gives any number of problems.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator

from ironic_ownership.contracts import model, reasons
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    Facts,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.queries import node_status

_MOVE = 'ironic-ownership compute node move UUID --service'
_Hosts = tuple[str, ...]


def unowned(facts: Facts) -> Iterator[Problem]:
    """Find nodes that no live service admits and nobody owns."""
    found = [
        f.uuid
        for f in facts.findings
        if _owner(f) is None
        and _decision(f).reason is reasons.Reason.NOT_ADMITTED
    ]
    if found:
        yield _nodes(
            'unowned',
            Severity.ERROR,
            f'{_count(found)} owned by nobody: no live, enabled service '
            'admits them',
            found,
            hint='"ironic-ownership compute node explain UUID" tells why; '
            'start a service for their shard and conductor group',
        )


def unclaimed(facts: Facts) -> Iterator[Problem]:
    """Find nodes whose owner is decided and has not claimed them yet."""
    found = _by_hosts(
        facts.findings,
        lambda f: _owner(f) is None and _decision(f).owner is not None,
        lambda f: (_decision(f).owner or '',),
    )
    for hosts, uuids in found:
        yield _nodes(
            'unclaimed',
            Severity.WARNING,
            f'{_count(uuids)} not yet claimed by {hosts[0]}',
            uuids,
            hosts,
            'It claims them at its next refresh; if it does not, its log '
            'says why',
        )


def misplaced(facts: Facts) -> Iterator[Problem]:
    """Find free nodes whose live owner is about to give them up."""
    found = _by_hosts(
        facts.findings,
        lambda f: bool(f.owner_alive) and _decision(f).owner != _owner(f),
        lambda f: (_owner(f) or '', _decision(f).owner or 'nobody'),
    )
    for hosts, uuids in found:
        yield _nodes(
            'misplaced',
            Severity.WARNING,
            f'{_count(uuids)} still with {hosts[0]}, to go to {hosts[1]}',
            uuids,
            hosts,
            'They go at the next refreshes of both services',
        )


def contested(facts: Facts) -> Iterator[Problem]:
    """Find nodes about which services with different settings disagree."""
    for hosts, uuids in _contest(facts, model.Contest.CONTESTED):
        yield _nodes(
            'contested',
            Severity.ERROR,
            f'{_count(uuids)} admitted by services with different settings: '
            f'{suggestions.listed(hosts)}',
            uuids,
            hosts,
            'Give these services the same policies and options, or filters '
            'that do not overlap; until then an owner on record keeps its '
            'nodes and nobody claims the others',
        )


def conflict(facts: Facts) -> Iterator[Problem]:
    """Find nodes that several services admit by one and the same filter."""
    for hosts, uuids in _contest(facts, model.Contest.CONFLICT):
        yield _nodes(
            'conflict',
            Severity.ERROR,
            f'{_count(uuids)} admitted by several services with one filter: '
            f'{suggestions.listed(hosts)}',
            uuids,
            hosts,
            'Only the one that joined first claims: stop the others, or give '
            'each a filter of its own',
        )


def kept_from(facts: Facts) -> Iterator[Problem]:
    """Find free nodes whose record names another service than its policies.

    Source: ironic-shards, "Data model impact": only an operator moves them.
    """
    found = _by_hosts(
        facts.findings,
        lambda f: _decision(f).reason is reasons.Reason.RECORD_KEEPS,
        lambda f: (_owner(f) or '', _decision(f).wanted_by or 'nobody'),
    )
    for hosts, uuids in found:
        yield _nodes(
            'record_keeps',
            Severity.WARNING,
            f'{_count(uuids)} on record with {hosts[0]}; the policies give '
            f'them to {hosts[1]}',
            uuids,
            hosts,
            f'Only a move changes that: {_MOVE} {hosts[1]}',
        )


def filtered(facts: Facts) -> Iterator[Problem]:
    """Find nodes that a live owner keeps outside of its own filters."""
    found = _by_hosts(
        facts.findings,
        lambda f: (
            bool(f.owner_alive)
            and _decision(f).filtered
            and _decision(f).reason is not reasons.Reason.RECORD_KEEPS
        ),
        lambda f: (_owner(f) or '',),
    )
    for hosts, uuids in found:
        yield _nodes(
            'filtered',
            Severity.WARNING,
            f'{_count(uuids)} kept by {hosts[0]}, whose policies admit them '
            'no more',
            uuids,
            hosts,
            f'Move them ({_MOVE} HOST), or give them back their shard and '
            'conductor group in Ironic',
        )


def unlisted(facts: Facts) -> Iterator[Problem]:
    """Tell of nodes that may not be listed from here."""
    if facts.nodes.unlisted:
        yield Problem(
            'not_listed',
            Severity.UNKNOWN,
            f'{facts.nodes.unlisted} node(s) without a shard not judged: '
            'with a shard key set they may not be listed',
            Kind.PART,
            ('nodes without a shard',),
            hint='Run this with a configuration without shard_key',
        )


def orphans(facts: Facts) -> Iterator[Problem]:
    """Find records of nodes that Ironic does not have any more."""
    owners = {r.uuid: r.host for r in facts.records}
    gone, unverified = facts.nodes.gone, facts.nodes.unverified
    if gone:
        yield _nodes(
            'orphan',
            Severity.WARNING,
            f'{_count(gone)} on record for which Ironic answers 404',
            gone,
            _hosts(owners[uuid] for uuid in gone),
            'A live owner deletes such a record by itself, unless an '
            'instance is recorded; else "ironic-ownership compute node '
            'delete UUID"',
        )
    if unverified:
        yield _nodes(
            'orphan_not_verified',
            Severity.UNKNOWN,
            f'{_count(unverified)} on record and not listed by Ironic; not '
            'verified one by one, because there are so many',
            unverified,
            _hosts(owners[uuid] for uuid in unverified),
            'Make sure that the credential sees all nodes, and that Ironic '
            'is the right one',
        )


def left_behind(facts: Facts) -> Iterator[Problem]:
    """Find records whose owner is dead, gone, forced down or disabled.

    Or away: that passes by itself, one way or the other.
    """
    owned: dict[str, list[model.ComputeNode]] = collections.defaultdict(list)
    for record in facts.records:
        if record.host is not None:
            owned[record.host].append(record)
    for host, records in sorted(owned.items()):
        code, state = _standing(facts, host)
        if not code:
            continue
        for deployed in (True, False):
            uuids = [
                r.uuid
                for r in records
                if (r.instance_uuid is not None) is deployed
            ]
            if uuids:
                yield _left(host, code, state, deployed, uuids)


def _standing(facts: Facts, host: str) -> tuple[str, str]:
    row, alive = facts.services.get(host), host in facts.view.hosts
    if row is None and not alive:
        return 'owner_gone', 'which is no service any more'
    if row is not None and row.forced_down:
        return 'owner_forced_down', 'which is forced down'
    if not alive and row is not None and row.away:
        return 'owner_away', 'which was stopped and is expected back'
    if not alive:
        return 'owner_dead', 'which is not alive'
    if row is not None and row.disabled:
        return 'owner_disabled', 'which is disabled'
    return '', ''


def _left(
    host: str, code: str, state: str, deployed: bool, uuids: list[str]
) -> Problem:
    passing = code in ('owner_disabled', 'owner_away') or not (
        deployed or code == 'owner_gone'
    )
    with_ = 'with' if deployed else 'without'
    return _nodes(
        f'{code}_with_instance' if deployed else code,
        Severity.WARNING if passing else Severity.ERROR,
        f'{_count(uuids)} {with_} an instance owned by {host}, {state}',
        uuids,
        (host,),
        f'Bring {host} back, or move the nodes: {_MOVE} HOST',
    )


def _contest(
    facts: Facts, kind: model.Contest
) -> Iterable[tuple[_Hosts, list[str]]]:
    return _by_hosts(
        facts.findings,
        lambda f: _decision(f).contest is kind,
        lambda f: _decision(f).contenders,
    )


def _by_hosts(
    findings: Iterable[node_status.Finding],
    chosen: Callable[[node_status.Finding], bool],
    hosts: Callable[[node_status.Finding], _Hosts],
) -> Iterable[tuple[_Hosts, list[str]]]:
    """Return the uuids of the chosen findings by the hosts they are about."""
    found: dict[_Hosts, list[str]] = collections.defaultdict(list)
    for finding in findings:
        if chosen(finding):
            found[hosts(finding)].append(finding.uuid)
    return sorted(found.items())


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


def _hosts(owners: Iterable[str | None]) -> _Hosts:
    return tuple(sorted({host for host in owners if host is not None}))


def _owner(finding: node_status.Finding) -> str | None:
    return finding.record.host if finding.record else None


def _decision(finding: node_status.Finding) -> model.Decision:
    # Facts leave out what Ironic does not have: the rest is decided.
    assert finding.decision is not None
    return finding.decision
