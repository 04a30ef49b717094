"""``/v1/compute-nodes``: the owner of each node, and the reason."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import (
    Access,
    Answer,
    Operation,
    Parameter,
    Request,
    Schema,
)
from ironic_ownership.api.schemas import FLAG_OR_NULL, TEXT_OR_NULL, TEXTS
from ironic_ownership.contracts import model, texts
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.decision.peer_groups import BATCH
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import (
    deployment,
    node_listing,
    node_query,
)
from ironic_ownership.engine.queries import explanation as engine_explanation
from ironic_ownership.engine.queries.deployment import NodeStatus
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns, cells

_STATE_FILTER = {
    'type': 'string',
    'enum': [
        *(state.value for state in deployment.State),
        *(state.value for state in deployment.Availability),
    ],
}


def unavailable(status: NodeStatus) -> str | None:
    """Return the code why nothing can be scheduled to the node."""
    code = status.availability.code if status.availability else None
    return code.value if code else None


def _instance(status: NodeStatus) -> str | None:
    if status.node is not None:
        return status.node.instance_uuid
    return status.record.instance_uuid if status.record else None


def _of_node(key: str, kind: Schema = TEXT_OR_NULL) -> Column[NodeStatus]:
    return Column(key, lambda s: getattr(s.node, key, None), kind)


def _of_record(
    key: str, read: Callable[[model.ComputeNode], Any]
) -> Column[NodeStatus]:
    return Column(
        key, lambda s: read(s.record) if s.record else None, TEXT_OR_NULL
    )


SHORT: Columns[NodeStatus] = (
    Column('uuid'),
    Column('name', type=TEXT_OR_NULL),
    Column(
        'service',
        'owner',
        TEXT_OR_NULL,
        'The owner on record; null if there is none.',
    ),
    schemas.code('state', deployment.State),
    Column('instance_uuid', _instance, TEXT_OR_NULL),
    Column('shard', lambda s: s.place[0], TEXT_OR_NULL),
    Column('conductor_group', lambda s: s.place[1]),
    Column('reason', 'decision.reason.value', help='Reason code, stable.'),
    Column(
        'unavailable',
        unavailable,
        TEXT_OR_NULL,
        'Why nothing can be scheduled to the node; null if it can be. A code, '
        'stable.',
    ),
)
_DECIDED: Columns[NodeStatus] = (
    Column('decided_owner', 'decision.owner', TEXT_OR_NULL),
    Column('wanted_by', 'decision.wanted_by', TEXT_OR_NULL),
    Column('contenders', lambda s: list(s.decision.contenders), TEXTS),
    Column('service_alive', 'owner_alive', FLAG_OR_NULL),
)
LONG: Columns[NodeStatus] = (
    *SHORT,
    Column('driver', type=TEXT_OR_NULL),
    _of_node('provision_state'),
    _of_node('maintenance', FLAG_OR_NULL),
    *_DECIDED,
)
DETAILS: Columns[NodeStatus] = (
    *SHORT,
    Column(
        'unavailable_detail',
        lambda s: (s.availability.detail if s.availability else None) or None,
        TEXT_OR_NULL,
    ),
    Column('explanation', 'decision.reason.help'),
    *_DECIDED,
    Column('driver', type=TEXT_OR_NULL),
    _of_node('resource_class'),
    _of_node('provision_state'),
    _of_node('power_state'),
    _of_node('maintenance', FLAG_OR_NULL),
    _of_node('reservation'),
    _of_node('retired', FLAG_OR_NULL),
    _of_record('recorded_reason', lambda r: r.reason.value),
    _of_record('recorded_instance_uuid', lambda r: r.instance_uuid),
    _of_record('recorded_unavailable', lambda r: r.unavailable),
    _of_record(
        'unavailable_since', lambda r: columns.moment(r.unavailable_since)
    ),
    _of_record('recorded_at', lambda r: columns.moment(r.updated_at)),
)
ACTION: Columns[NodeStatus] = (
    *SHORT[:3],
    Column('driver', type=TEXT_OR_NULL),
    Column('conductor_group', lambda s: s.place[1]),
)
"""A node that its owner may act on."""

NODE = Parameter(
    'node',
    'Uuid or name of the node, or uuid of the instance on it.',
    schemas.KEY,
    example='rack1-node7',
    metavar='UUID|NAME',
)

OWNER = Parameter(
    'service',
    'Only nodes that this service owns (case-insensitive).',
    schemas.HOST,
    metavar='HOST',
)
_FILTERS = (
    OWNER,
    Parameter(
        'shard',
        'Only nodes of this shard, exactly as in Ironic.',
        schemas.NAME,
    ),
    Parameter(
        'conductor_group',
        'Only nodes of this conductor group (case-insensitive); empty is the '
        'default group.',
        schemas.GROUP,
        metavar='GROUP',
    ),
    Parameter(
        'state',
        'Only nodes in one of these states; may be repeated.',
        {'type': 'array', 'items': _STATE_FILTER, 'minItems': 1},
    ),
)
_EVENTS = Parameter(
    'events',
    'How many of its last events to show, newest first (default: 5).',
    {'type': 'integer', 'minimum': 0, 'maximum': 10000},
    metavar='N',
)


@Operation(
    'compute_node:list',
    'GET /v1/compute-nodes',
    schemas.pages(
        'A page of compute nodes, in the order of their uuids.',
        'compute_nodes',
        LONG,
    ),
    description="Of the records whose node is not in Ironic's list, the "
    f'first {node_listing.MAX_LOOKUPS} are looked up one by one; a '
    'warning has the number of the others, which are left out.',
    query=(*_FILTERS, *schemas.PAGE),
    errors=(404, 502, 503),
    short=SHORT,
)
def _list(request: Request) -> Answer:
    """List compute nodes with the owner of each, and the reason.

    Without a shard key in the configuration every node that Ironic shows to
    the configured credential is listed. With one, only nodes of a shard are
    ever listed. The pages of one walk show one moment, unless the walk takes
    longer than [api] list_lifetime.
    """
    states = request.query.get('state')
    listing = request.kept('compute nodes', _read)
    # A page, and the one that tells whether there are more.
    size = min(request.limit, BATCH) + 1
    following = (
        status
        for status in listing.after(request.query.get('marker', ''), size)
        if not states or status.is_in(states)
    )
    return request.part(
        'compute_nodes',
        [*itertools.islice(following, request.limit + 1)],
        lambda status: status.uuid,
        LONG,
        listing.warnings,
    )


def _read(request: Request) -> node_listing.NodeListing:
    context = request.context
    filters = node_listing.Filters(
        request.query.get('service'),
        request.query.get('shard'),
        request.query.get('conductor_group'),
    )
    host = context.service if context.sharded else ''
    scope, whose = node_listing.scope_of(filters, context.scope, host)
    with context.ports() as ports:
        return node_listing.list_nodes(ports, filters, scope, whose)


@Operation(
    'compute_node:show',
    'GET /v1/compute-nodes/{node}',
    schemas.answer(
        'The compute node, with its last events.',
        DETAILS,
        events=schemas.THINGS,
        notes=schemas.NOTES,
    ),
    parameters=(NODE,),
    query=(_EVENTS,),
    errors=(404, 502, 503),
)
def _show(request: Request) -> Answer:
    """Show one compute node: its record, Ironic's node, the decision."""
    with request.context.ports() as ports:
        found = explained(request, ports)
        limit = request.query.get('events', 5)
        events = ports.records.events(
            EventFilter(node_uuid=found.status.uuid), limit=limit + 1
        )
    is_cut = 'events' in request.query and 0 < limit < len(events)
    return Answer(
        cells(DETAILS, found.status)
        | {
            'events': [_event_cell(one) for one in events[:limit]],
            'notes': ['more events follow: raise --events to see them']
            if is_cut
            else [],
        }
    )


@Operation(
    'compute_node:check_action',
    'POST /v1/compute-nodes/{node}/check-action',
    schemas.answer('Its owner may act on it.', ACTION),
    allowed_to=Access.READ,
    parameters=(NODE,),
    errors=(404, 409, 502, 503),
)
def _check_action(request: Request) -> Answer:
    """Check whether a node may be acted on now; nothing is changed.

    409 has the reason why not: out_of_service, with the conductors that are
    needed; not_owner, fenced or wrong_scope; and other_instance if Ironic has
    not the instance that was named on its node.
    """
    with request.context.ports() as ports:
        uuid = _uuid_of(request, ports)
        named = texts.canonical_uuid(request.path['node'])
        allowed = node_query.check_action(
            ports,
            uuid,
            lambda: request.context.sharded,
            instance=None if named == uuid else named,
            own_scope_only=request.context.own_scope_only,
        )
    return Answer(cells(ACTION, allowed))


def explained(
    request: Request, ports: Ports
) -> engine_explanation.Explanation:
    """Explain the node in the path.

    :raises NotFoundError: if neither Ironic nor the records know it.
    """
    uuid = _uuid_of(request, ports)
    found = node_query.explain(ports, uuid, lambda: request.context.sharded)
    if found is None:
        recorded = ports.records.compute_nodes()
        raise suggestions.unknown('node', uuid, [r.uuid for r in recorded])
    return found


def _uuid_of(request: Request, ports: Ports) -> str:
    """Return the uuid of the node in the path.

    It may be named by its uuid, its name or the uuid of its instance; Ironic
    is asked without any filter.
    """
    text = request.path['node']
    if (named := texts.canonical_uuid(text)) is not None:
        return node_query.of_instance(ports, named) or named
    uuid, known = node_query.find(ports, text)
    if uuid is None:
        raise suggestions.unknown('node', text, known)
    return uuid


_OF_EVENT = (
    *('actor', 'kind', 'from_host', 'to_host'),
    *('instance_uuid', 'reason', 'request_id'),
)


def _event_cell(event: model.Event) -> dict[str, columns.Cell]:
    """Return an event as a dictionary without empty values."""
    row = {'at': columns.moment(event.at)} | {
        name: getattr(event, name) for name in _OF_EVENT
    }
    return {key: value for key, value in row.items() if value is not None}
