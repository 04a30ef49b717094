"""Problems of shards and conductor groups without a service or nodes.

Pure. Each function is one check and yields any number of problems.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    Facts,
    Kind,
    Problem,
    Severity,
)


def unserved_shards(facts: Facts) -> Iterator[Problem]:
    """Find shards in Ironic that no live, enabled service serves."""
    yield from _without_service(
        'shard_without_service',
        Kind.SHARD,
        _unserved_shards(facts),
        'shard_key',
    )


def unserved_groups(facts: Facts) -> Iterator[Problem]:
    """Find conductor groups that no live, enabled service serves.

    Groups that consist of unserved shards are reported as shards only.
    """
    reported = _unserved_shards(facts)
    nodes: dict[str, int] = collections.Counter()
    served, unserved = set(), set()
    for (shard, group), number in facts.places.items():
        nodes[group] += number
        if _is_served(facts, shard, group):
            served.add(group)
        elif shard not in reported:
            unserved.add(group)
    yield from _without_service(
        'conductor_group_without_service',
        Kind.CONDUCTOR_GROUP,
        {group: nodes[group] for group in unserved - served},
        'conductor_group',
    )


def empty_shards(facts: Facts) -> Iterator[Problem]:
    """Find shard keys of live services that no node in Ironic has."""
    present = {shard for shard, _ in facts.places}
    for shard, hosts in _shard_keys(facts).items():
        if shard not in present:
            yield Problem(
                'shard_without_nodes',
                Severity.WARNING,
                f'no node in Ironic has the shard key {shard!r} of '
                f'{suggestions.listed(hosts)}',
                Kind.SHARD,
                (shard,),
                hosts,
                f'openstack baremetal node set NODE --shard {shard}, or '
                'correct the shard_key',
            )


def shard_case(facts: Facts) -> Iterator[Problem]:
    """Find shards and shard keys that differ only in case.

    Shards are case-sensitive in Ironic.
    """
    keys = _shard_keys(facts)
    present = {shard for shard, _ in facts.places if shard is not None}
    alike: dict[str, set[str]] = collections.defaultdict(set)
    for name in present | keys.keys():
        alike[name.casefold()].add(name)
    for variants in alike.values():
        if len(variants) < 2:
            continue
        hosts = {host for name in variants for host in keys.get(name, ())}
        places = ', '.join(
            f'{name!r} ({_where(name, present, keys)})'
            for name in sorted(variants)
        )
        yield Problem(
            'shard_case',
            Severity.ERROR,
            f'shards that differ only in case: {places}',
            Kind.SHARD,
            tuple(sorted(variants)),
            tuple(sorted(hosts)),
            'Write the shard_key exactly as in Ironic',
        )


def _where(
    name: str, present: set[str], keys: Mapping[str, tuple[str, ...]]
) -> str:
    parts = ['in Ironic'] if name in present else []
    if name in keys:
        parts.append(f'shard key of {suggestions.listed(keys[name])}')
    return ', '.join(parts)


def _without_service(
    code: str, kind: Kind, nodes: Mapping[str, int], option: str
) -> Iterator[Problem]:
    if nodes:
        unserved = sorted(nodes)
        counts = [f'{name!r} (nodes: {nodes[name]})' for name in unserved]
        what = str(kind).replace('_', ' ')
        yield Problem(
            code,
            Severity.ERROR,
            f'{what} without a live, enabled service: '
            f'{suggestions.listed(counts)}',
            kind,
            tuple(unserved),
            hint=f'Start a service with that {option}, or change the nodes '
            'in Ironic',
        )


def _unserved_shards(facts: Facts) -> dict[str, int]:
    nodes: dict[str, int] = collections.Counter()
    served = set()
    for (shard, group), number in facts.places.items():
        if shard is not None:
            nodes[shard] += number
            if _is_served(facts, shard, group):
                served.add(shard)
    return {shard: n for shard, n in nodes.items() if shard not in served}


def _is_served(facts: Facts, shard: str | None, group: str) -> bool:
    return (
        (shard, group) in facts.stock_places
        or any(
            peers.policies.scope.matches(shard, group)
            for peers in facts.peer_groups.groups
        )
        or any(part.may_admit(shard, group) for part in facts.unreadable)
    )


def _shard_keys(facts: Facts) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for host in sorted(facts.view.hosts):
        policies = facts.peer_groups.policies.get(host)
        shard = policies.scope.shard if policies else None
        if shard is not None:
            found[shard] = (*found.get(shard, ()), host)
    return found
