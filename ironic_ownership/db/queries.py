"""Statements of several lines that read the records.

Runs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter, EventPosition
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.db import tables
from ironic_ownership.db.dialects import EpochSeconds, Unindexed

_nodes, _instances = tables.compute_nodes.c, tables.instances.c
_events = tables.events.c


CONDITION_REPORTS = sa.select(
    tables.condition_reports, EpochSeconds().label('now')
)
"""The report of each service, with the time of the query."""


_RECORDS = sa.select(
    _nodes.uuid,
    _nodes.host,
    _instances.uuid,
    _nodes.name,
    _nodes.driver,
    _nodes.shard,
    _nodes.conductor_group,
    _nodes.reason,
    _nodes.updated_at,
    _nodes.unavailable,
    _nodes.unavailable_since,
    _nodes.placement_digest,
    _nodes.released_by,
).select_from(
    tables.compute_nodes.outerjoin(
        tables.instances, _instances.open_node_uuid == _nodes.uuid
    )
)

COMPUTE_NODES = _RECORDS.where(
    # Nearly all rows: an index on it is for those that are deleted.
    Unindexed(_nodes.deleted_at).is_(None)
)
"""Every compute node that is not deleted, with its open instance."""

COUNTS = (
    COMPUTE_NODES.with_only_columns(
        _nodes.host,
        _nodes.reason,
        sa.func.count(),
        sa.func.count(_instances.open_node_uuid),
        sa.func.count(
            sa.case((_instances.open_node_uuid.is_(None), _nodes.unavailable))
        ),
        _nodes.released_by,
    )
).group_by(_nodes.host, _nodes.reason, _nodes.released_by)
"""Compute nodes by owner, reason and former owner: all, with an instance, and
unavailable without one."""


def chosen(
    those: NodeFilter, filtered: Callable[[Any], Any] = lambda column: column
) -> sa.Select[Any]:
    """Select the compute nodes of a filter.

    :param filtered: wraps the columns of the filter.
    """
    return COMPUTE_NODES.where(
        *_given(
            (filtered(_nodes.host), those.host),
            (filtered(_nodes.shard), those.shard),
            (filtered(_nodes.conductor_group), those.conductor_group),
        )
    )


def _given(
    *pairs: tuple[sa.ColumnElement[Any], str | None],
) -> list[sa.ColumnElement[bool]]:
    """Compare columns with values, where there is a value."""
    return [column == value for column, value in pairs if value is not None]


def in_reach(host: str, scope: model.Scope) -> sa.Select[Any]:
    """Select the compute nodes of one host or last seen in a scope."""
    filters = _given(
        (_nodes.shard, scope.shard),
        (_nodes.conductor_group, scope.conductor_group),
    )
    if scope.nothing:
        return COMPUTE_NODES.where(_nodes.host == host)
    if filters:
        return COMPUTE_NODES.where((_nodes.host == host) | sa.and_(*filters))
    return COMPUTE_NODES


def page(those: sa.Select[Any], after: str, limit: int) -> sa.Select[Any]:
    """Select compute nodes that follow a uuid, in the order of their uuids."""
    return those.where(_nodes.uuid > after).order_by(_nodes.uuid).limit(limit)


def changed(since: Mapping[str, int], limit: int) -> sa.Select[Any]:
    """Select the compute nodes that services changed, deleted ones as well.

    In the order of their marks, which follow the other columns: revision and
    uuid, and the time of the deletion.

    :param since: the revisions from which on, by service.
    """
    marked = [
        (_nodes.revision_host == host) & (_nodes.revision > revision)
        for host, revision in since.items()
    ]
    return (
        _RECORDS.add_columns(_nodes.deleted_at, _nodes.revision)
        .where(sa.or_(*marked))
        .order_by(_nodes.revision, _nodes.uuid)
        .limit(limit)
    )


def changed_after(
    host: str, revision: int, uuid: str, limit: int
) -> sa.Select[Any]:
    """Select those of one service that follow a revision and a uuid."""
    # The first part alone lets every database use the index.
    return changed({host: revision - 1}, limit).where(
        (_nodes.revision > revision) | (_nodes.uuid > uuid)
    )


def events(
    chosen: EventFilter, before: EventPosition | None
) -> sa.Select[Any]:
    """Select events, newest first.

    :param before: only those that follow this place in the list.
    """
    statement = sa.select(tables.events).order_by(
        _events.at.desc(), _events.id.desc()
    )
    return statement.where(*_event_filters(chosen, before))


def _event_filters(
    chosen: EventFilter, before: EventPosition | None
) -> Iterator[sa.ColumnElement[bool]]:
    yield from _given(
        (_events.node_uuid, chosen.node_uuid),
        (_events.actor, chosen.actor),
        (_events.request_id, chosen.request_id),
    )
    if chosen.service is not None:
        yield (_events.from_host == chosen.service) | (
            _events.to_host == chosen.service
        )
    if chosen.kinds:
        yield _events.kind.in_(sorted(chosen.kinds))
    if chosen.since is not None:
        yield _events.at >= chosen.since
    if chosen.until is not None:
        yield _events.at < chosen.until
    if before is not None:
        # The first part alone lets every database use the index.
        yield _events.at <= before.at
        yield (_events.at < before.at) | (_events.id < before.id)
