"""Apply a batch of changes to the records inside one transaction.

Lock the rows, let the change set decide, write: a handful of statements,
regardless of the number of changes. The only decision that is made here is
that of the budget of automatic changes of owner, over the whole deployment: a
transaction that spends of it locks and writes the rows of all services, so no
two of them decide from the same count, also on databases with several writers.
Without a budget nothing is read.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence, Set

import sqlalchemy as sa

from ironic_ownership.contracts import records
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.records import (
    Budget,
    Change,
    Claim,
    Release,
    hands_over,
)
from ironic_ownership.db import (
    change_set,
    pauses,
    registration,
    tables,
    transaction,
)
from ironic_ownership.db.transaction import Transaction

_nodes = tables.compute_nodes.c
_instances = tables.instances.c
_events = tables.events.c

_OF_OWNERS = Claim | Release | records.BeginDeletion | records.Delete
"""Changes of owner: linked tables take part in these."""


def apply(
    tx: Transaction,
    host: str,
    epoch: int,
    changes: Sequence[Change],
    *,
    origin: Origin | None = None,
    confirm: Callable[[], object] | None = None,
    budget: Budget = records.UNLIMITED,
) -> records.Outcome:
    """Carry out changes as one transaction.

    Those are refused whose record is not as they expect it. Every change of
    an owner or of an instance leaves one event.

    :param origin: the request of an operator, for the events.
    :param confirm: called last, inside of the transaction, which may have
        waited for others; an exception rolls everything back.
    :param budget: of the deployment: changes of owner beyond it that no
        operator requests are delayed.
    :raises FencedError: if the epoch is no longer the current one of the
        host, or the host is fenced; then nothing is changed.
    """
    found = collections.defaultdict[str, list[Change]](list)
    fenced: list[str] = []
    allowance = Allowance()
    # A second change of a node is decided from the rows as the first left
    # them.
    for batch in _without_repeats(changes):
        owners = {c.seen_host for c in batch if isinstance(c, Claim)}
        hosts = {host, *filter(None, owners)}
        handed_over = {c.uuid for c in batch if _takes_away(host, c)}
        is_limited = budget.is_limited and bool(handed_over)
        if is_limited:
            hosts.update(tx.conn.scalars(sa.select(tables.services.c.host)))
        decided = _lock(tx, host, epoch, hosts, batch, origin)
        # What an operator requests is not paused, and few batches change an
        # owner.
        may_wait = origin is None and handed_over
        lasting = pauses.current(tx.conn) if may_wait else []
        if is_limited:
            allowance = _allowance(
                tx, budget, decided.now, decided.nodes, batch
            )
        for change in batch:
            row = decided.nodes.get(change.uuid)
            spends = change.uuid in handed_over
            if spends and pauses.hold(lasting, row, change):
                found['paused'].append(change)
            elif spends and allowance.delays(row, change):
                found['delayed'].append(change)
            elif decided.accept(change):
                found['applied'].append(change)
                if spends:
                    allowance.spend(row, change)
            else:
                found['refused'].append(change)
        decided.finish()
        _write(tx, decided)
        fenced += decided.writes.fenced
    if confirm is not None:
        confirm()
    return records.Outcome(
        **{name: tuple(some) for name, some in found.items()},
        fenced=tuple(fenced),
        retry_in=allowance.retry_in,
    )


def settle(tx: Transaction, host: str, epoch: int) -> None:
    """Return when no earlier transaction of a service can be committed.

    Each has locked its row. Where several servers accept writes, a lock on
    another one is not waited for, but of two that write the row only the
    first is certified.

    :raises FencedError: if the epoch is no longer the current one.
    """
    transaction.check_right(host, epoch, tx.lock_service(host))


def _without_repeats(changes: Sequence[Change]) -> list[list[Change]]:
    """Cut changes into batches that name every node once, in order."""
    # Even without a change, the right to write is checked.
    batches: list[dict[str, Change]] = [{}]
    for change in changes:
        free = next((b for b in batches if change.uuid not in b), None)
        if free is None:
            batches.append(free := {})
        free[change.uuid] = change
    return [list(batch.values()) for batch in batches]


def _lock(
    tx: Transaction,
    host: str,
    epoch: int,
    hosts: Set[str],
    batch: Sequence[Change],
    origin: Origin | None,
) -> change_set.ChangeSet:
    # Not written yet: if every change is refused, nothing is written.
    services = tx.lock_services(hosts, write=False)
    transaction.check_right(host, epoch, services.get(host))
    nodes, open_instances = tx.lock_nodes([change.uuid for change in batch])
    linked_nodes = tx.linked.lock(
        tx.conn,
        {change.uuid for change in batch if isinstance(change, _OF_OWNERS)},
    )
    # Read after the locks, for which the transaction may have waited.
    now = tx.now()
    if absent := hosts - services.keys():
        # One that registers now writes its nodes, which are locked here.
        services |= tx.lock_services(absent, write=False)
    return change_set.ChangeSet(
        host, now, services, nodes, open_instances, linked_nodes, origin
    )


def _write(tx: Transaction, decided: change_set.ChangeSet) -> None:
    writes, updates = decided.writes, list(decided.node_updates())
    if not (
        updates or writes.new_nodes or writes.closed_on or writes.new_instances
    ):
        # Nothing was decided that could be wrong.
        return
    tx.raise_revisions(decided.services)
    tx.fence(writes.fenced)
    mark = transaction.mark(decided.services)
    tx.add_rows(
        tables.compute_nodes, [{**row, **mark} for row in writes.new_nodes]
    )
    for values, uuids in updates:
        tx.update_rows(_nodes.uuid, uuids, **values, **mark)
    # Of others nothing changes but the instance.
    others = decided.with_other_instance()
    others -= {uuid for _, uuids in updates for uuid in uuids}
    tx.update_rows(_nodes.uuid, sorted(others), **mark)
    tx.close_instances(writes.closed_on, decided.now)
    tx.update_rows(
        _instances.open_node_uuid,
        # Written after the nodes, whose new owner it copies.
        writes.moved_on,
        host=sa.select(_nodes.host)
        .where(_nodes.uuid == _instances.node_uuid)
        .scalar_subquery(),
    )
    tx.add_rows(tables.instances, writes.new_instances)
    decided.linked_nodes.assign(writes.claimed, decided.host)
    decided.linked_nodes.delete(writes.deleted)
    for dead, cause in writes.fenced.items():
        registration.add_death(tx, decided.host, dead, cause, decided.now)
    tx.add_rows(tables.events, writes.events)


WINDOW = 60.0
"""Seconds: the minute of the rate."""


_Place = tuple[str, str | None]
"""The name of a column, and its value: a shard or a conductor group."""


@dataclasses.dataclass
class Allowance:
    """Rest of a budget in one transaction. Pure.

    :param nodes: that may still change owner; ``None`` for any number.
    :param room: nodes that may still be released, by place.
    :param retry_in: seconds until more may change owner.
    """

    nodes: int | None = None
    room: dict[_Place, int] = dataclasses.field(default_factory=dict)
    retry_in: float = 0.0

    def delays(self, row: change_set.Row | None, change: Change) -> bool:
        """Tell whether a service's change of owner has to wait."""
        if self.nodes is not None and self.nodes <= 0:
            return True
        return any(self.room.get(one, 1) <= 0 for one in _freed(row, change))

    def spend(self, row: change_set.Row | None, change: Change) -> None:
        """Count a change of owner that was accepted."""
        if self.nodes is not None:
            self.nodes -= 1
        for place in _freed(row, change):
            if place in self.room:
                self.room[place] -= 1


def _takes_away(host: str, change: Change) -> bool:
    """Tell whether a change takes a node from an owner to another one."""
    own = isinstance(change, Claim) and change.seen_host == host
    return hands_over(change) and not own


def _freed(row: change_set.Row | None, change: Change) -> list[_Place]:
    """Return the places in which a change leaves a node without an owner."""
    if row is None or not isinstance(change, Release):
        return []
    return [
        (name, row[name])
        for name in ('shard', 'conductor_group')
        if row[name] is not None
    ]


def _allowance(
    tx: Transaction,
    budget: Budget,
    now: float,
    rows: Mapping[str, change_set.Row],
    changes: Collection[Change],
) -> Allowance:
    """Read what is left. The rows of all services are locked.

    :param rows: of the nodes, by uuid.
    """
    found = Allowance()
    if budget.rate:
        recent, oldest = tx.conn.execute(
            sa.select(sa.func.count(), sa.func.min(_events.at)).where(
                _events.at > now - WINDOW,
                # Later ones are from before the clock was set back.
                _events.at < now + WINDOW,
                _events.kind == EventKind.OWNER_CHANGED.value,
                _events.from_host.is_not(None),
            )
        ).one()
        found.nodes = budget.rate - recent
        found.retry_in = max(0.0, WINDOW - now + (oldest or now))
    if budget.share >= 1:
        return found
    places = {
        place
        for change in changes
        for place in _freed(rows.get(change.uuid), change)
    }
    for name in ('shard', 'conductor_group'):
        values = sorted(str(v) for column, v in places if column == name)
        if not values:
            continue
        column = _nodes[name]
        # With the length: MariaDB ignores blanks at the end.
        for value, size, owned in tx.conn.execute(
            sa.select(column, sa.func.count(), sa.func.count(_nodes.host))
            .where(column.in_(values), _nodes.deleted_at.is_(None))
            .group_by(column, sa.func.length(column))
        ):
            allowed = max(1, int(budget.share * size))
            found.room[name, value] = allowed - (size - owned)
    return found
