"""Findings about rows, instances, services and providers.

Pure functions of a snapshot.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator

from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.contracts.texts import counted
from ironic_ownership_nova.cell import check, problems
from ironic_ownership_nova.cell.check import Finding
from ironic_ownership_nova.doctor import rings
from ironic_ownership_nova.doctor.snapshot import Key, Snapshot, key_of, named

_RELOCATED = (
    'Find out where the server runs. If Ironic is right: UPDATE instances SET '
    "node = '{node}' WHERE uuid = '{instance}', in the cell's database"
)
_TWO_CELLS = (
    'Two cells select the node: give them different shards or conductor '
    'groups. Then, in the database of the cell that it leaves: UPDATE '
    "compute_nodes SET deleted = id WHERE uuid = '{node}'"
)
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)
_MOST_MISSING = 0.5
"""Share of the rows without a node from which on the list of Ironic is taken
for incomplete: credentials of a project see only its own nodes."""


def of_snapshot(seen: Snapshot) -> list[Finding]:
    """Return all findings, those of one cause together."""
    twice = {name for name, rows in seen.rows.items() if len(rows) > 1}
    within = (
        found
        for found in check.of_snapshot(seen.cell)
        # The row that has to go is named by the finding about both rows.
        if not (found.code == 'uuid_differs' and twice & {*found.subjects})
    )
    found = [
        *_duplicate_rows(seen),
        *within,
        *_dead_services(seen),
        *rings.of_rings(seen),
        *_providers(seen),
    ]
    if seen.nodes is not None:
        missing = sum(name not in seen.nodes for name in seen.rows)
        if missing > _MOST_MISSING * len(seen.rows):
            found.append(_incomplete(seen, len(seen.nodes)))
        else:
            found += [*_missing_nodes(seen), *_unserved(seen)]
            found += _instances(seen)
    return _together(found)


def _together(found: list[Finding]) -> list[Finding]:
    """Merge findings that differ in their subjects only."""
    merged: dict[tuple[str, str, str], list[str]] = collections.defaultdict(
        list
    )
    left_out = {one.code for one in found if one.prevents_adoption}
    for one in found:
        merged[one.code, one.what, one.hint] += one.subjects
    return [
        Finding(code, what, tuple(subjects), hint, code in left_out)
        for (code, what, hint), subjects in merged.items()
    ]


def _duplicate_rows(seen: Snapshot) -> Iterator[Finding]:
    for name, rows in seen.rows.items():
        if len(rows) > 1:
            kept = seen.row_of[name]
            odd = [r for r in rows if r is not kept and r.uuid != name]
            hosts = ' and '.join(
                f'{row.host or "no host"} ({problems.uuid_of(row)})'
                for row in rows
            )
            yield Finding(
                'duplicate_rows',
                f'it has {len(rows)} rows: {hosts}',
                (name,),
                '; '.join(map(problems.rename, odd))
                or _TWO_CELLS.format(node=name),
                prevents_adoption=True,
            )


def _dead_services(seen: Snapshot) -> Iterator[Finding]:
    nodes = collections.Counter(
        canonical_host(row.host or '') for row in seen.cell.nodes
    )
    servers = collections.Counter(
        canonical_host(one.host) for one in seen.cell.instances
    )
    for service in seen.cell.services:
        host = canonical_host(service.host)
        if service.is_up or not nodes[host]:
            continue
        yield Finding(
            'service_down',
            f'{service.host} is {"forced " if service.forced_down else ""}'
            f'down, with {counted(nodes[host], "row")} and '
            f'{counted(servers[host], "instance")}',
            (service.host,),
            'Start it. Or, once you are sure that it is stopped, force it '
            'down and move each node: nova-manage db '
            'ironic_compute_node_move',
        )


def _incomplete(seen: Snapshot, listed: int) -> Finding:
    return Finding(
        'ironic_incomplete',
        f'Ironic lists {counted(listed, "node")}, and most of the '
        f'{counted(len(seen.rows), "node")} of the cell are not among them',
        (),
        'Use credentials that see all nodes, such as those of nova-compute '
        'in [ironic] of its nova.conf; or name the Ironic of this cell',
    )


def _missing_nodes(seen: Snapshot) -> Iterator[Finding]:
    assert seen.nodes is not None
    known = {canonical_host(one.host) for one in seen.cell.services}
    for name, row in seen.row_of.items():
        if name in seen.nodes or name in seen.changing:
            continue
        host = row.host or 'no host'
        yield Finding(
            'row_orphaned',
            f'Ironic does not list it; its row names {host}',
            (name,),
            f'If {host} is up, wait for its next pass, which deletes row and '
            'provider. Otherwise start it, or delete its service: openstack '
            'compute service delete'
            if canonical_host(host) in known
            else check.DELETED_ROWS,
        )


def _unserved(seen: Snapshot) -> Iterator[Finding]:
    assert seen.nodes is not None
    missing: dict[Key, list[str]] = collections.defaultdict(list)
    served: set[Key] = set()
    for uuid, node in seen.nodes.items():
        if uuid in seen.rows:
            served.add(key_of(node))
        elif uuid not in seen.changing:
            missing[key_of(node)].append(uuid)
    for key, uuids in sorted(missing.items(), key=lambda of: named(of[0])):
        some = key in served
        yield Finding(
            'node_unserved',
            f'no row in the cell; {"other nodes" if some else "no other node"}'
            f' with {named(key)} {"have" if some else "has"} one',
            tuple(uuids),
            'See the log of the nova-compute that serves it for the error of '
            'its last pass'
            if some
            else 'Start a nova-compute whose [ironic] shard and '
            'conductor_group select it. Or correct the two fields of the '
            'node: openstack baremetal node set',
        )


def _instances(seen: Snapshot) -> Iterator[Finding]:
    assert seen.nodes is not None
    for uuid, node in seen.nodes.items():
        instance = node.instance_uuid
        if instance is None or uuid in seen.changing:
            continue
        known = seen.instances.get(instance)
        if known is None:
            yield Finding(
                'instance_unknown',
                'Ironic has an instance on it that the cell does not run',
                (uuid,),
                'If it was deleted in Nova, and neither another cell nor '
                'another program uses it: openstack baremetal node undeploy',
            )
        elif known.node != uuid and known.is_settled:
            yield Finding(
                'instance_elsewhere',
                f'Ironic has the instance {instance} on it, the cell has it '
                f'on {known.node}',
                (uuid,),
                _RELOCATED.format(node=uuid, instance=instance),
            )
    for one in seen.cell.instances:
        if not one.is_settled or one.node in seen.changing:
            continue
        listed = seen.nodes.get(one.node)
        if listed is not None and listed.instance_uuid is None:
            yield Finding(
                'instance_lost',
                f'the cell has the instance {one.uuid} on it, Ironic none',
                (one.node,),
                'If the server does not run any more: openstack server '
                f'delete {one.uuid}. If it does: openstack baremetal node '
                f'set {one.node} --instance-uuid {one.uuid}',
            )
        elif listed is None or one.node not in seen.rows:
            yield Finding(
                'instance_without_node',
                f'the instance {one.uuid} of {one.host} is on it, and '
                f'{"Ironic" if listed is None else "the cell"} has no such '
                'node',
                (one.node,),
                'Enrol the node again under its uuid, or delete the server: '
                f'openstack server delete {one.uuid}',
            )


def _providers(seen: Snapshot) -> Iterator[Finding]:
    if seen.providers is None:
        return
    # Nova gives those of nodes the uuid of the node as name.
    own = {u: n for u, n in seen.providers.items() if _UUID.fullmatch(n)}
    by_name: dict[str, list[str]] = collections.defaultdict(list)
    for uuid, name in own.items():
        by_name[name.lower()].append(uuid)
    for uuid, name in own.items():
        node = name.lower()
        if uuid.lower() == node:
            yield from _orphan(seen, node)
            continue
        double = node in seen.providers
        yield Finding(
            'provider_duplicate' if double else 'provider_uuid_differs',
            f'Placement has the provider {uuid} under its name'
            + (', and another one with its uuid' if double else ''),
            (node,),
            'While no server is on the node: openstack resource provider '
            f'delete {uuid}; the nova-compute of the node makes the right '
            'one in its next pass',
        )
    for name in seen.rows:
        known = name in seen.providers or name in by_name
        if not known and name not in seen.changing:
            yield Finding(
                'provider_missing',
                'its row has no provider in Placement',
                (name,),
                'See the log of its nova-compute, which creates one in each '
                'pass; restart it if it does not',
            )


def _orphan(seen: Snapshot, node: str) -> Iterator[Finding]:
    """Return a provider of which neither Nova nor Ironic knows the node."""
    known = node in seen.rows or node in (seen.nodes or {})
    if known or node in seen.changing:
        return
    yield Finding(
        'provider_orphaned',
        'Placement has a provider for it, and the cell no row'
        + ('' if seen.nodes is None else ', nor does Ironic have it'),
        (node,),
        'Unless it is a node of another cell or another Ironic: openstack '
        'resource provider delete UUID. It is refused while allocations are '
        'left: openstack resource provider allocation delete SERVER',
    )
