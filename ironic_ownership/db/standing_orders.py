"""Standing orders: what happens to the deployed nodes of a fenced service.

An operator decides it beforehand. A service that serves notes the fence of one
that does not, and the order's time runs from then on. A fence is noted with
its epoch, so it counts only until the service registers again.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.moves import StandingOrder
from ironic_ownership.db import change_set, pauses, service_admin, transaction
from ironic_ownership.db.transaction import Transaction


def give(
    tx: Transaction, host: str, order: StandingOrder | None, origin: Origin
) -> model.Service:
    """Give a service an order, or revoke it, in one event.

    The time of an order starts again, and so does that of the same order.

    :param order: ``None`` revokes it.
    :returns: the service as it is now.
    :raises NotFoundError: if there is no such service.
    """
    before = service_admin.lock_known(tx, host)
    if order == before.order and before.fence_seen_at is None:
        return before
    text = None if order is None else json.dumps(dataclasses.asdict(order))
    tx.update_service(
        host, standing_order=text, fence_epoch=None, fence_seen_at=None
    )
    what = 'take_over_deployed_after=none'
    if order is not None:
        to = f' to {order.to}' if order.to else ''
        what = f'take_over_deployed_after={order.after}{to}; {order.reason}'
    tx.add_event(
        EventKind.SERVICE_CHANGED, origin, from_host=host, reason=what
    )
    return service_admin.lock_known(tx, host)


def note_fence(
    tx: Transaction, host: str, epoch: int, dead: model.Service
) -> bool:
    """Note since when a service with an order is fenced; fence a dead one.

    :param host: the service that has found it dead.
    :param epoch: of the former.
    :param dead: as it was read before it was found dead.
    :returns: whether it was noted: not if it has changed since.
    :raises FencedError: if the epoch is no longer the current one.
    """
    services = tx.lock_services({host, dead.host}, write=False)
    transaction.check_right(host, epoch, services.get(host))
    found = service_admin.lock(tx, dead.host)
    if (
        found is None
        or found.order is None
        or found.epoch != dead.epoch
        or found.away
        or found.fence_is_noted
    ):
        return False
    tx.raise_revisions(sorted(services))
    now = tx.now()
    if not found.fenced:
        tx.fence([dead.host])
        tx.add_event(
            EventKind.SERVICE_FENCED,
            Origin(host),
            now,
            from_host=dead.host,
            reason=f'it died; standing order of {found.order.actor}',
        )
    tx.update_service(
        dead.host,
        fence_epoch=found.epoch if found.fenced else found.epoch + 1,
        fence_seen_at=now,
    )
    return True


def limits(
    tx: Transaction,
    services: Collection[str],
    nodes: Mapping[str, change_set.Row],
) -> tuple[Collection[str], Collection[str]]:
    """Return what an automatic move may not ignore.

    :param services: those of the move, locked.
    :param nodes: rows of its nodes, locked.
    :returns: the services whose order is due, and the nodes that wait for the
        end of a pause.
    """
    found = (service_admin.lock_known(tx, h) for h in sorted(services))
    due = {row.host for row in found if row.order_due}
    lasting = pauses.current(tx.conn)
    return due, {
        uuid
        for uuid, row in nodes.items()
        if pauses.cover(lasting, row['shard'], row['conductor_group'])
    }
