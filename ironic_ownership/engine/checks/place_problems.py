"""Problems of places: conductors, shards and groups, and who serves them.

Pure. Each function is one check and yields any number of problems.
"""

from __future__ import annotations

import collections
import shlex
from collections.abc import Collection, Iterator, Mapping

from ironic_ownership.contracts import texts
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.engine.checks.problem import (
    ALL,
    IRONIC,
    PLACES,
    Check,
    Kind,
    Problem,
    Severity,
    check,
)
from ironic_ownership.engine.host.enforcement import NOT_ENFORCED
from ironic_ownership.engine.queries.deployment import Deployment, NodeStatus

_ERROR, _WARNING, _UNKNOWN, _ = Severity


@check('conductors', IRONIC, _ERROR, Kind.CONDUCTOR, 'no_conductor')
def no_conductor(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Report that no conductor is alive."""
    if seen.conductors is not None and seen.conductors.all_gone:
        yield problem(
            'no conductor of Ironic is alive: no node can be managed',
            seen.conductors.names,
            'Start the conductors, or find out why their heartbeats do '
            'not reach the database of Ironic',
        )


@check('enforcement', IRONIC, _ERROR, Kind.PART, 'not_enforced')
def not_enforced(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Report that Ironic does not enforce ownership as configured."""
    found = NOT_ENFORCED.get(seen.enforcement or Enforcement.ENFORCED)
    if found is not None:
        text, hint = found
        yield problem(
            f'Ironic does not enforce ownership as configured: {text}',
            ('enforcement',),
            hint,
        )


@check(
    'unlisted conductors', IRONIC, _UNKNOWN, Kind.PART, 'conductors_unknown'
)
def unknown_conductors(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Report that Ironic does not list its conductors."""
    if seen.unshown is not None:
        yield problem(
            'Ironic does not list its conductors: '
            f'{" ".join(str(seen.unshown).split())}',
            ('conductors',),
            'Not checked: nodes out of service',
        )


@check(
    'nodes out of service',
    ALL,
    _ERROR,
    Kind.NODE,
    *('out_of_service', 'out_of_service_unowned'),
)
def out_of_service(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find nodes whose driver no live conductor of their group has.

    Source: out-of-service. Unowned nodes have a code of their own: no refresh
    evaluates them, so only this check reports them.
    """
    conductors = seen.conductors
    if conductors is None or conductors.all_gone:
        return
    found: dict[tuple[bool, str, str], list[NodeStatus]]
    found = collections.defaultdict(list)
    for node in seen.evaluated:
        if node.is_out_of_service:
            place = node.driver or '', node.place[1]
            found[node.owner is not None, *place].append(node)
    for (owned, driver, group), nodes in sorted(
        found.items(), key=lambda item: item[0]
    ):
        where = texts.group_named(group)
        needed = conductors.needed(driver, group)
        supported = conductors.supports(driver, group)
        if supported:
            why = f'driver {driver!r} has only just come back in {where}'
            hint = 'They return to service after [ownership] recovery_delay'
        else:
            why = f'no live conductor has the driver {driver!r} in {where}'
            hint = (
                f'Start one of these conductors: {texts.listed(needed)}'
                if needed
                else 'Start a conductor there that enables the driver, or '
                'correct driver and conductor group of the nodes'
            )
        kind = 'node' if owned else 'unowned node'
        yield problem(
            f'{texts.counted(len(nodes), kind)} out of service: {why}',
            [node.uuid for node in nodes],
            hint,
            sorted({node.owner for node in nodes if node.owner is not None}),
            code='out_of_service' if owned else 'out_of_service_unowned',
            severity=_WARNING if supported else _ERROR,
        )


@check(
    'shards without a service',
    PLACES,
    _ERROR,
    Kind.SHARD,
    'shard_without_service',
)
def unserved_shards(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find shards in Ironic that no live, enabled service serves."""
    yield from _without_service(problem, _unserved(seen, 0), 'shard_key')


@check(
    'conductor groups without a service',
    PLACES,
    _ERROR,
    Kind.CONDUCTOR_GROUP,
    'conductor_group_without_service',
)
def unserved_groups(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find conductor groups that no live, enabled service serves.

    Groups that consist of unserved shards are reported as shards only.
    """
    groups = _unserved(seen, 1, _unserved(seen, 0))
    yield from _without_service(problem, groups, 'conductor_group')


@check('case of shards', PLACES, _ERROR, Kind.SHARD, 'shard_case')
def shard_case(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find shards and shard keys that differ only in case.

    Shards are case-sensitive in Ironic.
    """
    keys = _shard_keys(seen)
    present = {shard for shard, _ in seen.places if shard is not None}
    alike: dict[str, set[str]] = collections.defaultdict(set)
    for name in present | keys.keys():
        alike[name.casefold()].add(name)
    for variants in alike.values():
        if len(variants) < 2:
            continue
        places = []
        for name in sorted(variants):
            where = ['in Ironic'] if name in present else []
            if name in keys:
                where.append(f'shard key of {texts.listed(keys[name])}')
            places.append(f'{name!r} ({", ".join(where)})')
        yield problem(
            f'shards that differ only in case: {", ".join(places)}',
            variants,
            'Write the shard_key exactly as in Ironic',
            sorted({host for n in variants for host in keys.get(n, ())}),
        )


@check(
    'shard keys without nodes',
    PLACES,
    _WARNING,
    Kind.SHARD,
    'shard_without_nodes',
)
def empty_shards(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find shard keys of live services that no node in Ironic has."""
    present = {shard for shard, _ in seen.places}
    for shard, hosts in _shard_keys(seen).items():
        if shard not in present:
            yield problem(
                f'no node in Ironic has the shard key {shard!r} of '
                f'{texts.listed(hosts)}',
                (shard,),
                'openstack baremetal node set NODE --shard '
                f'{shlex.quote(shard)}, or correct the shard_key',
                hosts,
            )


def _without_service(
    problem: Check, nodes: Mapping[str, int], option: str
) -> Iterator[Problem]:
    if nodes:
        counts = [f'{name!r} (nodes: {nodes[name]})' for name in sorted(nodes)]
        what = str(problem.kind).replace('_', ' ')
        yield problem(
            f'{what} without a live, enabled service: {texts.listed(counts)}',
            nodes,
            'Start a service that admits these nodes, such as one with that '
            f'{option}, or change the nodes in Ironic',
        )


def _unserved(
    seen: Deployment, which: int, reported: Collection[str | None] = ()
) -> dict[str, int]:
    """Return the number of nodes of shards, or of groups, without a service.

    :param which: part of a place: 0 is its shard, 1 its conductor group.
    :param reported: shards whose places are no reason to report a group.
    """
    nodes: dict[str, int] = collections.Counter()
    served, unserved = set(), set()
    for place, (number, is_served) in _places(seen).items():
        name = place[which]
        if name is None:
            continue
        nodes[name] += number
        if is_served:
            served.add(name)
        elif place[0] not in reported:
            unserved.add(name)
    return {name: nodes[name] for name in unserved - served}


def _places(
    seen: Deployment,
) -> dict[tuple[str | None, str], tuple[int, bool]]:
    """Return the number of nodes of each place, and whether it is served."""
    stock = {row.host for row in seen.services.values() if row.is_stock}
    by_stock = {
        (node.shard, node.conductor_group)
        for record in (seen.records.values() if stock else ())
        if record.host in stock and (node := seen.nodes.get(record.uuid))
    }
    groups = seen.peer_groups.groups
    return {
        place: (
            number,
            place in by_stock
            or any(one.policies.scope.matches(*place) for one in groups)
            or any(part.may_admit(*place) for part in seen.unreadable),
        )
        for place, number in seen.places.items()
    }


def _shard_keys(seen: Deployment) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for host in sorted(seen.view.hosts):
        policies = seen.peer_groups.policies.get(host)
        shard = policies.scope.shard if policies else None
        if shard is not None:
            found[shard] = (*found.get(shard, ()), host)
    return found
