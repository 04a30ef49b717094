"""What somebody asks for who lists compute nodes: places, owners, states.

Every edge that lists nodes goes through here, so that law 4 is kept in one
place: with a shard key set no request without a shard filter lists nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import node_query, node_status


@dataclasses.dataclass(frozen=True)
class Asked:
    """Which compute nodes to list; ``None`` and empty ask for all.

    :param service: host of the owner, in any case.
    :param shard: exactly as in Ironic; never empty, which Ironic would take
        for any shard.
    :param conductor_group: in any case; empty is the default group.
    """

    service: str | None = None
    shard: str | None = None
    conductor_group: str | None = None


def scope_of(
    asked: Asked, configured: model.Scope, host: str
) -> tuple[model.Scope, str]:
    """Return what Ironic is to filter by, and whose records to add.

    :param configured: the scope of the policies configured here.
    :param host: the service configured here.
    """
    scope, whose = model.Scope(), ''
    if asked.shard is not None:
        scope = model.Scope(shard=asked.shard)
    elif configured.shard is not None:
        scope = configured
        if asked.conductor_group is None:
            # Also what left the shard and is still managed from here.
            whose = host
    if asked.conductor_group is not None:
        scope = dataclasses.replace(
            scope, conductor_group=asked.conductor_group.lower()
        )
    return scope, whose


def take(
    ports: Ports, asked: Asked, scope: model.Scope, host: str
) -> Sequence[node_status.Finding]:
    """Return the compute nodes that are asked for.

    :param scope: of :func:`scope_of`, as is ``host``.
    :raises NotFoundError: if nobody knows the service, shard or group.
    :raises OwnershipError: if anything can't be read.
    """
    found = node_query.take(ports, scope, host)
    service = _service(asked.service, found.services)
    findings = list(_placed(found.findings, asked))
    if not findings:
        _check_place(ports, asked)
    return [f for f in findings if service in (None, _owner(f))]


def _owner(finding: node_status.Finding) -> str | None:
    return finding.record.host if finding.record else None


def _service(asked: str | None, known: Collection[str]) -> str | None:
    if asked is None:
        return None
    host = model.canonical_host(asked)
    if host not in known:
        raise suggestions.unknown('service', asked, known)
    return host


def _placed(
    findings: Iterable[node_status.Finding], asked: Asked
) -> Iterable[node_status.Finding]:
    """Return the findings in the shard and group that were asked for."""
    group = asked.conductor_group
    for finding in findings:
        where = finding.node or finding.record
        if where is None:
            continue
        if asked.shard is not None and where.shard != asked.shard:
            continue
        if group is None or where.conductor_group == group.lower():
            yield finding


def _check_place(ports: Ports, asked: Asked) -> None:
    """Refuse a shard or group that nobody has heard of.

    :raises NotFoundError: naming what is near.
    """
    shard, group = asked.shard, asked.conductor_group
    if shard is not None:
        counted = ports.source.shard_counts()
        shards = {name for name in counted if name is not None}
        if shard not in shards:
            raise suggestions.unknown('shard', shard, shards)
    if group and group.lower() not in (known := _groups(ports.records)):
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
