"""Problems of nodes and records: unowned, contested, orphaned, stranded.

Pure. Each function is one check and yields any number of problems.
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
from ironic_ownership.engine.queries.node_status import NodeStatus

_MOVE = 'ironic-ownership compute node move UUID --service'
_Hosts = tuple[str, ...]


def unowned(facts: Facts) -> Iterator[Problem]:
    """Find unowned nodes that no live service admits."""
    found = [
        f.uuid
        for f in facts.statuses
        if f.owner is None
        and _decision(f).reason is reasons.Reason.NOT_ADMITTED
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
    found = _by_hosts(
        facts.statuses,
        lambda f: f.owner is None and _decision(f).owner is not None,
        lambda f: (_decision(f).owner or '',),
    )
    for hosts, uuids in found:
        yield _nodes(
            'unclaimed',
            Severity.WARNING,
            f'{_count(uuids)} not yet claimed by {hosts[0]}',
            uuids,
            hosts,
            'It claims them at its next refresh; if it does not, see its log',
        )


def misplaced(facts: Facts) -> Iterator[Problem]:
    """Find free nodes that their live owner is about to release."""
    found = _by_hosts(
        facts.statuses,
        lambda f: bool(f.owner_alive) and _decision(f).owner != f.owner,
        lambda f: (f.owner or '', _decision(f).owner or 'no service'),
    )
    for hosts, uuids in found:
        yield _nodes(
            'misplaced',
            Severity.WARNING,
            f'{_count(uuids)} still owned by {hosts[0]}, decided for '
            f'{hosts[1]}',
            uuids,
            hosts,
            'They change owner at the next refreshes of both services',
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
            'nodes, and no service claims the others',
        )


def conflict(facts: Facts) -> Iterator[Problem]:
    """Find nodes that several services admit by the same filter."""
    for hosts, uuids in _contest(facts, model.Contest.CONFLICT):
        yield _nodes(
            'conflict',
            Severity.ERROR,
            f'{_count(uuids)} admitted by several services with the same '
            'filter: '
            f'{suggestions.listed(hosts)}',
            uuids,
            hosts,
            'Only the one that joined first claims them: stop the others, or '
            'give each its own filter',
        )


def kept_from(facts: Facts) -> Iterator[Problem]:
    """Find free nodes whose record names another service than the policies.

    Source: ironic-shards, "Data model impact": only an operator moves them.
    """
    found = _by_hosts(
        facts.statuses,
        lambda f: _decision(f).reason is reasons.Reason.RECORD_KEEPS,
        lambda f: (f.owner or '', _decision(f).wanted_by or 'no service'),
    )
    for hosts, uuids in found:
        yield _nodes(
            'record_keeps',
            Severity.WARNING,
            f'{_count(uuids)} on record with {hosts[0]}; the policies give '
            f'them to {hosts[1]}',
            uuids,
            hosts,
            f'Only a move changes the owner: {_MOVE} {hosts[1]}',
        )


def filtered(facts: Facts) -> Iterator[Problem]:
    """Find nodes that a live owner keeps outside of its own filters."""
    found = _by_hosts(
        facts.statuses,
        lambda f: (
            bool(f.owner_alive)
            and _decision(f).filtered
            and _decision(f).reason is not reasons.Reason.RECORD_KEEPS
        ),
        lambda f: (f.owner or '',),
    )
    for hosts, uuids in found:
        yield _nodes(
            'filtered',
            Severity.WARNING,
            f'{_count(uuids)} kept by {hosts[0]}, whose policies no longer '
            'admit them',
            uuids,
            hosts,
            f'Move them ({_MOVE} HOST), or restore their shard and '
            'conductor group in Ironic',
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
    owners = {r.uuid: r.host for r in facts.records}
    gone, unverified = facts.nodes.gone, facts.nodes.unverified
    if gone:
        yield _nodes(
            'orphan',
            Severity.WARNING,
            f'{_count(gone)} on record for which Ironic answers 404',
            gone,
            _hosts(owners[uuid] for uuid in gone),
            'A live owner deletes such a record, unless an instance is '
            'recorded; otherwise: ironic-ownership compute node delete UUID',
        )
    if unverified:
        yield _nodes(
            'orphan_not_verified',
            Severity.UNKNOWN,
            f'{_count(unverified)} on record and not listed by Ironic, too '
            'many to verify one by one',
            unverified,
            _hosts(owners[uuid] for uuid in unverified),
            'Make sure that this is the right Ironic, and that the '
            'credential sees all of its nodes',
        )


def left_behind(facts: Facts) -> Iterator[Problem]:
    """Find records whose owner does not serve: dead, gone, away, disabled."""
    owned: dict[str, list[model.ComputeNode]] = collections.defaultdict(list)
    for record in facts.records:
        if record.host is not None:
            owned[record.host].append(record)
    for host, records in sorted(owned.items()):
        code, state = _owner_state(facts, host)
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


def _owner_state(facts: Facts, host: str) -> tuple[str, str]:
    row, alive = facts.services.get(host), host in facts.view.hosts
    if row is None and not alive:
        return 'owner_gone', 'which is no longer a service'
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
    return _nodes(
        f'{code}_with_instance' if deployed else code,
        Severity.WARNING if passing else Severity.ERROR,
        f'{_count(uuids)} {"with" if deployed else "without"} an instance '
        f'owned by {host}, {state}',
        uuids,
        (host,),
        f'Bring {host} back, or move the nodes: {_MOVE} HOST',
    )


def _contest(
    facts: Facts, kind: model.Contest
) -> Iterable[tuple[_Hosts, list[str]]]:
    return _by_hosts(
        facts.statuses,
        lambda f: _decision(f).contest is kind,
        lambda f: _decision(f).contenders,
    )


def _by_hosts(
    statuses: Iterable[NodeStatus],
    chosen: Callable[[NodeStatus], bool],
    hosts: Callable[[NodeStatus], _Hosts],
) -> Iterable[tuple[_Hosts, list[str]]]:
    """Return the uuids of the chosen nodes by the hosts concerned."""
    found: dict[_Hosts, list[str]] = collections.defaultdict(list)
    for status in statuses:
        if chosen(status):
            found[hosts(status)].append(status.uuid)
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


def _decision(status: NodeStatus) -> model.Decision:
    # Facts omit nodes that Ironic does not have; all others are decided.
    assert status.decision is not None
    return status.decision
