"""Budget of automatic changes of owner, over the whole deployment.

A transaction that spends of it locks and writes the rows of all services, so
no two of them decide from the same count, also on databases with several
writers. Without a budget nothing is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ironic_ownership.contracts.events import EventKind
from ironic_ownership.contracts.records import (
    Budget,
    Change,
    Claim,
    Release,
    hands_over,
)
from ironic_ownership.db import change_set, tables

WINDOW = 60.0
"""Seconds: the minute of the rate."""

_nodes, _events = tables.compute_nodes.c, tables.events.c

Place = tuple[str, str | None]
"""The name of a column, and its value: a shard or a conductor group."""


@dataclasses.dataclass
class Allowance:
    """Rest of a budget in one transaction. Pure.

    :param nodes: that may still change owner; ``None`` for any number.
    :param room: nodes that may still be released, by place.
    :param retry_in: seconds until more may change owner.
    """

    nodes: int | None = None
    room: dict[Place, int] = dataclasses.field(default_factory=dict)
    retry_in: float = 0.0

    def delays(
        self, host: str, row: change_set.Row | None, change: Change
    ) -> bool:
        """Tell whether a service's change of owner has to wait."""
        if not spends(host, change):
            return False
        if self.nodes is not None and self.nodes <= 0:
            return True
        return any(self.room.get(one, 1) <= 0 for one in _freed(row, change))

    def spend(
        self, host: str, row: change_set.Row | None, change: Change
    ) -> None:
        """Count a change that was accepted."""
        if not spends(host, change):
            return
        if self.nodes is not None:
            self.nodes -= 1
        for place in _freed(row, change):
            if place in self.room:
                self.room[place] -= 1


def spends(host: str, change: Change) -> bool:
    """Tell whether a change takes a node from an owner to another one."""
    own = isinstance(change, Claim) and change.seen_host == host
    return hands_over(change) and not own


def _freed(row: change_set.Row | None, change: Change) -> list[Place]:
    """Return the places in which a change leaves a node without an owner."""
    if row is None or not isinstance(change, Release):
        return []
    return [
        (name, row[name])
        for name in ('shard', 'conductor_group')
        if row[name] is not None
    ]


def room(share: float, size: int, unowned: int) -> int:
    """Return how many more nodes of a place may be without an owner."""
    return max(1, int(share * size)) - unowned


def read(
    conn: sa.Connection,
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
        recent, oldest = conn.execute(
            sa.select(sa.func.count(), sa.func.min(_events.at)).where(
                _events.at > now - WINDOW,
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
        for value, size, owned in conn.execute(
            sa.select(column, sa.func.count(), sa.func.count(_nodes.host))
            .where(column.in_(values), _nodes.deleted_at.is_(None))
            .group_by(column)
        ):
            found.room[name, value] = room(budget.share, size, size - owned)
    return found
