"""Move a batch of nodes inside one transaction: all of it, or nothing.

Lock, evaluate what only the locks can decide, write. The locks are taken in
the order of ``transaction``, so a move and a refresh rarely deadlock.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Sequence

from ironic_ownership.contracts import moves, reasons
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import (
    connection,
    node_results,
    pauses,
    rows,
    service_admin,
    tables,
    transaction,
)
from ironic_ownership.db.transaction import Transaction

_nodes = tables.compute_nodes.c
_instances = tables.instances.c
_reservations = tables.reservations.c

DESTINATION_ENABLED = 'destination_enabled'
"""Code of the one gate that is evaluated here and may be overridden."""

_ADOPTED = reasons.Reason.ADOPTED.value

PLANNED, MOVED = moves.NodeState.PLANNED, moves.NodeState.MOVED
UNCHANGED, REFUSED = moves.NodeState.UNCHANGED, moves.NodeState.REFUSED


class _Locked:
    """Rows that one transaction of a move holds locked.

    :ivar owners: of each node that has a record.
    :ivar released: unowned nodes that this move has released.
    :ivar results: of each node on record for this move.
    :ivar due: services whose standing order an automatic move carries out.
    :ivar paused: nodes for which it waits until the end of a pause.
    """

    def __init__(
        self,
        tx: Transaction,
        move: moves.Move,
        nodes: Sequence[moves.NodeMove],
        *,
        is_back: bool,
    ) -> None:
        self.tx, self.move, self.is_back = tx, move, is_back
        self.origin = Origin(move.actor, move.request_id)
        # The owners change, so the rows of both services are written.
        hosts = {move.destination, *(n.source for n in nodes if n.source)}
        self.services = tx.lock_services(hosts)
        for host in sorted(hosts - self.services.keys()):
            service_admin.keep_unregistered(tx, host)
        uuids = sorted({node.uuid for node in nodes})
        self.records, self.instances = tx.lock_recorded(uuids)
        self.owners = {u: row['host'] for u, row in self.records.items()}
        self.released = {
            uuid
            for uuid, row in self.records.items()
            if row['host'] is None and row['held_by'] == move.request_id
        }
        self.results = node_results.read(tx, move.request_id, uuids)
        flags = tx.linked.flags(tx.conn, sorted(self.services))
        for host, one in flags.items():
            self.services[host] = dataclasses.replace(
                self.services[host],
                disabled=one.disabled,
                forced_down=one.forced_down,
            )
        self.linked_nodes = tx.linked.lock(tx.conn, self.owners)
        self.due: set[str] = set()
        self.paused: set[str] = set()
        # An operator ignores both.
        if move.automatic:
            found = [
                service_admin.lock_known(tx, host)
                for host in sorted(self.services)
            ]
            self.due = {row.host for row in found if row.order_due}
            lasting = pauses.current(tx.conn)
            self.paused = {
                uuid
                for uuid, row in self.records.items()
                if pauses.cover(lasting, row['shard'], row['conductor_group'])
            }
        # Later than all locks.
        self.now = tx.now()


def carry_out(  # Model: Move
    tx: Transaction,
    move: moves.Move,
    nodes: Sequence[moves.NodeMove],
    back_to: str | None = None,
) -> Sequence[moves.NodeMove]:
    """Move the nodes that still are as they were seen.

    :param back_to: the source to which a failed trial gives them back.
    """
    if back_to is not None:
        former = move.destination
        # It is as it was before the trial, disabled or not.
        move = dataclasses.replace(
            move,
            destination=back_to,
            overrides=(DESTINATION_ENABLED,),
            reason='; '.join(filter(None, (move.reason, 'the trial failed'))),
        )
        nodes = [dataclasses.replace(n, source=former) for n in nodes]
    locked = _Locked(tx, move, nodes, is_back=back_to is not None)
    results = [_evaluate(node, locked) for node in nodes]
    # A node that is resumed again keeps the result on record.
    done = [
        result
        for result in results
        if _is_planned(result.uuid, locked) and result.state is not PLANNED
    ]
    if done:
        _write(done, locked)
    moved = {result.uuid for result in done if result.state is MOVED}
    # In the other direction, by another process: it still holds them.
    planned = {result.uuid for result in results if result.state is PLANNED}
    tx.end_release(move.request_id, locked.released - moved - planned)
    return [_result(result, locked) for result in results]


def _result(node: moves.NodeMove, locked: _Locked) -> moves.NodeMove:
    """Return the result to store: of nodes that go back, for their move."""
    if not (locked.is_back and _is_planned(node.uuid, locked)):
        return node
    before = locked.results[node.uuid]
    if node.state is not REFUSED:
        return dataclasses.replace(before, state=REFUSED)
    detail = f'{before.detail}; it did not go back: {node.detail}'
    return dataclasses.replace(before, state=MOVED, detail=detail)


def _is_planned(uuid: str, locked: _Locked) -> bool:
    result = locked.results.get(uuid)
    return result is not None and result.state is PLANNED


def _evaluate(node: moves.NodeMove, locked: _Locked) -> moves.NodeMove:
    destination = locked.move.destination
    before = locked.results.get(node.uuid)
    if before is None:
        return _refused(node, 'it is not a node of this move')
    is_back = before.trial is moves.Trial.BACK
    if before.state is not PLANNED or is_back is not locked.is_back:
        return before
    # First: a repeated move is not refused. Its new shard claims a free node.
    owner = locked.owners.get(node.uuid)
    is_set = locked.move.shard and owner is node.source is None
    if is_set or owner == destination:
        return dataclasses.replace(node, state=UNCHANGED)
    if node.uuid in locked.paused:
        return before
    objection = (
        _destination(locked)
        or _record(node, locked)
        or _source(node, locked)
        or locked.linked_nodes.against_move(
            node.uuid, node.source, destination, node.instance_uuid
        )
    )
    if objection:
        return _refused(node, objection)
    return dataclasses.replace(node, state=MOVED, detail=before.detail)


def _refused(node: moves.NodeMove, detail: str) -> moves.NodeMove:
    return dataclasses.replace(node, state=REFUSED, detail=detail)


def _destination(locked: _Locked) -> str | None:
    move = locked.move
    service = locked.services.get(move.destination)
    if service is None:
        return f'destination_exists: {move.destination} is not registered'
    if DESTINATION_ENABLED in move.overrides:
        return None
    if service.disabled or service.forced_down:
        what = 'forced down' if service.forced_down else 'disabled'
        return f'{DESTINATION_ENABLED}: {move.destination} was {what}'
    return None


def _record(node: moves.NodeMove, locked: _Locked) -> str | None:
    if node.uuid not in locked.owners:
        return 'record_exists: its record was deleted'
    record, request_id = locked.records[node.uuid], locked.move.request_id
    if held := rows.against_held(record, locked.now, request_id):
        return held
    owner = locked.owners[node.uuid]
    if owner != node.source and node.uuid not in locked.released:
        return (
            f'owner_changed: its owner is {owner or "no service"}, and no '
            f'longer {node.source or "no service"}'
        )
    instance = locked.instances.get(node.uuid)
    # The source may have stopped before it recorded that of the cell.
    if node.instance_uuid not in (
        instance,
        *locked.linked_nodes.running(node.uuid),
    ):
        return (
            f'instance_changed: its instance is {instance or "none"}, and '
            f'no longer {node.instance_uuid or "none"}'
        )
    return None


def _source(node: moves.NodeMove, locked: _Locked) -> str | None:
    if node.source is None or node.uuid in locked.released:
        return None
    service = locked.services.get(node.source)
    if locked.move.automatic:
        # With this epoch it has not registered since the gates.
        same = service and service.epoch == node.source_epoch
        if same and node.source in locked.due:
            return None
        return f'source_stopped: the standing order of {node.source} ended'
    # It cannot register until an operator ends that.
    if service is None or service.forced_down:
        return None
    if not service.disabled:
        return (
            f'source_stopped: {node.source} is neither forced down nor '
            'disabled any more'
        )
    # A service that is only disabled has to be dead as well: it must not
    # have registered since it was seen without a live process.
    if service.fenced or service.epoch == node.source_epoch:
        return None
    return f'source_stopped: {node.source} has registered again'


def _write(done: Sequence[moves.NodeMove], locked: _Locked) -> None:
    tx, move, now = locked.tx, locked.move, locked.now
    moved = [node for node in done if node.state is MOVED]
    # A service that has released its nodes keeps running, and its epoch.
    stopped = {n.source for n in moved if n.uuid not in locked.released}
    _fence(stopped, locked)
    _record_instances(moved, locked)
    mark = transaction.mark(locked.services)
    for uuids in connection.chunks([node.uuid for node in moved]):
        tx.update_rows(
            _nodes.uuid,
            uuids,
            host=move.destination,
            reason=reasons.Reason.MOVED.value,
            updated_at=now,
            held_by=None,
            held_until=None,
            **mark,
        )
        # A statement costs a round trip, also if it finds no row.
        if deployed := [uuid for uuid in uuids if uuid in locked.instances]:
            tx.update_rows(
                _instances.open_node_uuid, deployed, host=move.destination
            )
        tx.update_rows(
            _reservations.node_uuid,
            uuids,
            _reservations.open_instance_uuid.is_not(None),
            host=move.destination,
        )
    locked.linked_nodes.assign([node.uuid for node in moved], move.destination)
    stored = [_result(node, locked) for node in done]
    for state in sorted({node.state for node in stored}):
        node_results.write(
            tx,
            move.request_id,
            {node.uuid: node.detail for node in stored if node.state is state},
            state=state.value,
            updated_at=now,
        )
    tx.add_rows(
        tables.events,
        [
            rows.new_event(
                now,
                locked.origin,
                EventKind.NODE_MOVED,
                node_uuid=node.uuid,
                from_host=locked.owners[node.uuid],
                to_host=move.destination,
                instance_uuid=node.instance_uuid,
                reason=move.reason,
            )
            for node in moved
        ],
    )


def _record_instances(
    moved: Sequence[moves.NodeMove], locked: _Locked
) -> None:
    """Open the instances that only linked tables have, in place of others."""
    tx, host, now = locked.tx, locked.move.destination, locked.now
    event = functools.partial(rows.new_event, now, locked.origin)
    closed, opened, found = [], [], []
    for node in moved:
        uuid, before = node.uuid, locked.instances.get(node.uuid)
        if node.instance_uuid in (None, before):
            continue
        if before is not None:
            closed.append(
                event(
                    EventKind.INSTANCE_CLOSED,
                    node_uuid=uuid,
                    from_host=locked.owners[uuid],
                    instance_uuid=before,
                )
            )
        found.append(
            rows.new_instance(node.instance_uuid, uuid, host, now, _ADOPTED)
        )
        opened.append(
            event(
                EventKind.INSTANCE_OPENED,
                node_uuid=uuid,
                to_host=host,
                instance_uuid=node.instance_uuid,
                reason=_ADOPTED,
            )
        )
    tx.close_instances([one['node_uuid'] for one in closed], now)
    tx.add_rows(tables.instances, found)
    tx.add_rows(tables.events, closed + opened)


def _fence(sources: Collection[str | None], locked: _Locked) -> None:
    move = locked.move
    reason = f': {move.reason}' if move.reason else ''
    why = f'its nodes were moved to {move.destination}{reason}'
    for host in sorted(filter(None, sources)):
        service = locked.services.get(host)
        if service is not None and not service.fenced:
            locked.tx.fence([host])
            locked.tx.add_event(
                EventKind.SERVICE_FENCED,
                locked.origin,
                locked.now,
                from_host=host,
                reason=why,
            )
