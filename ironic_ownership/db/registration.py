"""Registration of a service's processes: register, retire, fail over.

Each function serves the method of the same name of the records port, as one
transaction. Must not decide which processes are alive: the caller does.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import service_admin, tables, transaction
from ironic_ownership.db.transaction import Transaction

_events = tables.events.c

_LARGEST_GAP = 1 << 32
"""Of two epochs that the clock does not tell apart. Large enough that a lost
one is not met by chance."""


def register(  # Model: Register
    tx: Transaction,
    host: str,
    settings: model.MemberSettings,
    *,
    incarnation: str | None = None,
    alive: Collection[str] | None = (),
    seen_epoch: int | None = None,
) -> int:
    """Create or renew the row of a service and raise its epoch.

    The process becomes the active one of its host. All later writes of
    an earlier process of that host are refused, and an absence announced
    by :meth:`retire` is over.

    :param incarnation: of the process that registers.
    :param alive: incarnations of the host that may be alive; ``None`` if
        all may. Another one of them that is active keeps its place, unless
        the row was fenced for this incarnation by :meth:`fail_over`.
    :param seen_epoch: of the service before ``alive`` was found. Another
        process that has registered since then is alive. ``None``: any epoch.
    :returns: the new epoch: greater than each earlier one, also than those
        of commits that the database has lost.
    :raises FencedError: if it is forced down; nothing is changed.
    :raises StandbyError: if another process, perhaps alive, is active;
        nothing is changed.
    """
    # Of two processes that register together, the second sees the first.
    before = service_admin.lock(tx, host, joint=True)
    if before is not None and before.forced_down:
        raise exceptions.FencedError(
            f'{host} is forced down',
            hint='It can register again after "ironic-ownership service set '
            f'{host} --up"',
        )
    active = before.incarnation if before else None
    if before is not None and active not in (None, incarnation):
        # A late request must not end the right of one that came back.
        came_back = not before.fenced and seen_epoch not in (
            None,
            before.epoch,
        )
        if alive is None or active in alive or came_back:
            raise exceptions.StandbyError(host, active, before.epoch)
    now = tx.now()
    last = before.epoch if before else service_admin.last_epoch(tx, host)
    # One that contains the time repeats none of the commits that the database
    # may have lost, by a promotion or a restore: a process may hold one.
    epoch = int(now * 1000)
    if epoch <= last:
        # The clock is behind, so the next number may be a lost one.
        epoch = last + 1 + secrets.randbelow(_LARGEST_GAP)
    values = {
        'epoch': epoch,
        'fenced': False,
        'settings': settings.to_json(),
        'registered_at': now,
        'incarnation': incarnation,
        'away_until': None,
    }
    if before is None:
        # Not less than in a row that was deleted: see LostCommits.
        tx.insert_service(host, revision=epoch, **values)
        # Other services take nodes of a service without a row without a fence.
        # There is no row of a service that they and this transaction both
        # write, so it is the nodes'. Readers read everything because of the
        # new row, so there are no marks.
        nodes = tables.compute_nodes.c
        on_record = nodes.deleted_at.is_(None)
        tx.update_rows(nodes.host, [host], on_record, updated_at=now)
    else:
        tx.update_service(host, **values)
    tx.add_event(EventKind.SERVICE_REGISTERED, Origin(host), now, to_host=host)
    return epoch


def retire(  # Model: Retire
    tx: Transaction, host: str, epoch: int, *, grace: float
) -> None:
    """Give up the active place: the last write of a process that stops.

    The row is fenced: no write under the old epoch is accepted any more.

    :param grace: seconds for which the service is expected back, by the
        database's clock: until then it counts as ``away`` and its nodes
        stay where they are. Zero: it is gone.
    :raises FencedError: if the epoch is no longer the current one.
    """
    before = service_admin.lock(tx, host)
    transaction.check_epoch(host, epoch, before.epoch if before else None)
    now = tx.now()
    tx.update_service(
        host,
        epoch=epoch + 1,
        fenced=True,
        # The next process need not wait for this one.
        incarnation=None,
        away_until=now + grace if grace > 0 else None,
        grace=grace,
    )
    tx.add_event(
        EventKind.SERVICE_RETIRED,
        Origin(host),
        now,
        from_host=host,
        reason=f'restart_grace={grace:g}' if grace > 0 else None,
    )


def fail_over(  # Model: FailOver
    tx: Transaction,
    host: str,
    *,
    incarnation: str,
    actor: str,
    reason: str | None = None,
    request_id: str | None = None,
) -> model.Service:
    """Make another process of a host the active one.

    In one event. The process that was active writes nothing more, and
    only the named one, or any once that one is dead, can register.

    :param incarnation: the standby that takes over.
    :param reason: why, for the event.
    :returns: the service as it is now, ``fenced``.
    :raises NotFoundError: if there is no such service.
    """
    before = service_admin.lock_known(tx, host)
    tx.update_service(
        host, epoch=before.epoch + 1, fenced=True, incarnation=incarnation
    )
    tx.add_event(
        EventKind.SERVICE_FAILED_OVER,
        Origin(actor, request_id),
        from_host=host,
        to_host=host,
        reason=f'incarnation={incarnation}',
        note=reason,
    )
    return service_admin.lock_known(tx, host)


def record_death(
    tx: Transaction,
    host: str,
    epoch: int,
    dead: str,
    seen_epoch: int,
    cause: str,
) -> bool:
    """Record that a service was found dead, in one event.

    Each registration has one at most: see :func:`add_death`. A service that
    stopped cleanly or was fenced has an event already.

    :param host: the observer.
    :param epoch: of the observer.
    :param dead: the service.
    :param seen_epoch: of the dead, as read before it was found missing.
    :param cause: for the reason of the event.
    :returns: whether an event was added.
    :raises FencedError: if the observer's epoch is no longer the current.
    """
    services = tx.lock_services({host, dead}, write=False)
    transaction.check_right(host, epoch, services.get(host))
    now = tx.now()
    found = services.get(dead)
    if found is None or found.epoch != seen_epoch:
        return False
    if found.fenced or found.is_away(now):
        return False
    if not add_death(tx, host, dead, cause, now):
        return False
    tx.raise_revisions(sorted(services))
    return True


def add_death(
    tx: Transaction, host: str, dead: str, cause: str, now: float
) -> bool:
    """Add the event of a death, unless this registration has one.

    Who fences a dead service adds it as well: its take-over may be faster.

    :param dead: its row is locked.
    :returns: whether it was added.
    """
    died, registered = (
        _last_event(tx, _events.from_host, dead, EventKind.SERVICE_DIED),
        _last_event(tx, _events.to_host, dead, EventKind.SERVICE_REGISTERED),
    )
    # Not by their times: the clock may have been set back in between.
    if died > registered:
        return False
    tx.add_event(
        EventKind.SERVICE_DIED,
        Origin(host),
        now,
        from_host=dead,
        reason=f'{cause}, seen missing by {host}',
    )
    return True


def _last_event(
    tx: Transaction, column: sa.Column[Any], host: str, kind: EventKind
) -> int:
    """Return the number of the last such event; 0 without any."""
    # Not the greatest by SQL: servers may walk all events for that.
    found = sa.select(_events.id).where(
        service_admin.of_service(column, host, kind)
    )
    return max(tx.conn.scalars(found), default=0)
