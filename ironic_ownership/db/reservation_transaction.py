"""Changes of a reservation to its compute node, inside one transaction.

The locks are taken in the order of ``transaction``. The caller knows which
node Ironic gave; the locked rows decide whether the records allow it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.reservations import (
    Reservation,
    ReservationState,
)
from ironic_ownership.db import (
    change_set,
    pauses,
    rows,
    service_admin,
    tables,
    transaction,
)
from ironic_ownership.db.linked_tables import Flags
from ironic_ownership.db.transaction import Transaction

_nodes = tables.compute_nodes.c
_reservations = tables.reservations.c

PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
CLOSED = ReservationState.CLOSED


def first(
    conn: sa.Connection, which: sa.ColumnElement[bool], *, lock: bool = False
) -> Reservation | None:
    """Return the reservation for which a condition holds, if there is one.

    :param lock: whether to lock it until the end of the transaction.
    """
    statement = sa.select(tables.reservations).where(which)
    if lock:
        statement = statement.with_for_update()
    row = conn.execute(statement).first()
    return None if row is None else rows.reservation(row)


def known(
    conn: sa.Connection, reservation_id: str, *, lock: bool = False
) -> Reservation:
    """Return a reservation.

    :param lock: whether to lock it until the end of the transaction.
    :raises NotFoundError: if it does not exist.
    """
    found = first(conn, _reservations.id == reservation_id, lock=lock)
    if found is None:
        raise exceptions.NotFoundError(
            f'there is no reservation {reservation_id}'
        )
    return found


def change(tx: Transaction, reservation_id: str, **values: Any) -> Reservation:
    """Write columns of a reservation that is locked."""
    values['updated_at'] = tx.now()
    tx.update_rows(_reservations.id, [reservation_id], **values)
    return known(tx.conn, reservation_id)


def check_writer(
    tx: Transaction, host: str, epoch: int | None
) -> dict[str, change_set.ServiceState]:
    """Lock a service, and check its right to write if there is an epoch.

    :returns: the service, if it exists.
    """
    found = tx.lock_services({host})
    if epoch is not None:
        transaction.check_right(host, epoch, found.get(host))
    return found


def check_pauses(tx: Transaction, record: change_set.Row | None) -> None:
    """Refuse to let a node change owner automatically under a pause.

    :param record: of the node, locked.
    :raises ReservationConflictError: if a pause holds it.
    """
    if (
        record is not None
        and record['host'] is not None
        and pauses.cover(
            pauses.current(tx.conn), record['shard'], record['conductor_group']
        )
    ):
        raise exceptions.ReservationConflictError(
            f'a pause holds the node {record["uuid"]} with {record["host"]}'
        )


def activate(
    tx: Transaction,
    reservation_id: str,
    node: model.Node,
    *,
    epoch: int,
    origin: Origin | None = None,
) -> Reservation:
    """Record that Ironic gave the node, as one transaction.

    The reservation becomes active, the service the node's owner, the
    instance is opened on it, and one event is written. Idempotent.

    :param epoch: of the service, read before the request to Ironic.
    :raises FencedError: if that is not the service's epoch any more, or
        the service was fenced or deleted.
    :raises ServiceRefusedError: if the service is disabled.
    :raises ReservationConflictError: if another service owns the node,
        or the reservation is neither pending nor active.
    :raises NotFoundError: if there is no such reservation.
    """
    # Read without a lock, because services are locked first.
    before = known(tx.conn, reservation_id)
    services = check_writer(tx, before.host, epoch)
    flags: Flags | change_set.ServiceState | None = services.get(before.host)
    flags = tx.linked.flags(tx.conn, [before.host]).get(before.host, flags)
    if flags is not None and flags.disabled:
        raise exceptions.ServiceRefusedError(
            f'{before.host} is disabled, so it gets no node',
            hint='Enable it: ironic-ownership service set '
            f'{before.host} --enable',
        )
    nodes, instances = tx.lock_nodes([node.uuid])
    record, instance = nodes.get(node.uuid), instances.get(node.uuid)
    now = known(tx.conn, before.id, lock=True)
    if now.state is ACTIVE and now.node_uuid == node.uuid:
        return now
    if now.state is not PENDING:
        raise exceptions.ReservationConflictError(
            f'reservation {now.id} is {now.state}, so the node {node.uuid} '
            'is not recorded for it'
        )
    owner = None if record is None else record['host']
    _check_free(node.uuid, now, owner, instance)
    # Permissions of its former owner are no harm to itself.
    held = rows.against_held(record, tx.now(), _holder(now.host))
    if held:
        raise exceptions.ReservationConflictError(
            f'{now.host} cannot reserve the node {node.uuid} yet: {held}'
        )
    linked_nodes = tx.linked.lock(tx.conn, [node.uuid])
    objection = linked_nodes.against_claim(node.uuid, now.host)
    if objection:
        raise exceptions.ReservationConflictError(
            f'{now.host} cannot reserve the node {node.uuid}: {objection}',
            hint='Run ironic-ownership nova check',
        )
    linked_nodes.assign([node.uuid], now.host)
    at, reason = tx.now(), reasons.Reason.RESERVED.value
    owned = {
        'host': now.host,
        'reason': reason,
        'updated_at': at,
        'deleted_at': None,
        **change_set.attributes(node),
        # An earlier release has ended, also for the request that made it.
        **change_set.NOT_RELEASED,
        **transaction.mark(services),
    }
    if record is None:
        row = {'uuid': node.uuid, 'created_at': at, **owned}
        tx.add_rows(tables.compute_nodes, [row])
    else:
        tx.update_node(node.uuid, **owned)
    if instance is None:
        opened = rows.new_instance(
            now.instance_uuid, node.uuid, now.host, at, reason
        )
        tx.add_rows(tables.instances, [opened])
    tx.add_event(
        EventKind.NODE_RESERVED,
        origin or Origin(before.host),
        at,
        node_uuid=node.uuid,
        to_host=now.host,
        instance_uuid=now.instance_uuid,
        reason=now.id,
    )
    return change(
        tx, now.id, state=ACTIVE.value, node_uuid=node.uuid, detail=None
    )


def _holder(host: str) -> str:
    return host[:64]  # as much of the name as the column holds


def close(
    tx: Transaction,
    reservation_id: str,
    detail: str,
    *,
    epoch: int | None = None,
    origin: Origin | None = None,
) -> Reservation:
    """Record that Ironic holds no node for it, as one transaction.

    The reservation and its instance are closed, the node's record is
    released, and one event is written. Idempotent. The node may have another
    owner by now: an operator may have moved it.

    :raises FencedError: if the service has no right to write.
    :raises NotFoundError: if there is no such reservation.
    :raises ReservationConflictError: if a pause holds the node, and the
        service itself ends the reservation.
    """
    before = known(tx.conn, reservation_id)
    uuid = before.node_uuid
    # Read without a lock, because services are locked first.
    of_node = sa.select(_nodes.host).where(_nodes.uuid == uuid)
    owner = tx.conn.scalar(of_node) if uuid else None
    services: dict[str, change_set.ServiceState] = {}
    for host in sorted({before.host, *filter(None, [owner])}):
        # The epoch is the reserving service's; a move may have changed the
        # owner.
        of_service = epoch if host == before.host else None
        services |= check_writer(tx, host, of_service)
    services = services or tx.lock_any_service()
    nodes, instances = tx.lock_nodes([uuid] if uuid else [])
    record = nodes.get(uuid or '')
    if record is not None and record['host'] not in (None, owner):
        # The owner has changed in between.
        tx.lock_service(record['host'])
    now = known(tx.conn, before.id, lock=True)
    if now.state is CLOSED:
        return now
    if epoch is not None:
        check_pauses(tx, record)
    instance = instances.get(uuid or '')
    if record is not None and _is_given_back(now, record, instance):
        at = tx.now()
        held: change_set.Row = {}
        if epoch is None:
            # The owner does not know it, and its permissions last.
            row = service_admin.lock(tx, record['host'])
            lasts = row.settings.permission_lifetime if row else None
            held = {
                'held_by': _holder(record['host']),
                'held_until': at + (lasts or 0.0),
            }
        tx.close_instances([record['uuid']], at)
        tx.update_node(
            record['uuid'],
            host=None,
            reason=reasons.Reason.RELEASED.value,
            released_by=None,
            updated_at=at,
            **held,
            **transaction.mark(services),
        )
        tx.add_event(
            EventKind.NODE_RELEASED,
            origin or Origin(before.host),
            at,
            node_uuid=uuid,
            from_host=record['host'],
            instance_uuid=instance,
            reason=now.id,
        )
    return change(
        tx,
        now.id,
        state=CLOSED.value,
        open_instance_uuid=None,
        expires_at=None,
        detail=detail,
    )


def _check_free(
    uuid: str,
    reservation: Reservation,
    owner: str | None,
    instance: str | None,
) -> None:
    if owner not in (None, reservation.host):
        raise exceptions.ReservationConflictError(
            f'{owner} owns the node {uuid} on record, so {reservation.host} '
            'cannot reserve it',
            hint=f'Move it first: ironic-ownership compute node move {uuid} '
            f'--service {reservation.host}',
        )
    if instance not in (None, reservation.instance_uuid):
        raise exceptions.ReservationConflictError(
            f'the node {uuid} has the instance {instance} on record',
            hint='The next refresh of its owner closes it, if it is gone',
        )


def _is_given_back(
    reservation: Reservation, record: change_set.Row, instance: str | None
) -> bool:
    """Tell whether the end of a reservation leaves its node unowned."""
    owner = record['host']
    if owner is None or record['deleted_at'] is not None:
        return False
    # An operator has moved the node, which is free and belongs to the other.
    if instance is None and owner != reservation.host:
        return False
    return instance in (None, reservation.instance_uuid)
