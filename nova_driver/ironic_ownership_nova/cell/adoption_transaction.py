"""Adopt nodes of a cell inside one transaction.

The host of a node's row becomes its owner on record, while services of stock
Nova run and may change the row. Locks are taken in the order of
``transaction``, then those of the companion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.db import change_set, rows, tables, transaction
from ironic_ownership.db.transaction import Transaction
from ironic_ownership_nova.cell.companion import Cell
from ironic_ownership_nova.cell.locked_rows import LockedRows
from ironic_ownership_nova.cell.model import Result, State

_nodes = tables.compute_nodes.c
_instances = tables.instances.c

REASON = reasons.Reason.ADOPTED.value

Nodes = Mapping[str, model.Node | None]
_Rows = list[dict[str, Any]]


@dataclasses.dataclass
class _Writes:
    new_nodes: _Rows = dataclasses.field(default_factory=list)
    nodes: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    new_instances: _Rows = dataclasses.field(default_factory=list)
    closed_on: list[str] = dataclasses.field(default_factory=list)
    moved_on: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    assigned: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    events: _Rows = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Locked:
    services: Mapping[str, change_set.ServiceState]
    records: Mapping[str, change_set.Row]
    open_instances: Mapping[str, str]
    cell: LockedRows
    strays: Mapping[str, Sequence[str | None]]
    """Uuids of rows that are not those of their nodes, by their names."""
    now: float


def adopt(
    tx: Transaction,
    companion: Cell,
    nodes: Nodes,
    actor: str,
    request_id: str | None = None,
) -> Sequence[Result]:
    """Adopt some nodes; one that does not agree keeps the others not."""
    if not nodes:
        return ()
    locked = _lock(tx, companion, sorted(nodes))
    writes = _Writes()
    origin = Origin(actor, request_id)
    found = [
        _adopt(uuid, nodes[uuid], locked, writes, origin)
        for uuid in sorted(nodes)
    ]
    _write(tx, locked, writes)
    return found


def _lock(tx: Transaction, companion: Cell, uuids: Sequence[str]) -> _Locked:
    # Before the locks: it reads all rows of the cell.
    strays = companion.strays(tx.conn, uuids)
    hosts = {canonical_host(h) for h in _hosts(tx, companion)}
    services = _add_services(tx, companion, hosts)
    records, open_instances = tx.lock_nodes(uuids)
    cell = companion.lock(tx.conn, uuids)
    assert isinstance(cell, LockedRows)
    named = {canonical_host(r.host or '') for r in cell.nodes.values()}
    if late := (named & cell.services.keys()) - services.keys():
        # Stock Nova has given a node to one that had none when it was read.
        services |= _add_services(tx, companion, late)
    now = tx.now()
    return _Locked(services, records, open_instances, cell, strays, now)


def _hosts(tx: Transaction, companion: Cell) -> list[str]:
    """Return the hosts of the cell that a node of Ironic names."""
    node, service = companion.tables.compute_nodes, companion.tables.services
    return list(
        tx.conn.scalars(
            sa.select(service.c.host)
            .where(
                companion.tables.is_compute,
                service.c.host.in_(
                    sa.select(node.c.host).where(
                        companion.tables.is_of_ironic, node.c.deleted == 0
                    )
                ),
            )
            .distinct()
        )
    )


def _add_services(
    tx: Transaction, companion: Cell, hosts: set[str]
) -> dict[str, change_set.ServiceState]:
    """Lock the services, and insert those without a record, with epoch 0."""
    owners = set(
        tx.conn.scalars(
            sa.select(_nodes.host).where(_nodes.host.is_not(None)).distinct()
        )
    )
    services = tx.lock_services(hosts | owners, write=False)
    missing = sorted(hosts - services.keys())
    if missing:
        flags = companion.flags(tx.conn, missing)
        revision = tx.first_revision()
        for host in missing:
            own = dataclasses.asdict(flags[host])
            tx.insert_service(host, revision=revision, **own)
        services |= tx.lock_services(missing, write=False)
    return services


def _adopt(
    uuid: str,
    node: model.Node | None,
    locked: _Locked,
    writes: _Writes,
    origin: Origin,
) -> Result:
    row = locked.cell.nodes.get(uuid)
    strays = locked.strays.get(uuid)
    if strays:
        # Which of the two is the node's is for an operator to decide.
        return _refused(
            uuid,
            None if row is None else canonical_host(row.host or ''),
            f'uuid_differs: {" and ".join(map(str, strays))} is not '
            'the uuid of the node, and a row of the cell has it; see '
            '"ironic-ownership nova check"',
        )
    if row is None or row.deleted != 0:
        return _refused(uuid, None, 'row_missing: Nova has deleted its row')
    host = canonical_host(row.host or '')
    held = rows.against_held(locked.records.get(uuid), locked.now)
    objection = held or _objection(uuid, host, locked)
    if objection:
        return _refused(uuid, host, objection)
    before = _owner(uuid, locked)
    follows = _may_follow(before, locked)
    if before not in (None, host) and not follows:
        return _refused(
            uuid,
            host,
            f'owned: {before} owns it on record, its row names {row.host}',
        )
    writes.assigned.setdefault(host, []).append(uuid)
    instance = next(
        (i.uuid for i in locked.cell.instances.get(uuid, ())), None
    )
    known = locked.open_instances.get(uuid)
    if before == host and (instance in (None, known) or not follows):
        return Result(uuid, host, State.UNCHANGED)
    _take(uuid, node, host, before, locked, writes, origin)
    if instance is not None and instance != known:
        if known is not None:
            writes.closed_on.append(uuid)
        writes.new_instances.append(
            rows.new_instance(instance, uuid, host, locked.now, REASON)
        )
    elif known is not None:
        writes.moved_on.setdefault(host, []).append(uuid)
    return Result(uuid, host, State.ADOPTED)


def _objection(uuid: str, host: str, locked: _Locked) -> str | None:
    running = locked.cell.instances.get(uuid, ())
    if host not in locked.cell.services:
        return f'no_service: the cell has no nova-compute service {host}'
    if len(running) > 1:
        names = ', '.join(row.uuid for row in running)
        return f'double_instances: {names} run on it'
    for instance in running:
        if canonical_host(instance.host) != host:
            return (
                f'half_moved: its instance {instance.uuid} is on '
                f'{instance.host}'
            )
    return None


def _owner(uuid: str, locked: _Locked) -> str | None:
    record = locked.records.get(uuid)
    if record is None or record['deleted_at'] is not None:
        return None
    owner: str | None = record['host']
    return owner


def _may_follow(owner: str | None, locked: _Locked) -> bool:
    service = locked.services.get(owner or '')
    # Stock Nova moves free nodes by itself.
    return service is None or not service.registered


def _refused(uuid: str, host: str | None, detail: str) -> Result:
    return Result(uuid, host, State.REFUSED, detail)


def _take(
    uuid: str,
    node: model.Node | None,
    host: str,
    before: str | None,
    locked: _Locked,
    writes: _Writes,
    origin: Origin,
) -> None:
    # Ironic does not have it: its owner finds that out, and deletes it.
    node = node or model.Node(uuid, driver='')
    if uuid in locked.records:
        writes.nodes.setdefault(host, []).append(uuid)
    else:
        writes.new_nodes.append(
            {
                'uuid': uuid,
                'host': host,
                'reason': REASON,
                'created_at': locked.now,
                'updated_at': locked.now,
                **change_set.attributes(node),
            }
        )
    if before != host:
        writes.events.append(
            rows.new_event(
                locked.now,
                origin,
                EventKind.OWNER_CHANGED,
                node_uuid=uuid,
                from_host=before,
                to_host=host,
                reason=REASON,
            )
        )


def _write(tx: Transaction, locked: _Locked, writes: _Writes) -> None:
    if writes.new_nodes or writes.nodes:
        tx.raise_revisions(sorted(locked.services))
    mark = transaction.mark(locked.services)
    tx.add_rows(
        tables.compute_nodes, [{**row, **mark} for row in writes.new_nodes]
    )
    for host, uuids in sorted(writes.nodes.items()):
        tx.update_rows(
            _nodes.uuid,
            uuids,
            host=host,
            reason=REASON,
            updated_at=locked.now,
            deleted_at=None,
            **change_set.NOT_RELEASED,
            **mark,
        )
    tx.close_instances(writes.closed_on, locked.now)
    for host, uuids in sorted(writes.moved_on.items()):
        tx.update_rows(_instances.open_node_uuid, uuids, host=host)
    tx.add_rows(tables.instances, writes.new_instances)
    tx.add_rows(tables.events, writes.events)
    for host, uuids in sorted(writes.assigned.items()):
        # The host stays; a service id that is missing is added.
        locked.cell.assign(uuids, host)
