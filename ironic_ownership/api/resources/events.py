"""``/v1/events``: the history of nodes and services."""

from __future__ import annotations

import re

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.schemas import TEXT_OR_NULL, Column, Columns
from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.events import (
    EventFilter,
    EventKind,
    EventPosition,
)
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.ports import Records
from ironic_ownership.engine.queries import node_query

SHORT: Columns[model.Event] = (
    Column(
        'at',
        lambda e: texts.moment(e.at),
        help='When, by the clock of the database; ISO 8601, UTC.',
    ),
    Column('kind', help='A code, stable; a later release may have more.'),
    Column('actor', help='The service or the user that did it.'),
    schemas.nullable(
        'from_host', 'The previous owner, or the service that it happened to.'
    ),
    schemas.nullable('to_host', 'The next owner, or the service that began.'),
    Column('node_uuid', type=TEXT_OR_NULL),
    Column('reason', type=TEXT_OR_NULL),
)
LONG: Columns[model.Event] = (
    *SHORT,
    Column('instance_uuid', type=TEXT_OR_NULL),
    schemas.nullable(
        'request_id',
        "Of the operator's request that caused it; null if none did.",
    ),
    schemas.number('id', 'Unique, but not in the order of time.'),
)

_MOMENT = {
    'type': 'string',
    'maxLength': 40,
    'pattern': r'^\d{4}-\d{2}-\d{2}'
    r'([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$',
}
_FILTERS = (
    schemas.host(
        'service',
        'Only events of this service, or of nodes that it lost or got '
        '(case-insensitive).',
    ),
    schemas.Parameter(
        'node',
        'Only events of this node: a uuid, or a name on record.',
        schemas.NAME,
        metavar='UUID|NAME',
    ),
    schemas.Parameter(
        'kind',
        'Only events of one of these kinds; may be repeated.',
        {'type': 'array', 'items': schemas.one_of(*EventKind), 'minItems': 1},
    ),
    schemas.Parameter(
        'since',
        'Only events at this time or later: a date or a time in ISO 8601, '
        'UTC unless it has an offset; by the clock of the database.',
        _MOMENT,
        example='2025-01-31T22:00:00Z',
        metavar='TIME',
    ),
    schemas.Parameter(
        'until', 'Only events before this time.', _MOMENT, metavar='TIME'
    ),
    schemas.Parameter(
        'actor',
        'Only events of this service or user, exactly as shown.',
        schemas.NAME,
    ),
    schemas.Parameter(
        'request_id',
        "Only events of one operator's request; a move has its own.",
        schemas.NAME,
        metavar='ID',
    ),
)
_MARKER = re.compile(r'(\d{1,12}(?:\.\d{1,9})?)_(\d{1,18})', re.ASCII)


@Operation(
    'event:list',
    'GET /v1/events',
    schemas.pages('A page of events.', 'events', LONG),
    query=(*_FILTERS, *schemas.PAGE),
    errors=(404, 503),
    short=SHORT,
)
def _list(request: Request) -> Answer:
    """List the history of nodes and services, newest first.

    Fences, deaths and take-overs state their reason; what an operator did has
    the id of the request. Events are kept until "ironic-ownership-dbsync
    purge" deletes them.
    """
    query, records = request.query, request.context.records
    named, node = query.get('service'), query.get('node')
    service = named and model.canonical_host(named)
    since, until = _seconds(query.get('since')), _seconds(query.get('until'))
    if since is not None and until is not None and until < since:
        raise exceptions.NotFoundError(
            f'{query["until"]} is before {query["since"]}: no event can be '
            'in between',
            hint='Let "until" be later than "since"',
        )
    found = records.events(
        EventFilter(
            node_uuid=None if node is None else _uuid_of(node, records),
            service=service,
            kinds=query.get('kind', ()),
            actor=query.get('actor'),
            request_id=query.get('request_id'),
            since=since,
            until=until,
        ),
        before=_position(query.get('marker')),
        limit=request.limit + 1,
    )
    # One that is gone may have left events that are filtered out.
    if named and not (
        found or records.events(EventFilter(service=service), limit=1)
    ):
        suggestions.service_named(records, named)
    return request.part(found, _marker)


def _uuid_of(text: str, records: Records) -> str:
    """Return the uuid of a node; neither Ironic nor a record is needed.

    :raises NotFoundError: if the text is no uuid, and no record has the name.
    """
    if (known := texts.canonical_uuid(text)) is not None:
        return known
    return node_query.recorded(records, text)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return texts.parse_moment(text).timestamp()
    except (ValueError, OverflowError) as exc:
        # As for a name: it fits the schema, and cannot exist.
        raise exceptions.NotFoundError(
            f'{text!r} is not a time: {exc}',
            hint='Write it as 2025-01-31 or 2025-01-31T22:00:00Z',
        ) from exc


def _marker(one: model.Event) -> str:
    # Shorter, and a different event would follow.
    return f'{one.at:.9f}_{one.id}'


def _position(text: str | None) -> EventPosition | None:
    if text is None:
        return None
    match = _MARKER.fullmatch(text)
    if match is None:
        raise exceptions.NotFoundError(
            f'{text!r} is not a marker of this list',
            hint='Follow the "next" of a page',
        )
    return EventPosition(float(match[1]), int(match[2]))
