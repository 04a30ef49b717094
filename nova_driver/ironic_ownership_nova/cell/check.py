"""Check a Nova cell: what has to be right before its nodes are adopted.

Pure, except for :func:`of_cell`, which reads.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.engine.ports import Records
from ironic_ownership_nova.cell import problems
from ironic_ownership_nova.cell.model import CellNode, CellSnapshot, Drift
from ironic_ownership_nova.cell.nova_options import NovaConfiguration
from ironic_ownership_nova.cell.port import SqlCell

_START = 'Start that nova-compute. If it is gone for good, delete the rows. '
DELETED_ROWS = (
    'For each node without a server: UPDATE compute_nodes SET deleted = id '
    "WHERE uuid = 'UUID', in the cell's database; and openstack resource "
    'provider delete UUID'
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    :param code: stable, for scripts.
    :param subjects: uuids of nodes, hosts, or permissions.
    :param hint: the action that resolves it.
    :param prevents_adoption: whether these nodes are left out.
    """

    code: str
    what: str
    subjects: tuple[str, ...]
    hint: str
    prevents_adoption: bool = False


def of_cell(
    cell: SqlCell,
    records: Records,
    backend: MembershipBackend,
    configuration: NovaConfiguration | None = None,
) -> list[Finding]:
    """Check one cell, its permissions, and a nova.conf if there is one.

    Without permission to read, nothing else is checked.

    :raises RecordsError: if the cell can't be read for another reason.
    """
    missing = cell.missing_grants()
    found = [
        Finding(
            'grant_missing',
            'the user of [database] connection lacks a permission',
            (grant.what,),
            f'As an administrator of the database: {grant.statement}',
        )
        for grant in missing
    ]
    if any(grant.what.startswith('SELECT') for grant in missing):
        return found
    snapshot = cell.read()
    return [
        *found,
        *of_configuration(configuration, snapshot),
        *of_snapshot(snapshot),
        *_of_drift(cell.drift(), records, backend),
    ]


def _of_drift(
    drift: Sequence[Drift], records: Records, backend: MembershipBackend
) -> Iterator[Finding]:
    """Return the nodes whose row names another host than the record."""
    if not drift:
        return
    services = {row.host: row for row in records.services()}
    alive: Collection[str] = services
    # If the members are unknown, no service is called dead.
    with contextlib.suppress(exceptions.MembershipError):
        alive = backend.view().hosts
    for one in drift:
        deployed = one.instance_uuid is not None
        what = (
            f'; its row and its instance {one.instance_uuid} name'
            if deployed
            else ', and no instance is on it; its row names'
        )
        yield Finding(
            'row_drifted_deployed' if deployed else 'row_drifted',
            f'{one.owner} owns it on record{what} {one.host or "no host"}',
            (one.uuid,),
            problems.hint(one, services, alive, one.uuid),
        )


def of_snapshot(cell: CellSnapshot) -> list[Finding]:
    """Return what is wrong within a cell."""
    return [
        *_case_twins(cell),
        *_uuids(cell),
        *_services(cell),
        *_instances(cell),
    ]


def of_configuration(
    configuration: NovaConfiguration | None, cell: CellSnapshot
) -> Iterator[Finding]:
    """Return the peers of a nova.conf that the cell does not have."""
    if configuration is None:
        return
    known = {canonical_host(service.host) for service in cell.services}
    for peer in configuration.peers:
        if canonical_host(peer) not in known:
            yield Finding(
                'peer_unknown',
                f'[ironic] peer_list of {configuration.path} names {peer}, '
                'which is no nova-compute service of the cell',
                (peer,),
                'Start that nova-compute, or take it out of the list on all '
                'its peers',
            )


def _case_twins(cell: CellSnapshot) -> Iterator[Finding]:
    spellings: dict[str, set[str]] = collections.defaultdict(set)
    for service in cell.services:
        spellings[canonical_host(service.host)].add(service.host)
    for node in cell.nodes:
        if node.host is not None:
            spellings[canonical_host(node.host)].add(node.host)
    for host, names in sorted(spellings.items()):
        if len(names) > 1:
            yield Finding(
                'case_twins',
                f'{", ".join(sorted(names))} differ only in case, and are one '
                'service here',
                (host,),
                'Use one spelling of [DEFAULT] host in nova.conf; the rows '
                'follow with the adoption. If the cell has a service of each, '
                'delete the others: openstack compute service delete ID',
            )


def _uuids(cell: CellSnapshot) -> Iterator[Finding]:
    wrong = [node for node in cell.nodes if node.uuid != node.name]
    for node in wrong:
        yield Finding(
            'uuid_differs',
            f'its row has {problems.uuid_of(node)}'
            f'{" and not that of the node" if node.uuid else ""}',
            (node.name,),
            problems.rename(node),
            prevents_adoption=True,
        )


def _services(cell: CellSnapshot) -> Iterator[Finding]:
    by_host = {canonical_host(s.host): s for s in cell.services}
    for node in cell.nodes:
        service = by_host.get(canonical_host(node.host or ''))
        if service is None:
            yield Finding(
                'no_service',
                f'its row names {node.host or "no host"}, which is no '
                'nova-compute service of the cell',
                (node.name,),
                _START + DELETED_ROWS if node.host else DELETED_ROWS,
                prevents_adoption=True,
            )
        elif node.service_id != service.id:
            yield Finding(
                'service_id_differs',
                f'its row names {node.host} and the service id '
                f'{node.service_id}, not {service.id}',
                (node.name,),
                'Nothing to do: the adoption writes the id',
            )


def _instances(cell: CellSnapshot) -> Iterator[Finding]:
    nodes: dict[str, CellNode] = {node.name: node for node in cell.nodes}
    running: dict[str, list[str]] = collections.defaultdict(list)
    for instance in cell.instances:
        node = nodes.get(instance.node)
        if node is None:
            continue
        running[instance.node].append(instance.uuid)
        host = canonical_host(node.host or '')
        if canonical_host(instance.host) != host:
            yield Finding(
                'half_moved',
                f'its row names {host or "no host"}, its instance '
                f'{instance.uuid} names {instance.host}',
                (instance.node,),
                'Decide which of the two serves the node, and correct the '
                'host of the other row in the tables compute_nodes or '
                'instances',
                prevents_adoption=True,
            )
    for name, uuids in sorted(running.items()):
        if len(uuids) > 1:
            yield Finding(
                'double_instances',
                f'the instances {", ".join(sorted(uuids))} are on it',
                (name,),
                'Delete those in Nova that Ironic does not name: openstack '
                'server delete',
                prevents_adoption=True,
            )
