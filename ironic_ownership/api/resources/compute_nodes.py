"""``/v1/compute-nodes``: the owner of each node, and the reason."""

from __future__ import annotations

import contextlib
import itertools
import uuid as uuid_module

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import PAGE, Access, Operation, Parameter
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.host import slices
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import (
    action_check,
    node_listing,
    node_query,
    node_status,
)
from ironic_ownership.engine.queries import explanation as engine_explanation
from ironic_ownership.observe import compute_node, explanation
from ironic_ownership.observe.columns import cells

_STATE = schemas.codes(node_status.State)
_STATE_FILTER = {
    'type': 'string',
    'enum': [
        *(state.value for state in node_status.State),
        *(state.value for state in node_status.Availability),
    ],
}

_TYPES: schemas.Types = {
    'uuid': schemas.TEXT,
    'name': schemas.TEXT_OR_NULL,
    'service': schemas.described(
        schemas.TEXT_OR_NULL, 'The owner on record; null if there is none.'
    ),
    'state': _STATE,
    'instance_uuid': schemas.TEXT_OR_NULL,
    'shard': schemas.TEXT_OR_NULL,
    'conductor_group': schemas.TEXT,
    'reason': schemas.described(schemas.TEXT, 'Reason code, stable.'),
    'explanation': schemas.TEXT,
    'driver': schemas.TEXT_OR_NULL,
    'resource_class': schemas.TEXT_OR_NULL,
    'provision_state': schemas.TEXT_OR_NULL,
    'power_state': schemas.TEXT_OR_NULL,
    'maintenance': schemas.FLAG_OR_NULL,
    'reservation': schemas.TEXT_OR_NULL,
    'retired': schemas.FLAG_OR_NULL,
    'decided_owner': schemas.TEXT_OR_NULL,
    'unavailable': schemas.described(
        schemas.TEXT_OR_NULL,
        'Why nothing can be scheduled to the node; null if '
        'it can be. A code, stable.',
    ),
    'unavailable_detail': schemas.TEXT_OR_NULL,
    'unavailable_since': schemas.TEXT_OR_NULL,
    'recorded_unavailable': schemas.TEXT_OR_NULL,
    'wanted_by': schemas.TEXT_OR_NULL,
    'contenders': schemas.TEXTS,
    'service_alive': schemas.FLAG_OR_NULL,
    'recorded_reason': schemas.TEXT_OR_NULL,
    'recorded_instance_uuid': schemas.TEXT_OR_NULL,
    'recorded_at': schemas.TEXT_OR_NULL,
}
_CHAIN: schemas.Types = {
    **_TYPES,
    'inputs': schemas.THING,
    'members': schemas.THINGS,
    'assigner': schemas.TEXT_OR_NULL,
    'peers': schemas.TEXTS,
    'live_peers': schemas.TEXTS,
    'policies_want': schemas.THING_OR_NULL,
    'rule': schemas.TEXT,
    'contest': schemas.TEXT_OR_NULL,
    'filtered': schemas.FLAG,
    'record': schemas.THING_OR_NULL,
    'ironic': schemas.THING_OR_NULL,
    'advice': schemas.TEXTS,
}

NODE = Parameter(
    'node',
    'Uuid or name of the node, or uuid of the instance on it.',
    schemas.KEY,
    example='rack1-node7',
)

_FILTERS = (
    Parameter(
        'service',
        'Only nodes that this service owns; case does not count.',
        schemas.HOST,
    ),
    Parameter(
        'shard',
        'Only nodes of this shard, exactly as in Ironic.',
        schemas.NAME,
    ),
    Parameter(
        'conductor_group',
        'Only nodes of this conductor group; case does not count, and empty '
        'is the default group.',
        schemas.GROUP,
    ),
    Parameter(
        'state',
        'Only nodes in this state; repeat it for several.',
        {'type': 'array', 'items': _STATE_FILTER, 'minItems': 1},
    ),
)
_EVENTS = Parameter(
    'events',
    'How many of its last events to show, newest first. Without it: 5.',
    {'type': 'integer', 'minimum': 0, 'maximum': 10000},
)


def _list(request: Request) -> Answer:
    states = request.query.get('state')
    listing = request.kept('compute nodes', _read)
    # A page, and the one that tells whether there are more.
    size = min(request.limit, slices.SIZE) + 1
    following = (
        status
        for status in listing.after(request.query.get('marker', ''), size)
        if not states or status.is_in(states)
    )
    return request.part(
        'compute_nodes',
        [*itertools.islice(following, request.limit + 1)],
        lambda status: status.uuid,
        lambda status: cells(compute_node.LONG, status),
    )


def _read(request: Request) -> node_listing.Listing:
    context = request.context
    filters = node_listing.Filters(
        request.query.get('service'),
        request.query.get('shard'),
        request.query.get('conductor_group'),
    )
    host = context.wired.service if context.sharded else ''
    scope, whose = node_listing.scope_of(filters, context.scope, host)
    with context.ports() as ports:
        return node_listing.list_nodes(ports, filters, scope, whose)


def _show(request: Request) -> Answer:
    with request.context.ports() as ports:
        found = _explained(request, ports)
        limit = request.query.get('events', 5)
        events = (
            ports.records.events(
                EventFilter(node_uuid=found.status.uuid), limit=limit
            )
            if limit
            else ()
        )
    return Answer(
        cells(compute_node.DETAILS, found.status)
        | {'events': [compute_node.event_cell(one) for one in events]}
    )


def _explain(request: Request) -> Answer:
    with request.context.ports() as ports:
        found = _explained(request, ports)
    return Answer(cells(explanation.COLUMNS, found))


def _check_action(request: Request) -> Answer:
    with request.context.ports() as ports:
        allowed = action_check.check(
            ports,
            _uuid_of(request, ports),
            lambda: request.context.sharded,
            own_scope_only=request.context.wired.own_scope_only,
        )
    return Answer(cells(compute_node.ACTION, allowed))


def _explained(
    request: Request, ports: Ports
) -> engine_explanation.Explanation:
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
    with contextlib.suppress(ValueError):
        named = str(uuid_module.UUID(text))
        return node_query.of_instance(ports, named) or named
    uuid, known = node_query.find(ports, text)
    if uuid is None:
        raise suggestions.unknown('node', text, known)
    return uuid


_LISTED = schemas.thing(compute_node.LONG, _TYPES)
_SHOWN = schemas.thing(compute_node.DETAILS, _TYPES, events=schemas.THINGS)

OPERATIONS = (
    Operation(
        'compute_node:list',
        'GET',
        '/v1/compute-nodes',
        'List compute nodes with the owner of each, and the reason.',
        _list,
        Access.READ,
        {
            200: (
                'A page of compute nodes, in the order of their uuids.',
                schemas.page('compute_nodes', _LISTED),
            )
        },
        description='Without a shard key in the configuration every node '
        'that Ironic shows to the configured credential is listed. With one, '
        'only nodes of a shard are ever listed. The pages of one walk show '
        'one moment, unless the walk takes longer than [api] list_lifetime.',
        query=(*_FILTERS, *PAGE),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:show',
        'GET',
        '/v1/compute-nodes/{node}',
        "Show one compute node: its record, Ironic's node, the decision.",
        _show,
        Access.READ,
        {200: ('The compute node, with its last events.', _SHOWN)},
        parameters=(NODE,),
        query=(_EVENTS,),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:explain',
        'GET',
        '/v1/compute-nodes/{node}/explain',
        'Explain the owner of a node: inputs, members, policies, record.',
        _explain,
        Access.READ,
        {
            200: (
                'The chain, from the inputs to the advice.',
                schemas.thing(explanation.COLUMNS, _CHAIN),
            )
        },
        parameters=(NODE,),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:check_action',
        'POST',
        '/v1/compute-nodes/{node}/check-action',
        'Check whether a node may be acted on now; nothing is changed.',
        _check_action,
        Access.READ,
        {
            200: (
                'Its owner may act on it.',
                schemas.thing(compute_node.ACTION, _TYPES),
            )
        },
        description='409 has the reason why not: out_of_service, with the '
        'conductors that are needed; not_owner, fenced or wrong_scope.',
        parameters=(NODE,),
        errors=(404, 409, 502, 503),
    ),
)
