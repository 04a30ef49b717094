"""Rings and scopes of services, inferred from the rows of free nodes.

``peer_list``, ``shard`` and ``conductor_group`` of a nova-compute are in its
nova.conf, which no database has. But each service takes the free nodes that
its own ring gives to it, and the ring is a known function: so the rows of a
service fit some lists of peers and not others.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Mapping, Sequence

from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.contracts.texts import counted
from ironic_ownership.policies.peer_list import Ring
from ironic_ownership_nova.cell.check import Finding
from ironic_ownership_nova.doctor.snapshot import Key, Snapshot, key_of, named

Rows = Mapping[str, Mapping[Key, Sequence[str]]]
"""Nodes by the canonical name of their service, and by shard and group."""


def of_rings(seen: Snapshot) -> Iterator[Finding]:
    """Return services whose free nodes no common ring explains."""
    free, deployed = _rows_of_live(seen)
    for group in _sharing(free):
        lists = inferred(
            {host: [*itertools.chain(*free[host].values())] for host in group}
        )
        if len({*lists.values()}) > 1:
            yield _disagreement(free, lists)
    yield from _out_of_scope(free, deployed)


def inferred(nodes: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Return the longest list of peers that the rows of each service fit.

    If all use one ring, it is all of them, also if that ring has more peers:
    on a ring with fewer hosts, those that are left keep their nodes. A peer
    that owns a row of the service on a ring is on no list that is part of
    it, so there is one longest list.

    :param nodes: free nodes by service.
    """
    every = frozenset(nodes)
    found = {}
    for host, rows in nodes.items():
        peers = every
        while rivals := {*Ring(peers).owners(rows)} - {host}:
            peers -= rivals
        found[host] = peers
    return found


def _rows_of_live(seen: Snapshot) -> tuple[Rows, Rows]:
    """Return the free and the deployed nodes of live services."""
    free: dict[str, dict[Key, list[str]]] = {}
    deployed: dict[str, dict[Key, list[str]]] = {}
    running = {one.node for one in seen.cell.instances}
    live = {canonical_host(o.host) for o in seen.cell.services if o.is_up}
    for uuid, node in (seen.nodes or {}).items():
        row = seen.row_of.get(uuid)
        host = canonical_host(row.host or '') if row else ''
        if host not in live or uuid in seen.changing:
            continue
        is_occupied = node.instance_uuid or uuid in running
        which = deployed if is_occupied else free
        of_host = which.setdefault(host, collections.defaultdict(list))
        of_host[key_of(node)].append(uuid)
    return free, deployed


def _sharing(free: Rows) -> list[frozenset[str]]:
    """Return the services that have free nodes of the same shard and group.

    Two that share with a third one are in one group.
    """
    groups: list[set[str]] = []
    keys = {key for of_host in free.values() for key in of_host}
    for key in keys:
        joined = {host for host, of_host in free.items() if key in of_host}
        apart = [group for group in groups if not group & joined]
        for group in groups:
            if group & joined:
                joined |= group
        groups = [*apart, joined]
    return sorted(
        (frozenset(group) for group in groups if len(group) > 1), key=sorted
    )


def _disagreement(free: Rows, lists: Mapping[str, frozenset[str]]) -> Finding:
    hosts = sorted(lists)
    shared = collections.Counter(key for host in hosts for key in free[host])
    where = ', '.join(sorted(named(k) for k, n in shared.items() if n > 1))
    alone = all(peers == {host} for host, peers in lists.items())
    detail = '; '.join(
        f'{host}: {counted(sum(map(len, free[host].values())), "free node")}'
        + (
            ''
            if alone
            else f', as with peers {", ".join(sorted(lists[host]))}'
        )
        for host in hosts
    )
    if alone:
        code = 'shared_without_ring'
        what = f'have free nodes with {where}, and no ring divides them'
        hint = (
            'Give each service a shard or conductor group of its own; or, '
            'with conductor groups, the same [ironic] peer_list on all of them'
        )
    else:
        code = 'peer_lists_differ'
        what = f'divide the nodes with {where} by different lists of peers'
        hint = (
            'Compare [ironic] peer_list and [DEFAULT] host of their nova.conf'
        )
    return Finding(
        code,
        f'{", ".join(hosts)} {what} ({detail})',
        tuple(hosts),
        f'{hint}. If one was started or stopped a moment ago, check again in '
        'two minutes',
    )


def _out_of_scope(free: Rows, deployed: Rows) -> Iterator[Finding]:
    """Return deployed nodes whose shard or group only others serve."""
    serving: dict[Key, set[str]] = collections.defaultdict(set)
    for host, of_host in free.items():
        for key in of_host:
            serving[key].add(host)
    for host, of_host in sorted(deployed.items()):
        own = free.get(host, {})
        for key, uuids in of_host.items():
            others = serving[key] - {host}
            if not own or key in own or not others:
                continue
            if any(serving[one] & others for one in own):
                continue  # they share a ring that gave it no node of these
            yield Finding(
                'deployed_out_of_scope',
                f'it has an instance on {host}, whose free nodes have '
                f'{" or ".join(sorted(map(named, own)))}; it has '
                f'{named(key)}, as the free nodes of '
                f'{", ".join(sorted(others))}',
                tuple(uuids),
                f'Move it: stop {host}, force it down, and nova-manage db '
                'ironic_compute_node_move',
            )
