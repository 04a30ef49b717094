"""The records of nodes, as operators change them: deletions and imports.

The functions serve the records port, each as one transaction. Must not
evaluate gates: a deletion only ensures, under the locks that every writer
takes, that the record is still the one for which they were evaluated. The
rules of an import are those of a claim by the service itself: only an unowned
node is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Claim, SeenOwner
from ironic_ownership.db import (
    change_set,
    change_transaction,
    rows,
    service_admin,
    transaction,
)
from ironic_ownership.db.linked_tables import LockedNodes
from ironic_ownership.db.transaction import Transaction

_CHANGED = 'the record changed in the last moment'


def begin_deletion(tx: Transaction, uuid: str, seen: SeenOwner) -> str | None:
    """Mark the record of a node without an instance as being deleted.

    Its provider is deleted next, then :func:`remove` follows. No event.
    A claim of a service that sees the node in Ironic again ends it, and so
    does an import.

    :param seen: the owner on record when the gates were evaluated.
    :returns: why the record can't be deleted, in one line; then nothing
        was changed.
    """
    locked = _lock(tx, uuid, seen)
    if isinstance(locked, str):
        return locked
    _, mark, _ = locked
    tx.update_node(
        uuid, updated_at=tx.now(), **change_set.BEING_DELETED, **mark
    )
    return None


def remove(
    tx: Transaction, uuid: str, seen: SeenOwner, origin: Origin
) -> bool:
    """Delete the record of a node, which is marked as being deleted.

    The row stays, marked: a node that returns gets it back. Later writes
    of the owner about the node are refused. Leaves one event.

    :param seen: the owner on record when the gates were evaluated.
    :param origin: the operator's request, for the event.
    :returns: ``False`` if there is no such record, or mark, owner, epoch
        or instance are not as seen; then nothing was changed.
    """
    locked = _lock(tx, uuid, seen)
    if isinstance(locked, str):
        return False
    record, mark, linked_nodes = locked
    if not change_set.is_being_deleted(record):
        return False
    linked_nodes.delete([uuid])
    now = tx.now()
    tx.update_node(
        uuid,
        host=None,
        reason=Reason.NODE_GONE.value,
        updated_at=now,
        deleted_at=now,
        **mark,
    )
    tx.add_event(
        EventKind.NODE_FORGOTTEN,
        origin,
        now,
        node_uuid=uuid,
        from_host=seen.host,
        reason=Reason.NODE_GONE.value,
        note=origin.reason,
    )
    return True


def forget_instance(
    tx: Transaction,
    uuid: str,
    instance_uuid: str,
    seen: SeenOwner,
    origin: Origin,
) -> str | None:
    """Close the open instance of a node that Ironic does not have.

    The record of the node stays, without an instance. Leaves one event.

    :param uuid: of the node.
    :param seen: the owner on record when the gates were evaluated.
    :param origin: the operator's request, for the event.
    :returns: why nothing was changed, in one line; ``None`` if the
        instance is closed.
    """
    locked = _lock(tx, uuid, seen, instance_uuid)
    if isinstance(locked, str):
        return locked
    now = tx.now()
    tx.close_instances([uuid], now)
    # An unowned node has no service whose row would certify this.
    _, mark, _ = locked
    tx.update_node(uuid, updated_at=now, **mark)
    tx.add_event(
        EventKind.INSTANCE_FORGOTTEN,
        origin,
        now,
        node_uuid=uuid,
        from_host=seen.host,
        instance_uuid=instance_uuid,
        reason=origin.reason,
    )
    return None


def _lock(
    tx: Transaction,
    uuid: str,
    seen: SeenOwner,
    instance: str | None = None,
) -> tuple[change_set.Row, change_set.Row, LockedNodes] | str:
    """Lock owner and node.

    :param instance: the one that has to be open; by default none.
    :returns: the record, the columns of its mark, and its linked nodes;
        an objection if anything is not as it was seen.
    """
    # Services are locked first, as every writer does.
    services = tx.lock_services({seen.host}) if seen.host else {}
    owner = services.get(seen.host or '')
    if (owner.epoch if owner else None) != seen.epoch:
        return _CHANGED
    services = services or tx.lock_any_service()
    nodes, instances = tx.lock_recorded([uuid])
    found = nodes.get(uuid)
    if found is None or found['host'] != seen.host:
        return _CHANGED
    # One that registers now writes its nodes, which are locked here.
    if seen.host and not owner and tx.lock_service(seen.host):
        return _CHANGED
    now_open = instances.get(uuid)
    if now_open != instance:
        is_now = f'its instance on record is now {now_open or "none"}'
        return is_now if instance else _CHANGED
    linked_nodes = tx.linked.lock(tx.conn, [uuid])
    if objection := linked_nodes.against_deletion(uuid, seen.host):
        return objection
    return found, transaction.mark(services), linked_nodes


def import_nodes(
    tx: Transaction,
    host: str,
    nodes: Sequence[model.Node],
    origin: Origin,
    *,
    create: bool = False,
) -> Mapping[str, str]:
    """Record a service as the owner of unowned nodes, in one transaction.

    An instance that a node has is recorded with it. Leaves one event for
    each node, and one for each instance.

    :param host: canonical name of the service.
    :param nodes: as Ironic has them, each once.
    :param origin: the operator's request, for the events.
    :param create: create the row of the service if there is none, as one
        that never registered.
    :returns: why a node was not recorded, by uuid: it got an owner before,
        or a move or a release holds it, or a cell objects.
    :raises NotFoundError: if there is no such service.
    :raises FencedError: if the service has no right to write: it was
        stopped or forced down. Nothing is changed.
    """
    if create and service_admin.lock(tx, host) is None:
        # Another transaction may insert it first: this one is repeated
        # then.
        tx.insert_service(host, revision=tx.first_revision())
    service = service_admin.lock_known(tx, host)
    outcome = change_transaction.apply(
        tx,
        host,
        service.epoch,
        [
            # Ironic has it, so a deletion that was begun ends.
            Claim(node, Reason.IMPORTED, seen_deletion=True)
            for node in nodes
        ],
        origin=origin,
    )
    refused = [claim.uuid for claim in outcome.refused]
    found, _ = tx.lock_recorded(refused)
    linked_nodes, now = tx.linked.lock(tx.conn, refused), tx.now()
    return {
        uuid: rows.against_held(found.get(uuid), now)
        or linked_nodes.against_claim(uuid, host)
        or 'it got an owner in the last moment'
        for uuid in refused
    }
