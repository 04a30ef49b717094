"""Compare, after a move, what records, Ironic and Placement say.

Reads and reports; repairs nothing. A move writes neither to Ironic nor to
Placement, so whatever differs there came from somebody else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, placement
from ironic_ownership.contracts import moves as port
from ironic_ownership.engine import move_selection, refresh

SAMPLE = 200
"""Providers that are compared: each costs a few requests, twice."""

Providers = Mapping[str, object]


def providers(
    source: placement.Placement | None, uuids: Collection[str]
) -> Providers:
    """Look at the Placement providers of some nodes, before or after.

    :returns: consumers and traits by uuid, of at most :data:`SAMPLE` nodes;
        empty without Placement.
    :raises PlacementError: if Placement fails.
    """
    if source is None:
        return {}
    seen: dict[str, object] = {}
    for uuid in list(uuids)[:SAMPLE]:
        traits = source.traits(uuid)
        seen[uuid] = (source.consumers(uuid), traits and traits.names)
    return seen


def verify(
    ports: refresh.Ports,
    moves: port.Moves,
    destination: str,
    moved: Sequence[port.NodeMove],
    *,
    sharded: bool,
    placement_: placement.Placement | None = None,
    before: Providers | None = None,
) -> list[str]:
    """Look at moved nodes again.

    :param before: providers as :func:`providers` saw them before the move.
    :returns: one sentence for each thing that does not fit; none if all is
        as it should be.
    """
    uuids = [node.uuid for node in moved]
    records = {r.uuid: r for r in ports.records.compute_nodes_by_uuid(uuids)}
    found = [
        f'node {uuid}: {_owner(records.get(uuid))} owns it, not {destination}'
        for uuid in uuids
        if uuid not in records or records[uuid].host != destination
    ]
    apart = set(moves.separated())
    found += [
        f'node {uuid}: its instance is on record with another service'
        for uuid in uuids
        if uuid in apart
    ]
    found += _differences_from_ironic(ports, uuids, records, sharded)
    if before:
        found += _changed_providers(placement_, before)
    return found


def _owner(record: model.ComputeNode | None) -> str:
    return (record.host if record else None) or 'nobody'


def _differences_from_ironic(
    ports: refresh.Ports,
    uuids: Sequence[str],
    records: Mapping[str, model.ComputeNode],
    sharded: bool,
) -> list[str]:
    try:
        nodes = move_selection.look_up(
            ports.source, uuids, records.values(), sharded
        )
    except exceptions.IronicError as exc:
        return [f'Ironic could not be compared: {exc}']
    found = []
    for uuid in uuids:
        node, record = nodes.get(uuid), records.get(uuid)
        if node is None:
            found.append(f'node {uuid}: Ironic does not have it')
        elif record and node.instance_uuid != record.instance_uuid:
            found.append(
                f'node {uuid}: its record says instance '
                f'{record.instance_uuid or "none"}, Ironic '
                f'{node.instance_uuid or "none"}'
            )
    return found


def _changed_providers(
    placement_: placement.Placement | None, before: Providers
) -> list[str]:
    try:
        after = providers(placement_, before)
    except exceptions.PlacementError as exc:
        return [f'Placement could not be compared: {exc}']
    return [
        f'node {uuid}: its Placement provider has changed'
        for uuid, seen in before.items()
        if after.get(uuid) != seen
    ]
