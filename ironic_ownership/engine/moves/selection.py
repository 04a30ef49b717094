"""Which nodes a move is about, and one look at all of them.

Ironic is asked in lists, never once for each node, except for the few that
no list has. With a shard key set every list names a shard: law 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.moves import Moves
from ironic_ownership.engine.moves import gates
from ironic_ownership.engine.ports import Ports

FEW = 20
"""Up to so many nodes are asked for one by one."""

_SHARDS = 10
"""Past this many shards one list of all nodes is cheaper, where allowed."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """What an operator asks to be moved: named nodes, or a place.

    :param uuids: of named nodes, in lower case, each once; ``None`` selects
        by the other two.
    :param source: only nodes that this service owns.
    :param scope: only nodes there, as Ironic has them now.
    :param sharded: whether every list has to name a shard.
    """

    uuids: Sequence[str] | None = None
    source: str | None = None
    scope: model.Scope | None = None
    sharded: bool = False


@dataclasses.dataclass(frozen=True)
class Seen:
    """The selected nodes, in order, and the moment they were seen in."""

    uuids: Sequence[str]
    moment: gates.Moment


def place(
    shard: str | None, group: str | None, configured: model.Scope
) -> model.Scope | None:
    """Return the scope that an operator names.

    :param group: a conductor group, in any case.
    :param configured: the scope of the policies configured here: with a
        shard key set every list names a shard.
    :returns: ``None`` if no place is named.
    """
    if shard is None and group is None:
        return None
    scope = model.Scope(shard=shard)
    if shard is None and configured.shard is not None:
        scope = configured
    if group is not None:
        scope = dataclasses.replace(scope, conductor_group=group.lower())
    return scope


def look(ports: Ports, moves: Moves, selection: Selection) -> Seen:
    """Read everything that the gates of a selection are judged from.

    The order of reading is that of a refresh: services, records, nodes, and
    the view last.

    :raises OwnershipError: if the selection can't be read. Ironic and the
        membership may fail: then gates can't be judged.
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
        nodes = _in_place(ports.source, records, selection)
        uuids = [uuid for uuid in uuids if uuid in nodes]
    else:
        try:
            nodes = look_up(
                ports.source, uuids, records.values(), selection.sharded
            )
        except exceptions.IronicError as exc:
            nodes = str(exc)
    return Seen(
        uuids,
        gates.Moment(
            services,
            _view(ports, services.values()),
            records,
            moves.open_instances(uuids),
            nodes,
        ),
    )


def look_up(
    source: inventory.Inventory,
    uuids: Collection[str],
    records: Iterable[model.ComputeNode],
    sharded: bool,
) -> dict[str, model.Node | None]:
    """Look at nodes, by lists of the places on record if they are many.

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
    """Return what to list so that few nodes have to be asked for alone."""
    named = sorted(shard for shard in shards if shard is not None)
    if not sharded and (len(named) < len(shards) or len(named) > _SHARDS):
        return [model.Scope()]
    return [model.Scope(shard=shard) for shard in named]


def _in_place(
    source: inventory.Inventory,
    records: Mapping[str, model.ComputeNode],
    selection: Selection,
) -> dict[str, model.Node | None]:
    """Return the nodes of a place, and those recorded there that are gone."""
    scope = selection.scope
    assert scope is not None
    found: dict[str, model.Node | None] = {
        node.uuid: node for node in source.scan(scope) if node.uuid in records
    }
    left = [
        record
        for record in records.values()
        if record.uuid not in found
        and scope.matches(record.shard, record.conductor_group)
    ]
    if len(left) > FEW and not selection.sharded:
        everywhere = {node.uuid for node in source.scan(model.Scope())}
        left = [record for record in left if record.uuid not in everywhere]
    for record in left:
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
