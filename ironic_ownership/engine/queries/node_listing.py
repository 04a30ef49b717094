"""Lists of compute nodes, filtered by place and owner; or as on record.

The CLI and the HTTP API both list nodes through this module, so law 4 is kept
in one place: with a shard key set, no request without a shard filter lists
nodes.

A list of Ironic costs as much as there are nodes. The records answer at once,
and are as old as the last refresh of each owner.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence

from ironic_ownership.contracts import model, reasons, texts
from ironic_ownership.contracts.conditions import ConditionReport, Loop
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.changes import selection
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import BATCH, tolerant
from ironic_ownership.engine.ports import Ports, Records
from ironic_ownership.engine.queries.deployment import (
    Deployment,
    NodeStatus,
    conductors_of,
    read_services,
)

_FEW = 3
"""Services that a remark names."""

MAX_LOOKUPS = 100
"""Records whose node is not listed that are looked up one by one: some
seconds, while a lost rack may have thousands."""


def decides_together(ports: Ports) -> bool:
    """Tell whether the decision for a node may depend on the others."""
    known = (ports.interpret(s.settings) for s in ports.records.services())
    return any(one is not None and not one.node_by_node for one in known)


def scope_of(
    chosen: NodeFilter,
    configured: model.Scope,
    host: str,
    *,
    together: bool = False,
) -> tuple[model.Scope, str]:
    """Return the scope to list, and the host whose records to add.

    :param chosen: with a shard exactly as in Ironic; never empty, which
        Ironic would take for any shard.
    :param configured: the scope of the local configuration, as is ``host``.
    :param together: whether to list more than is chosen, because nodes are
        decided together: as much as law 4 allows.
    """
    named = selection.scope_of(
        chosen.shard, chosen.conductor_group, configured
    )
    if named is not None and together:
        shard = None if configured.shard is None else named.shard
        named = dataclasses.replace(named, shard=shard, conductor_group=None)
    if named is not None:
        return named, ''
    if configured.shard is None:
        return model.Scope(), ''
    # Includes nodes that left the shard and are still managed here.
    return configured, host


@dataclasses.dataclass(frozen=True)
class NodeListing:
    """Compute nodes of one moment, whose status is made when it is read.

    :param uuids: of the nodes and records that match, in order.
    :param omitted: number of the records that match and were not looked up.
    """

    uuids: Sequence[str]
    deployment: Deployment
    omitted: int = 0

    @property
    def warnings(self) -> Iterator[str]:
        """One sentence if the list is not complete."""
        if self.omitted:
            yield (
                f'{texts.counted(self.omitted, "compute node")} on '
                'record left out: Ironic does not list them, and they are too '
                'many to look up. Make sure that this is the right Ironic, '
                'and that the credential sees all of its nodes. To list all '
                'records: ironic-ownership compute node list --recorded'
            )

    def after(self, uuid: str = '', size: int = BATCH) -> Iterator[NodeStatus]:
        """Yield those that follow a uuid, in the order of the uuids.

        :param size: number of nodes that are in use at a time.
        """
        first = bisect.bisect_right(self.uuids, uuid)
        return self.deployment.statuses(
            itertools.islice(self.uuids, first, None), size
        )


def list_nodes(
    ports: Ports, chosen: NodeFilter, scope: model.Scope, host: str
) -> NodeListing:
    """Return the compute nodes that match the filters.

    :param chosen: the host in any case.
    :param scope: of :func:`scope_of`, as is ``host``.
    :raises NotFoundError: if the service, shard or group does not exist.
    :raises OwnershipError: if anything can't be read.
    """
    found = read(ports, scope, host)
    service = None
    if chosen.host is not None:
        service = suggestions.known_service(
            chosen.host, found.services.keys() | found.view.hosts
        )
    known: dict[str, model.Node | model.ComputeNode] = {
        **found.records,
        **found.nodes,
    }
    uuids = {
        uuid
        for uuid, one in known.items()
        if chosen.shard in (None, one.shard)
        and chosen.conductor_group in (None, one.conductor_group)
    }
    if not uuids:
        check_place(ports, chosen)
    if service is not None:
        records = found.records.values()
        uuids &= {record.uuid for record in records if record.host == service}
    return NodeListing(
        sorted(uuids - found.unverified), found, len(uuids & found.unverified)
    )


def read(ports: Ports, scope: model.Scope, host: str = '') -> Deployment:
    """Return the nodes and records of a scope, and all services.

    A record whose node is not listed is no orphan before Ironic answers 404
    for its uuid, because the node may have left the scope: one request for
    each such record. Those beyond :data:`MAX_LOOKUPS` are unverified.

    :param scope: the caller keeps law 4.
    :param host: a service whose records are included in any scope.
    :raises OwnershipError: if anything can't be read: a partial list would
        show owned nodes as unowned.
    """
    policy_set.prepare(ports.records.services(), ports.interpret)
    records = {one.uuid: one for one in ports.records.in_reach(host, scope)}
    nodes = dict(ports.ironic.fleet(scope))
    # The owner of a node that came into the scope may not have noticed yet.
    for one in ports.records.compute_nodes_by_uuid(
        [uuid for uuid in nodes if uuid not in records]
    ):
        records[one.uuid] = one
    missing = sorted(records.keys() - nodes.keys())
    for uuid in missing[:MAX_LOOKUPS]:
        node = ports.ironic.get(uuid)
        if node is not None:
            nodes[uuid] = node
    return Deployment(
        ports.interpret,
        *read_services(ports),
        records,
        nodes,
        conductors_of(ports.ironic),
        unverified=frozenset(missing[MAX_LOOKUPS:]),
        on_fault=tolerant(),
    )


def check_place(ports: Ports, chosen: NodeFilter) -> None:
    """Refuse a shard that Ironic does not have, and an unknown group.

    :raises NotFoundError: with the nearest names.
    """
    shard, group = chosen.shard, chosen.conductor_group
    if shard is not None:
        counted = ports.ironic.shard_counts()
        shards = {name for name in counted if name is not None}
        if shard not in shards:
            raise suggestions.unknown('shard', shard, shards)
    if group and group not in (known := _groups(ports.records)):
        raise suggestions.unknown('conductor group', group, known - {''})


def _groups(records: Records) -> set[str]:
    """Return the conductor groups of records and of settings."""
    groups = {r.conductor_group for r in records.compute_nodes()}
    for service in records.services():
        for policy in service.settings.policies:
            group = dict(policy.options).get('conductor_group')
            if isinstance(group, str):
                groups.add(group)
    return groups


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedNode:
    """One compute node on record.

    :param seen_at: when its owner last read the changes of its nodes from
        Ironic, in seconds since the epoch by the database's clock; ``None``
        while the node is unowned, and if the owner has not reported it.
    """

    record: model.ComputeNode
    seen_at: float | None

    @property
    def state(self) -> str:
        """The state, as far as the record tells."""
        if self.record.host is None:
            return 'unowned'
        filtered = self.record.reason is reasons.Reason.FILTERED_KEEPS
        return 'filtered' if filtered else 'owned'


def read_recorded(
    records: Records, chosen: NodeFilter, *, after: str = '', limit: int
) -> tuple[Sequence[RecordedNode], str]:
    """Read a page of the compute nodes on record, in the order of the uuids.

    :param chosen: the host in any case.
    :returns: also how old it is, in one sentence; empty without an owner.
    :raises NotFoundError: if there is no such service.
    :raises RecordsError: if the database does not answer.
    """
    host = chosen.host and model.canonical_host(chosen.host)
    canonical = dataclasses.replace(chosen, host=host)
    found = records.compute_nodes_page(canonical, after=after, limit=limit)
    if not found and chosen.host is not None:
        suggestions.service_named(records, chosen.host)
    reports = records.condition_reports()
    owners = {record.host for record in found if record.host is not None}
    if len(found) == limit and not after:
        # Others follow: the remark of the first page is about all of them.
        owners |= {
            host
            for host in map(operator.attrgetter('host'), records.services())
            if chosen.host in (None, host)
            and records.compute_nodes_page(
                dataclasses.replace(chosen, host=host), limit=1
            )
        }
    seen_at = {host: _seen_at(reports, host) for host in owners}
    nodes = [
        RecordedNode(record, seen_at.get(record.host or ''))
        for record in found
    ]
    return nodes, _remark(reports, seen_at)


def _seen_at(
    reports: Mapping[str, ConditionReport], host: str
) -> float | None:
    report = reports.get(host)
    refresh = report.of(Loop.REFRESH) if report else None
    return refresh.succeeded_at if refresh else None


def _remark(
    reports: Mapping[str, ConditionReport], seen_at: Mapping[str, float | None]
) -> str:
    ages = {
        host: max(0.0, reports[host].now - at)
        for host, at in sorted(seen_at.items())
        if at is not None
    }
    silent = sorted(seen_at.keys() - ages.keys())
    parts = []
    if ages:
        oldest = max(ages, key=lambda host: ages[host])
        parts.append(
            f'Ironic was read at most {ages[oldest]:.0f} s ago, by {oldest}'
        )
    if silent:
        parts.append(
            f'no refresh is on record of {texts.listed(silent, _FEW)}'
        )
    return 'from the records: ' + '; '.join(parts) if parts else ''
