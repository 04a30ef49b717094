"""The nodes of a move: their selection, and one snapshot of them.

Nodes are read from Ironic in lists, and one by one only if they are few or in
no list. With a shard key set every list names a shard: law 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.moves import Moves
from ironic_ownership.engine.moves import gates
from ironic_ownership.engine.ports import Ports

FEW = 20
"""The maximum number of nodes that are read one by one."""

_SHARDS = 10
"""With more shards, one list of all nodes is cheaper, where allowed."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """The nodes that an operator selects, by name or by place.

    :param uuids: of named nodes, in lower case, each once; ``None`` selects
        by the other two.
    :param source: only nodes that this service owns.
    :param scope: only nodes in this scope, as Ironic has them now.
    """

    uuids: Sequence[str] | None = None
    source: str | None = None
    scope: model.Scope | None = None


@dataclasses.dataclass(frozen=True)
class Selected:
    """The selected nodes, in order, and the snapshot for their gates."""

    uuids: Sequence[str]
    snapshot: gates.Snapshot


def scope_of(
    shard: str | None, group: str | None, configured: model.Scope
) -> model.Scope | None:
    """Return the scope that an operator names, or ``None``.

    :param group: a conductor group, in any case.
    :param configured: the scope of the configured policies: with a shard key
        set every list names a shard.
    """
    if shard is None and group is None:
        return None
    scope = model.Scope(shard=shard)
    if shard is None and configured.shard is not None:
        scope = configured
    if group is not None:
        scope = dataclasses.replace(scope, conductor_group=group.lower())
    return scope


def read(
    ports: Ports, moves: Moves, selection: Selection, *, sharded: bool
) -> Selected:
    """Read everything that the gates of the selected nodes need.

    The order is that of a refresh: services, records, nodes, members. If
    Ironic or the membership fails, their gates cannot be evaluated.

    :param sharded: whether every list has to name a shard.
    :raises OwnershipError: if the selection can't be read.
    """
    services = {s.host: s for s in ports.records.services()}
    if selection.uuids is not None:
        uuids: Sequence[str] = selection.uuids
        records = _by_uuid(ports.records.compute_nodes_by_uuid(uuids))
    else:
        records = _by_uuid(
            record
            for record in ports.records.compute_nodes()
            if selection.source in (None, record.host)
        )
        uuids = list(records)
    nodes: Mapping[str, model.Node | None] | str
    if selection.scope is not None:
        nodes = _in_scope(ports.source, records, selection.scope, sharded)
        uuids = [uuid for uuid in uuids if uuid in nodes]
    else:
        try:
            nodes = read_nodes(ports.source, uuids, records.values(), sharded)
        except exceptions.IronicError as exc:
            nodes = str(exc)
    return Selected(
        uuids,
        gates.Snapshot(
            services,
            _view(ports, services.values()),
            records,
            moves.open_instances(uuids),
            nodes,
        ),
    )


def read_nodes(
    source: inventory.Inventory,
    uuids: Collection[str],
    records: Iterable[model.ComputeNode],
    sharded: bool,
) -> dict[str, model.Node | None]:
    """Read nodes from Ironic; many of them by lists of the shards on record.

    :returns: each node by uuid, ``None`` if Ironic does not have it.
    :raises IronicError: if Ironic fails.
    """
    found: dict[str, model.Node | None] = {}
    if len(uuids) > FEW:
        wanted = set(uuids)
        shards = {record.shard for record in records}
        for scope in _lists(shards, sharded):
            found.update(
                (node.uuid, node)
                for node in source.scan(scope)
                if node.uuid in wanted
            )
    for uuid in uuids:
        if uuid not in found:
            found[uuid] = source.get(uuid)
    return found


def _lists(shards: Collection[str | None], sharded: bool) -> list[model.Scope]:
    named = sorted(shard for shard in shards if shard is not None)
    if not sharded and (len(named) < len(shards) or len(named) > _SHARDS):
        return [model.Scope()]
    return [model.Scope(shard=shard) for shard in named]


def _in_scope(
    source: inventory.Inventory,
    records: Mapping[str, model.ComputeNode],
    scope: model.Scope,
    sharded: bool,
) -> dict[str, model.Node | None]:
    """Return the nodes of a scope, and those recorded there that are gone."""
    found: dict[str, model.Node | None] = {
        node.uuid: node for node in source.scan(scope) if node.uuid in records
    }
    remaining = [
        record
        for record in records.values()
        if record.uuid not in found
        and scope.matches(record.shard, record.conductor_group)
    ]
    if len(remaining) > FEW and not sharded:
        everywhere = {node.uuid for node in source.scan(model.Scope())}
        remaining = [
            record for record in remaining if record.uuid not in everywhere
        ]
    for record in remaining:
        node = source.get(record.uuid)
        if node is None or scope.matches(node.shard, node.conductor_group):
            found[record.uuid] = node
    return found


def _view(ports: Ports, services: Iterable[model.Service]) -> model.View | str:
    try:
        return ports.backend.view().serving(services)
    except exceptions.MembershipError as exc:
        return str(exc)


def _by_uuid(
    records: Iterable[model.ComputeNode],
) -> dict[str, model.ComputeNode]:
    return {record.uuid: record for record in records}
