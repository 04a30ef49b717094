"""Convert rows to the contracts' values, and values to rows.

A value that another release or a person wrote into a row must not make all
other rows unreadable: it becomes one that admits or requests nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from ironic_ownership.contracts import (
    conditions,
    exceptions,
    model,
    moves,
    reasons,
)
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.member_settings import stored
from ironic_ownership.contracts.moves import StandingOrder
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.db import dialects, queries, tables

T = TypeVar('T')

_EVENT = {c.name: None for c in tables.events.c if not c.primary_key}
_LONGEST_REASON = 255
_ASKED_BY = 'asked_by'
_REASONS = {reason.value: reason for reason in reasons.Reason}


@dataclasses.dataclass(frozen=True)
class ServiceSource:
    """Source of services: the columns, and the tables they are in."""

    columns: Sequence[sa.ColumnElement[Any]]
    tables: sa.FromClause

    def select(self, *more: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """Select services, with the time that decides whether one is away."""
        now = dialects.EpochSeconds().label('now')
        return sa.select(*self.columns, now, *more).select_from(self.tables)

    def one(self, host: str) -> sa.Select[Any]:
        """Select one service."""
        return self.select().where(tables.services.c.host == host)

    def with_node(self, host: str, uuid: str) -> sa.Select[Any]:
        """Select one service, and behind its columns a compute node's."""
        node = (
            queries.COMPUTE_NODES.where(tables.compute_nodes.c.uuid == uuid)
            .add_columns(sa.literal(host).label(_ASKED_BY))
            .subquery()
        )
        own = tables.services.c.host
        joined = self.tables.outerjoin(node, node.c[_ASKED_BY] == own)
        columns = [column for column in node.c if column.name != _ASKED_BY]
        found = dataclasses.replace(self, tables=joined)
        return found.select(*columns).where(own == host)


SERVICES = ServiceSource(
    (*tables.services.c, sa.false().label('up_in_nova')), tables.services
)
"""Every service, from the records alone."""


def built(kind: Callable[..., T], row: Any, **values: Any) -> T:
    """Build a value from the columns that have the names of its fields.

    :param values: of the other fields, and of columns in another form.
    """
    columns = row._mapping
    same = {
        n: columns[n] for n in _fields(kind) - values.keys() if n in columns
    }
    return kind(**same, **values)


@functools.cache
def _fields(kind: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(kind))


def _columns(value: Any, table: sa.Table) -> dict[str, Any]:
    """Return the fields of a value that are columns of a table."""
    names = _fields(value.__class__).intersection(table.c.keys())
    return {name: getattr(value, name) for name in names}


def condition_report(row: Any) -> ConditionReport:
    """Build a report from a row of ``queries.CONDITION_REPORTS``."""
    return built(
        ConditionReport,
        row,
        interval=row.due_after,
        conditions=conditions.from_json(row.conditions),
        age=row.now - row.reported_at,
    )


def compute_node(row: Iterable[Any]) -> model.ComputeNode:
    """Build a compute node from a row of ``queries.COMPUTE_NODES``."""
    uuid, host, instance, name, driver, shard, group, reason, *more = row
    at, unavailable, since, digest, released_by = more
    return model.ComputeNode(
        uuid,
        _shared(host),
        instance,
        name,
        sys.intern(driver),
        _shared(shard),
        sys.intern(group),
        # A newer release may have other reasons: the owner is what matters.
        _REASONS.get(reason, reasons.Reason.RECORD_KEEPS),
        at,
        _shared(unavailable),
        since,
        digest,
        _shared(released_by),
    )


def _shared(text: str | None) -> str | None:
    """Return the one text of all that are equal: 100,000 records are kept."""
    return None if text is None else sys.intern(text)


def changed_node(
    row: Sequence[Any],
) -> tuple[int, str, model.ComputeNode | None]:
    """Build revision, uuid and record from a row of ``queries.changed``."""
    *record, deleted_at, revision = row
    node = compute_node(record) if deleted_at is None else None
    return revision, row[0], node


def service(row: Any) -> model.Service:
    """Build a service from a row of :data:`SERVICES`."""
    away = is_away(row.away_until, row.grace, row.now)
    found = built(
        model.Service,
        row,
        disabled=bool(row.disabled),
        forced_down=bool(row.forced_down),
        fenced=bool(row.fenced),
        settings=stored(row.settings),
        # An operator who forces a service down does not wait for it.
        away=away and not row.forced_down,
        order=_order(row.standing_order),
        unmarked=row.revision - row.marked,
        up_in_nova=bool(row.up_in_nova),
    )
    due_at = found.order_due_at
    if due_at is None or due_at > row.now or found.away:
        return found
    return dataclasses.replace(found, order_due=True)


def is_away(until: float | None, grace: float | None, now: float) -> bool:
    """Tell whether a service that was stopped is expected back.

    :param until: end of the grace period, by the database's clock.
    :param grace: its length; ``None`` if a release before has written it.
    """
    if until is None or until <= now:
        return False
    # If the clock was set back, the rest is longer. Twice as long is
    # tolerated: servers of a cluster have a clock each.
    return grace is None or until - now <= 2 * grace


def _order(text: str | None) -> StandingOrder | None:
    try:
        return None if text is None else StandingOrder(**json.loads(text))
    except (ValueError, TypeError):
        # Of a newer release: without an order nothing moves.
        return None


def service_and_node(
    row: Any,
) -> tuple[model.Service, model.ComputeNode | None]:
    """Build both from a row of :meth:`ServiceSource.with_node`."""
    node = row[-len(queries.COMPUTE_NODES.selected_columns) :]
    return service(row), None if node[0] is None else compute_node(node)


def member(row: Any) -> model.Member:
    """Build a member from a row of the table of members."""
    return built(model.Member, row, settings=stored(row.settings))


def event(row: Any) -> model.Event:
    """Build an event from a row of ``events``.

    The operator's reason follows the facts.
    """
    found = dict(row._mapping)
    texts = found.pop('reason'), found.pop('note')
    reason = '; '.join(text for text in texts if text)
    return model.Event(**found, reason=reason or None)


def new_event(
    at: float, origin: Origin, kind: EventKind, **values: str | None
) -> dict[str, Any]:
    """Return the row of an event; ``at`` is the database's clock.

    :param values: columns; a reason or note that is too long is cut.
    """
    found: dict[str, Any] = {
        **_EVENT,
        'at': at,
        'actor': origin.actor,
        'kind': kind.value,
        'request_id': origin.request_id,
        **values,
    }
    for name in 'reason', 'note':
        if text := found[name]:
            found[name] = text[:_LONGEST_REASON]
    return found


def new_instance(
    uuid: str, node_uuid: str, host: str, now: float, reason: str | None
) -> dict[str, Any]:
    """Return the row of an instance that is open from now on."""
    return {
        'uuid': uuid,
        'node_uuid': node_uuid,
        'open_node_uuid': node_uuid,
        'host': host,
        'created_at': now,
        'reason': reason,
    }


def move(row: Any, **counted: Any) -> moves.Move:
    """Build a move from a row of its table.

    :param counted: fields with the numbers of its nodes.
    """
    return built(
        moves.Move,
        row,
        overrides=tuple(row.overrides.split()),
        **counted,
    )


def new_move(move: moves.Move, now: float) -> dict[str, Any]:
    """Return the row of a new move."""
    return {
        **_columns(move, tables.moves),
        'overrides': ' '.join(move.overrides),
        'created_at': now,
    }


def new_node_move(
    request_id: str, node: moves.NodeMove, now: float
) -> dict[str, Any]:
    """Return the row of a node of a new move."""
    return {
        **_columns(node, tables.node_moves),
        'request_id': request_id,
        'node_uuid': node.uuid,
        'state': node.state.value,
        'updated_at': now,
    }


def node_move(row: Any) -> moves.NodeMove:
    """Build a node's move from a row of ``node_moves``."""
    return built(
        moves.NodeMove,
        row,
        uuid=row.node_uuid,
        state=moves.NodeState(row.state),
        trial=moves.Trial(row.trial) if row.trial else None,
    )


def reservation(row: Any) -> Reservation:
    """Build a reservation from a row of its table."""
    return built(
        Reservation,
        row,
        request=_request(row),
        state=ReservationState(row.state),
    )


def _request(row: Any) -> Request:
    try:
        return Request.from_mapping(json.loads(row.request))
    except (ValueError, LookupError, TypeError, exceptions.RequestError):
        return Request(row.instance_uuid, row.host)


def new_reservation(
    reservation: Reservation, now: float, lifetime: float | None
) -> dict[str, Any]:
    """Return the row of a new reservation.

    :param lifetime: seconds after which it expires.
    """
    return {
        **_columns(reservation, tables.reservations),
        'open_instance_uuid': reservation.instance_uuid,
        'state': reservation.state.value,
        'request': json.dumps(reservation.request.to_mapping()),
        'created_at': now,
        'updated_at': now,
        'expires_at': None if lifetime is None else now + lifetime,
    }


def against_held(
    row: Mapping[str, Any] | None, now: float, holder: str | None = None
) -> str | None:
    """Return why no service may own an unowned node yet.

    :param row: of the node, locked.
    :param now: seconds since the epoch, by the database's clock.
    :param holder: the request that gives it an owner, or the service that
        gets a node for a reservation.
    """
    if row is None or row['host'] is not None or row['held_until'] is None:
        return None
    if row['held_until'] <= now or row['held_by'] == holder:
        return None
    return f'released: {row["held_by"]} hands it over'


def availability_columns(
    row: Mapping[str, Any] | None,
    evaluation: reasons.Evaluation | None,
    now: float,
) -> dict[str, Any]:
    """Return the two columns to write; ``None`` keeps them as they are."""
    before = row['unavailable'] if row else None
    since = row['unavailable_since'] if row else None
    if evaluation is None or evaluation.code == before:
        return {'unavailable': before, 'unavailable_since': since}
    return {
        'unavailable': evaluation.code.value if evaluation.code else None,
        'unavailable_since': now if evaluation.code else None,
    }


def event_reason(
    row: Mapping[str, Any] | None, evaluation: reasons.Evaluation | None
) -> str | None:
    """Return the reason of the event that an evaluation leaves, if any.

    The first evaluation is no change, and an instance that comes or goes has
    an event of its own.
    """
    if evaluation is None or row is None or row['deleted_at'] is not None:
        return None
    before, after = row['unavailable'], evaluation.code
    by_instance = {None, *reasons.WITH_INSTANCE}
    if before == after or {before, after} <= by_instance:
        return None
    change = f'{before or "available"} -> {after or "available"}'
    detail = f': {evaluation.detail}' if evaluation.detail else ''
    return f'{change}{detail}'
