"""Apply a batch of changes to the records inside one transaction.

Lock the rows, let the change set decide, write: a handful of statements,
regardless of the number of changes. Must not decide anything itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from ironic_ownership.contracts import records
from ironic_ownership.contracts.events import Origin
from ironic_ownership.db import (
    budgets,
    change_set,
    pauses,
    tables,
    transaction,
)
from ironic_ownership.db.linked_tables import LinkedTables

_nodes = tables.compute_nodes.c
_instances = tables.instances.c

_OF_OWNERS = (
    records.Claim | records.Release | records.BeginDeletion | records.Delete
)
"""Changes of owner: linked tables take part in these."""


def apply(
    conn: sa.Connection,
    linked: LinkedTables,
    host: str,
    epoch: int,
    changes: Sequence[records.Change],
    origin: Origin | None = None,
    budget: records.Budget = records.UNLIMITED,
) -> records.Outcome:
    """Make the changes that still fit the records.

    :param origin: the request of an operator, for the events.
    :param budget: of the changes of owner that no operator requests.
    """
    applied: list[records.Change] = []
    refused: list[records.Change] = []
    fenced: list[str] = []
    paused: list[records.Change] = []
    delayed: list[records.Change] = []
    allowance = budgets.Allowance()
    # A second change of a node is decided from the rows as the first left
    # them.
    for batch in _without_repeats(changes):
        owners = {c.seen_host for c in batch if isinstance(c, records.Claim)}
        hosts = {host, *filter(None, owners)}
        is_limited = budget.is_limited and any(
            budgets.spends(host, change) for change in batch
        )
        if is_limited:
            hosts.update(conn.scalars(sa.select(tables.services.c.host)))
        # Not written yet: if every change is refused, nothing is written.
        services = transaction.lock_services(conn, hosts, write=False)
        transaction.check_right(host, epoch, services.get(host))
        decided = _lock(conn, linked, host, services, batch, origin)
        if absent := hosts - services.keys():
            # One that registers now writes its nodes, which are locked here.
            services |= transaction.lock_services(conn, absent, write=False)
        # What an operator requests is not paused, and few batches change an
        # owner.
        lasting: Sequence[records.Pause] = ()
        if origin is None and any(map(records.hands_over, batch)):
            lasting = pauses.current(conn)
        if is_limited:
            allowance = budgets.read(
                conn, budget, decided.now, decided.nodes, batch
            )
        for change in batch:
            row = decided.nodes.get(change.uuid)
            if pauses.hold(lasting, host, row, change):
                paused.append(change)
            elif allowance.delays(host, row, change):
                delayed.append(change)
            elif decided.accept(change):
                applied.append(change)
                allowance.spend(host, row, change)
            else:
                refused.append(change)
        decided.finish()
        _write(conn, decided)
        fenced += decided.writes.fenced
    return records.Outcome(
        *(tuple(applied), tuple(refused), tuple(fenced), tuple(paused)),
        delayed=tuple(delayed),
        retry_in=allowance.retry_in,
    )


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
    # Even without a change, the right to write is checked.
    return [list(batch.values()) for batch in batches or [{}]]


def _lock(
    conn: sa.Connection,
    linked: LinkedTables,
    host: str,
    services: Mapping[str, change_set.ServiceState],
    batch: Sequence[records.Change],
    origin: Origin | None,
) -> change_set.ChangeSet:
    nodes, open_instances = transaction.lock_nodes(
        conn, [change.uuid for change in batch]
    )
    linked_nodes = linked.lock(
        conn,
        {change.uuid for change in batch if isinstance(change, _OF_OWNERS)},
    )
    # Read after the locks, for which the transaction may have waited.
    now = transaction.now_of(conn)
    return change_set.ChangeSet(
        host, now, services, nodes, open_instances, linked_nodes, origin
    )


def _write(conn: sa.Connection, decided: change_set.ChangeSet) -> None:
    writes, updates = decided.writes, list(decided.node_updates())
    if not (
        updates or writes.new_nodes or writes.closed_on or writes.new_instances
    ):
        # Nothing was decided that could be wrong.
        return
    transaction.raise_revisions(conn, decided.services)
    transaction.fence(conn, writes.fenced)
    mark = transaction.mark(decided.services)
    transaction.add_rows(
        conn,
        tables.compute_nodes,
        [{**row, **mark} for row in writes.new_nodes],
    )
    for values, uuids in updates:
        transaction.update_rows(conn, _nodes.uuid, uuids, **values, **mark)
    # Of others nothing changes but the instance.
    others = decided.with_other_instance()
    others -= {uuid for _, uuids in updates for uuid in uuids}
    transaction.update_rows(conn, _nodes.uuid, sorted(others), **mark)
    transaction.close_instances(conn, writes.closed_on, decided.now)
    transaction.update_rows(
        conn,
        _instances.open_node_uuid,
        # Written after the nodes, whose new owner it copies.
        writes.moved_on,
        host=sa.select(_nodes.host)
        .where(_nodes.uuid == _instances.node_uuid)
        .scalar_subquery(),
    )
    transaction.add_rows(conn, tables.instances, writes.new_instances)
    decided.linked_nodes.assign(writes.claimed, decided.host)
    decided.linked_nodes.delete(writes.deleted)
    transaction.add_rows(conn, tables.events, writes.events)
