"""Carry out a batch of changes inside one transaction.

Lock, let the ledger decide, write: a handful of statements, however many
changes. Rows are always locked in the same order, services first, so that
two writers rarely meet in a deadlock. Must not decide anything itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, records
from ironic_ownership.db import change_set, clock, queries, tables

_services = tables.services.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c


def apply(
    conn: sa.Connection,
    host: str,
    epoch: int,
    changes: Sequence[records.Change],
) -> records.Outcome:
    """Make the changes that still fit the records.

    :raises FencedError: if the host may not write any more.
    """
    applied: list[records.Change] = []
    refused: list[records.Change] = []
    for batch in _without_repeats(changes):
        owners = {c.seen_host for c in batch if isinstance(c, records.Claim)}
        services = _lock_services(conn, {host, *owners} - {None})
        check_right(host, epoch, services.get(host))
        book = _open_ledger(conn, host, services, batch)
        for change in batch:
            (applied if book.accept(change) else refused).append(change)
        _write(conn, book)
    return records.Outcome(tuple(applied), tuple(refused))


def check_right(
    host: str, epoch: int, service: change_set.ServiceState | None
) -> None:
    """Refuse a writer that is not the last one registered for its host.

    :raises FencedError: saying what happened to the right to write.
    """
    check_epoch(host, epoch, service.epoch if service else None)
    if service and service.fenced:
        raise _fenced(host, 'another service has fenced it')


def check_epoch(host: str, epoch: int, current: int | None) -> None:
    """Refuse whoever is not the last one registered for its host.

    :param current: the epoch on record; ``None`` without a service.
    :raises FencedError: saying what happened to the right to write.
    """
    if current is None:
        raise _fenced(host, 'its service is not registered')
    if current != epoch:
        raise _fenced(host, f'its epoch is {epoch}, the current one {current}')


def _fenced(host: str, what: str) -> exceptions.FencedError:
    return exceptions.FencedError(
        f'{host} has no right to write: {what}',
        hint='It has to join and register again',
    )


def lock_service(
    conn: sa.Connection, host: str
) -> change_set.ServiceState | None:
    """Lock the row of one service until the end of the transaction."""
    return _lock_services(conn, {host}).get(host)


def _without_repeats(
    changes: Iterable[records.Change],
) -> Iterable[Sequence[records.Change]]:
    """Cut changes into batches that name every node once, in order."""
    batches: list[dict[str, records.Change]] = []
    times: dict[str, int] = {}
    for change in changes:
        place = times.get(change.uuid, 0)
        times[change.uuid] = place + 1
        if place == len(batches):
            batches.append({})
        batches[place][change.uuid] = change
    return [list(batch.values()) for batch in batches or [{}]]


def _lock_services(
    conn: sa.Connection, hosts: Collection[str | None]
) -> dict[str, change_set.ServiceState]:
    found = conn.execute(
        sa.select(
            _services.host,
            _services.epoch,
            _services.fenced,
            _services.forced_down,
            _services.away_until,
        )
        .where(_services.host.in_(sorted(map(str, hosts))))
        .order_by(_services.host)
        .with_for_update()
    )
    return {
        row.host: change_set.ServiceState(
            row.epoch, bool(row.fenced), bool(row.forced_down), row.away_until
        )
        for row in found
    }


def _open_ledger(
    conn: sa.Connection,
    host: str,
    services: Mapping[str, change_set.ServiceState],
    batch: Sequence[records.Change],
) -> change_set.Ledger:
    nodes: dict[str, change_set.Row] = {}
    open_instances: dict[str, str] = {}
    for uuids in queries.parts(sorted(change.uuid for change in batch)):
        rows = conn.execute(
            sa.select(tables.compute_nodes)
            .where(_nodes.uuid.in_(uuids))
            .order_by(_nodes.uuid)
            .with_for_update()
        )
        nodes.update((row.uuid, dict(row._mapping)) for row in rows)
        # Not locked: an instance only changes under its node's lock.
        for node_uuid, uuid in conn.execute(
            sa.select(_instances.open_node_uuid, _instances.uuid).where(
                _instances.open_node_uuid.in_(uuids)
            )
        ):
            open_instances[node_uuid] = uuid
    now = now_of(conn)
    return change_set.Ledger(host, now, services, nodes, open_instances)


def now_of(conn: sa.Connection) -> float:
    """Return the database's clock, in seconds since the epoch."""
    return float(conn.execute(sa.select(clock.EpochSeconds())).scalar_one())


def _write(conn: sa.Connection, book: change_set.Ledger) -> None:
    writes, now = book.writes, book.now
    for hosts in queries.parts(writes.fenced):
        conn.execute(
            sa.update(tables.services)
            .where(_services.host.in_(hosts))
            .values(epoch=_services.epoch + 1, fenced=True)
        )
    if writes.new_nodes:
        conn.execute(sa.insert(tables.compute_nodes), writes.new_nodes)
    for values, uuids in book.rewritten():
        for some in queries.parts(uuids):
            conn.execute(
                sa.update(tables.compute_nodes)
                .where(_nodes.uuid.in_(some))
                .values(values)
            )
    for uuids in queries.parts(writes.closed_on):
        conn.execute(
            sa.update(tables.instances)
            .where(_instances.open_node_uuid.in_(uuids))
            .values(open_node_uuid=None, deleted_at=now)
        )
    for uuids in queries.parts(writes.moved_on):
        conn.execute(
            sa.update(tables.instances)
            .where(_instances.open_node_uuid.in_(uuids))
            .values(
                host=sa.select(_nodes.host)
                .where(_nodes.uuid == _instances.node_uuid)
                .scalar_subquery()
            )
        )
    if writes.new_instances:
        conn.execute(sa.insert(tables.instances), writes.new_instances)
    if writes.events:
        conn.execute(sa.insert(tables.events), writes.events)
