"""Statements of several lines that read the records, and the clock of all.

Runs none of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext import compiler
from sqlalchemy.sql import expression

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter, EventPosition
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.db import tables

T = TypeVar('T')

_nodes, _instances = tables.compute_nodes.c, tables.instances.c
_events = tables.events.c


class EpochSeconds(expression.FunctionElement[float]):
    """The time of the statement by the server, in seconds since 1970 (UTC).

    The one clock that all processes share. It decides liveness and writes
    every timestamp on record: a host whose own clock is wrong is neither dead
    nor from the future.
    """

    type = sa.Double()
    # SQLAlchemy compiles a statement with it only once.
    inherit_cache = True


@compiler.compiles(EpochSeconds)
def _no_clock(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    raise NotImplementedError(f'no clock for {visitor.dialect.name}')


@compiler.compiles(EpochSeconds, 'sqlite')
def _sqlite_clock(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    # unixepoch('subsec') needs 3.42; milliseconds are all 'now' has.
    return "ROUND((julianday('now') - 2440587.5) * 86400.0, 3)"


@compiler.compiles(EpochSeconds, 'postgresql')
def _postgresql_clock(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    # now() is the start of the transaction, which may have waited for a lock.
    return 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)'


@compiler.compiles(EpochSeconds, 'mysql', 'mariadb')
def _mysql_clock(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    # UNIX_TIMESTAMP(NOW()) is ambiguous for an hour a year in local time;
    # the exponent makes the quotient a double instead of a decimal.
    return (
        "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1.0e6)"
    )


class _Unindexed(expression.FunctionElement[Any]):
    """A column whose index SQLite does not use.

    SQLite takes the index of any column that a filter names, and then sorts
    all rows that it finds, for each page again. Without that index it walks
    the primary key in order, and stops at the end of the page. The other
    databases know how many rows a filter leaves, and decide by that.
    """

    inherit_cache = True

    def __init__(self, column: sa.Column[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiler.compiles(_Unindexed)
def _plain(element: _Unindexed, visitor: Any, **kw: Any) -> str:
    return str(visitor.process(element.clauses, **kw))


@compiler.compiles(_Unindexed, 'sqlite')
def _unindexed(element: _Unindexed, visitor: Any, **kw: Any) -> str:
    # Source: https://www.sqlite.org/optoverview.html, "Disqualifying
    # WHERE-clause terms using unary +".
    return f'+{visitor.process(element.clauses, **kw)}'


@dataclasses.dataclass(frozen=True)
class ServiceSource:
    """Source of services: the columns, and the tables they are in."""

    columns: Sequence[sa.ColumnElement[Any]]
    tables: sa.FromClause

    def select(self, *more: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """Select services, with the time that decides whether one is away."""
        now = EpochSeconds().label('now')
        return sa.select(*self.columns, now, *more).select_from(self.tables)


SERVICES = ServiceSource(
    (*tables.services.c, sa.false().label('up_in_nova')), tables.services
)
"""Every service, from the records alone."""

CONDITION_REPORTS = sa.select(
    tables.condition_reports, EpochSeconds().label('now')
)
"""The report of each service, with the time of the query."""


def service(host: str, services: ServiceSource = SERVICES) -> sa.Select[Any]:
    """Select one service."""
    return services.select().where(tables.services.c.host == host)


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
    _Unindexed(_nodes.deleted_at).is_(None)
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
    )
).group_by(_nodes.host, _nodes.reason)
"""Compute nodes by owner and reason: all, with an instance, and unavailable
without one."""

_LARGEST = 500
_ASKED_BY = 'asked_by'


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


def page(those: NodeFilter, after: str, limit: int) -> sa.Select[Any]:
    """Select compute nodes that follow a uuid, in the order of their uuids."""
    statement = chosen(those, _Unindexed)
    return _following(statement, after, limit)


def in_reach(
    host: str, scope: model.Scope, after: str, limit: int
) -> sa.Select[Any]:
    """Select those of one host or last seen in a scope that follow a uuid."""
    filters = _given(
        (_nodes.shard, scope.shard),
        (_nodes.conductor_group, scope.conductor_group),
    )
    statement = COMPUTE_NODES
    if scope.nothing:
        statement = statement.where(_nodes.host == host)
    elif filters:
        statement = statement.where((_nodes.host == host) | sa.and_(*filters))
    return _following(statement, after, limit)


def _following(
    statement: sa.Select[Any], after: str, limit: int
) -> sa.Select[Any]:
    statement = statement.where(_nodes.uuid > after)
    return statement.order_by(_nodes.uuid).limit(limit)


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


def service_and_node(
    host: str, uuid: str, services: ServiceSource
) -> sa.Select[Any]:
    """Select one service, and behind its columns those of a compute node."""
    node = (
        COMPUTE_NODES.where(_nodes.uuid == uuid)
        .add_columns(sa.literal(host).label(_ASKED_BY))
        .subquery()
    )
    own = tables.services.c.host
    joined = services.tables.outerjoin(node, node.c[_ASKED_BY] == own)
    columns = [column for column in node.c if column.name != _ASKED_BY]
    return (
        dataclasses.replace(services, tables=joined)
        .select(*columns)
        .where(own == host)
    )


def chunks(
    values: Collection[T], largest: int = _LARGEST
) -> Iterator[Sequence[T]]:
    """Cut values into lists that every database accepts as parameters."""
    ordered = list(values)
    for start in range(0, len(ordered), largest):
        yield ordered[start : start + largest]
