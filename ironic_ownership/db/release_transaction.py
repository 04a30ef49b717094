"""Release free nodes of services that may be alive, inside one transaction.

Nothing else stops for it: the service keeps its right to write, and loses the
nodes. Its permissions to act on them end within a heartbeat interval, and
until the release ends no other service may own them.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import moves, reasons
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import (
    change_set,
    node_results,
    rows,
    service_admin,
    tables,
    transaction,
)
from ironic_ownership.db.transaction import Transaction

_nodes = tables.compute_nodes.c


def release(  # Model: HandOver
    tx: Transaction, nodes: Sequence[moves.NodeMove], hand_over: moves.HandOver
) -> dict[str, str]:
    """Make nodes unowned that still are free and as they were seen.

    :returns: why a node was not released, by uuid.
    """
    hosts = {node.source for node in nodes if node.source}
    known = tx.lock_services(hosts)
    # A mark is the revision of a service, even if none owns these nodes.
    raised = known or tx.lock_any_service()
    for host in sorted(hosts - known.keys()):
        service_admin.keep_unregistered(tx, host)
    found, instances = tx.lock_recorded({node.uuid for node in nodes})
    linked_nodes = tx.linked.lock(tx.conn, found)
    now, request_id = tx.now(), hand_over.request_id
    # Another process has resumed the move as well, and came first.
    refused = {
        uuid: f'done: {request_id} has a result for it'
        for uuid, one in node_results.read(tx, request_id, found).items()
        if one.state is not moves.NodeState.PLANNED
    }
    released: dict[str | None, list[str]] = collections.defaultdict(list)
    for node in nodes:
        row = found.get(node.uuid)
        if node.uuid in refused:
            continue
        objection = _against(node, row, instances, now, hand_over) or (
            # The transaction that gives it an owner checks its instance there.
            None
            if hand_over.deployed
            else linked_nodes.against_release(node.uuid)
        )
        if objection:
            refused[node.uuid] = objection
        elif row is not None:
            released[row['host']].append(node.uuid)
    held = {
        'held_by': request_id,
        # A command that was killed does not keep the nodes unowned for ever.
        'held_until': now + hand_over.longest,
    }
    for owner, uuids in sorted(released.items(), key=str):
        if owner is None:
            # What no reader sees needs no mark.
            tx.update_rows(_nodes.uuid, uuids, **held)
            continue
        tx.update_rows(
            _nodes.uuid,
            uuids,
            host=None,
            reason=reasons.Reason.RELEASED.value,
            released_by=owner,
            updated_at=now,
            **held,
            **transaction.mark(raised),
        )
        tx.add_rows(
            tables.events,
            [
                rows.new_event(
                    now,
                    Origin(hand_over.actor, request_id),
                    EventKind.NODE_HANDED_OVER,
                    node_uuid=uuid,
                    from_host=owner,
                    reason=hand_over.reason,
                )
                for uuid in uuids
            ],
        )
    return refused


def _against(
    node: moves.NodeMove,
    row: change_set.Row | None,
    instances: Mapping[str, str],
    now: float,
    hand_over: moves.HandOver,
) -> str | None:
    if row is None:
        return 'record_exists: its record was deleted'
    instance = instances.get(node.uuid)
    if instance != (node.instance_uuid if hand_over.deployed else None):
        return f'instance_changed: its instance is {instance or "none"}'
    owner = row['host']
    held = rows.against_held(row, now, hand_over.request_id)
    # A repeated release: no service has owned it since the first one.
    is_released = owner is None and row['released_by'] == node.source
    if held or owner == node.source or is_released:
        return held
    return (
        f'owner_changed: its owner is {owner or "no service"}, and no longer '
        f'{node.source or "no service"}'
    )
