"""The row of one service: locked, and changed by operators.

The changes serve the records port, each as one transaction. The row is locked
first, so a host that writes and an operator who stops it wait for each other.
A service that is forced down stays fenced.

An operator can decide beforehand what happens to the deployed nodes of a
service: its standing order. A service that serves notes the fence of one that
does not, and the order's time runs from then on. A fence is noted with its
epoch, so it counts only until the service registers again.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.moves import StandingOrder
from ironic_ownership.db import rows, tables, transaction
from ironic_ownership.db.dialects import Unindexed
from ironic_ownership.db.linked_tables import Flags
from ironic_ownership.db.transaction import Transaction

_services = tables.services.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c
_events = tables.events.c

_IN_EVENT = ('disabled', 'forced_down', 'disabled_reason')
_SETTABLE = (*_IN_EVENT, 'epoch', 'fenced')
_EPOCH = 'epoch '
"""Start of the reason of a deletion, before the last epoch."""


def lock(
    tx: Transaction, host: str, *, joint: bool = False
) -> model.Service | None:
    """Lock the row of a service, and return the service if it exists.

    :param joint: whether its settings in the linked tables count.
    """
    found = tx.conn.execute(rows.SERVICES.one(host).with_for_update()).first()
    if found is None:
        return None
    service = rows.service(found)
    if not joint:
        return service
    return _with_flags(service, tx.linked.flags(tx.conn, [host]).get(host))


def lock_known(
    tx: Transaction, host: str, *, joint: bool = False
) -> model.Service:
    """Lock the row of a service that has to exist."""
    found = lock(tx, host, joint=joint)
    if found is None:
        raise exceptions.NotFoundError(f'service {host!r} is not known')
    return found


def change(  # Model: ForceDown, ForceUp
    tx: Transaction,
    host: str,
    *,
    actor: str,
    disabled: bool | None = None,
    disabled_reason: str | None = None,
    forced_down: bool | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> model.Service:
    """Change an operator's settings of a service, in one event.

    ``None`` keeps a setting; without a change there is no event. Forcing
    down raises the epoch and fences the service: it can't register until
    that is taken back, and then registers again by itself.

    :param disabled_reason: kept while the service is disabled.
    :param reason: why it is changed, for the event.
    :returns: the service as it is now.
    :raises NotFoundError: if there is no such service; none is created.
    """
    own = lock_known(tx, host)
    known = tx.linked.flags(tx.conn, [host]).get(host)
    before = _with_flags(own, known)
    wanted = before.decided(disabled, disabled_reason, forced_down)
    # The own row may lack what another program set: that is written as well.
    after = own.decided(
        wanted.disabled, wanted.disabled_reason, wanted.forced_down
    )
    changed = {
        name: getattr(after, name)
        for name in _SETTABLE
        if getattr(after, name) != getattr(own, name)
    }
    flags = Flags(after.disabled, after.disabled_reason, after.forced_down)
    if known not in (None, flags):
        tx.linked.set_flags(tx.conn, host, flags)
    if not changed:
        return wanted
    tx.update_service(host, **changed)
    what = ', '.join(
        f'{name}={changed[name]}' for name in _IN_EVENT if name in changed
    )
    tx.add_event(
        EventKind.SERVICE_FORCED_DOWN
        if changed.get('forced_down')
        else EventKind.SERVICE_CHANGED,
        Origin(actor, request_id),
        from_host=host,
        reason=what,
        note=reason,
    )
    return lock_known(tx, host, joint=True)


def _with_flags(service: model.Service, flags: Flags | None) -> model.Service:
    if flags is None:
        return service
    return dataclasses.replace(service, **dataclasses.asdict(flags))


def delete(
    tx: Transaction,
    host: str,
    *,
    actor: str,
    reason: str | None = None,
    request_id: str | None = None,
) -> None:
    """Delete a service that nothing names any more, dead or alive.

    One that registers later has a greater epoch.

    :param reason: why it is deleted, for the event.
    :raises NotFoundError: if there is no such service.
    :raises ServiceInUseError: if a compute node or an open instance
        names it; nothing is changed.
    """
    before = lock_known(tx, host)
    nodes = _count(tx, (_nodes.host == host) & _nodes.deleted_at.is_(None))
    instances = _count(
        tx, (_instances.host == host) & _instances.open_node_uuid.is_not(None)
    )
    in_cell = tx.linked.usage(tx.conn, host)
    nodes, instances = max(nodes, in_cell[0]), max(instances, in_cell[1])
    if nodes or instances:
        raise exceptions.ServiceInUseError(host, nodes, instances)
    tx.conn.execute(sa.delete(tables.services).where(_services.host == host))
    reports = tables.condition_reports
    tx.conn.execute(sa.delete(reports).where(reports.c.host == host))
    tx.add_event(
        EventKind.SERVICE_DELETED,
        Origin(actor, request_id),
        from_host=host,
        reason=f'{_EPOCH}{before.epoch}',
        note=reason,
    )


def keep_unregistered(tx: Transaction, host: str) -> None:
    """Let a registration of a host without a row wait for this transaction.

    A row that does not exist cannot be locked, but that of the same key
    cannot be inserted twice.
    """
    tx.insert_service(host, disabled=True, fenced=True)
    tx.conn.execute(sa.delete(tables.services).where(_services.host == host))


def _count(tx: Transaction, which: sa.ColumnElement[bool]) -> int:
    return tx.conn.execute(
        sa.select(sa.func.count()).where(which)
    ).scalar_one()


def last_epoch(tx: Transaction, host: str) -> int:
    """Return the epoch with which a service was deleted; 0 if none was.

    A process from before the deletion may still run, and must not find its
    epoch current again.
    """
    # The ids of events are not in the order of commits where several servers
    # accept writes, so the greatest epoch counts.
    reasons = tx.conn.scalars(
        sa.select(_events.reason).where(
            of_service(_events.from_host, host, EventKind.SERVICE_DELETED)
        )
    )
    return max((int(r.removeprefix(_EPOCH)) for r in reasons), default=0)


def of_service(
    column: sa.Column[Any], host: str, kind: EventKind
) -> sa.ColumnElement[bool]:
    """Return the condition of events of a service that are about no node.

    Nearly all events of a host are about nodes: its index would read those.
    """
    return sa.and_(
        Unindexed(column) == host,
        _events.kind == kind.value,
        _events.node_uuid.is_(None),
    )


def give_order(
    tx: Transaction, host: str, order: StandingOrder | None, origin: Origin
) -> model.Service:
    """Give a service an order, or revoke it, in one event.

    The time of an order starts again, and so does that of the same order.

    :param order: ``None`` revokes it.
    :returns: the service as it is now.
    :raises NotFoundError: if there is no such service.
    """
    before = lock_known(tx, host)
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
    return lock_known(tx, host)


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
    found = lock(tx, dead.host)
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
