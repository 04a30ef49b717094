"""``/v1/compute-nodes``: who owns which node, and why."""

from __future__ import annotations

from ironic_ownership.engine import names
from ironic_ownership.engine.inspecting import (
    action_check,
    census,
    node_listing,
    survey,
)
from ironic_ownership.observe import (
    action,
    compute_node,
    event,
    explanation,
)
from ironic_ownership.web import asking, shape
from ironic_ownership.web.operation import (
    Access,
    Answer,
    Operation,
    Parameter,
)

_STATE = {'type': 'string', 'enum': [state.value for state in survey.State]}
_ASKED = {
    'type': 'string',
    'enum': [
        *(state.value for state in survey.State),
        *(state.value for state in survey.Availability),
    ],
}

_TYPES: shape.Types = {
    'uuid': shape.TEXT,
    'name': shape.TEXT_OR_NULL,
    'service': {
        **shape.TEXT_OR_NULL,
        'description': 'The owner on record; null for nobody.',
    },
    'state': _STATE,
    'instance_uuid': shape.TEXT_OR_NULL,
    'shard': shape.TEXT_OR_NULL,
    'conductor_group': shape.TEXT,
    'reason': {'type': 'string', 'description': 'Reason code, stable.'},
    'explanation': shape.TEXT,
    'driver': shape.TEXT_OR_NULL,
    'resource_class': shape.TEXT_OR_NULL,
    'provision_state': shape.TEXT_OR_NULL,
    'power_state': shape.TEXT_OR_NULL,
    'maintenance': shape.FLAG_OR_NULL,
    'reservation': shape.TEXT_OR_NULL,
    'retired': shape.FLAG_OR_NULL,
    'decided_owner': shape.TEXT_OR_NULL,
    'unavailable': {
        **shape.TEXT_OR_NULL,
        'description': 'Why nothing can be scheduled to the node; null if '
        'it can be. A code, stable.',
    },
    'unavailable_detail': shape.TEXT_OR_NULL,
    'unavailable_since': shape.TEXT_OR_NULL,
    'recorded_unavailable': shape.TEXT_OR_NULL,
    'wanted_by': shape.TEXT_OR_NULL,
    'contenders': shape.TEXTS,
    'service_alive': shape.FLAG_OR_NULL,
    'recorded_reason': shape.TEXT_OR_NULL,
    'recorded_instance_uuid': shape.TEXT_OR_NULL,
    'recorded_at': shape.TEXT_OR_NULL,
}
_CHAIN: shape.Types = {
    **_TYPES,
    'inputs': shape.THING,
    'members': shape.THINGS,
    'assigner': shape.TEXT_OR_NULL,
    'peers': shape.TEXTS,
    'live_peers': shape.TEXTS,
    'policies_want': shape.THING_OR_NULL,
    'rule': shape.TEXT,
    'contest': shape.TEXT_OR_NULL,
    'filtered': shape.FLAG,
    'record': shape.THING_OR_NULL,
    'ironic': shape.THING_OR_NULL,
    'advice': shape.TEXTS,
}

UUID = Parameter('uuid', 'Of the node.', shape.UUID)

_FILTERS = (
    Parameter(
        'service',
        'Only nodes that this service owns; case does not count.',
        shape.HOST,
    ),
    Parameter(
        'shard',
        'Only nodes of this shard, exactly as in Ironic.',
        shape.NAME,
    ),
    Parameter(
        'conductor_group',
        'Only nodes of this conductor group; case does not count, and empty '
        'is the default group.',
        shape.GROUP,
    ),
    Parameter(
        'state',
        'Only nodes in this state; repeat it for several.',
        {'type': 'array', 'items': _ASKED, 'minItems': 1},
    ),
)
_EVENTS = Parameter(
    'events',
    'How many of its last events to show, newest first. Without it: 5.',
    {'type': 'integer', 'minimum': 0, 'maximum': 10000},
)


def _list(asked: asking.Asked) -> Answer:
    found = asked.kept('compute nodes', _read)
    states = asked.query.get('state')
    return asked.page(
        'compute_nodes',
        [f for f in found if not states or survey.is_in(f, states)],
        lambda finding: finding.uuid,
        lambda finding: shape.cells(compute_node.LONG, finding),
    )


def _read(asked: asking.Asked) -> list[survey.Finding]:
    behind = asked.behind
    wanted = node_listing.Asked(
        asked.query.get('service'),
        asked.query.get('shard'),
        asked.query.get('conductor_group'),
    )
    host = behind.wired.service if behind.sharded else ''
    scope, whose = node_listing.scope_of(wanted, behind.scope, host)
    with behind.ports() as ports:
        return list(node_listing.take(ports, wanted, scope, whose))


def _show(asked: asking.Asked) -> Answer:
    uuid = asked.path['uuid']
    with asked.behind.ports() as ports:
        finding = census.one(ports, uuid)
        if finding is None:
            raise _unknown(uuid)
        limit = asked.query.get('events', 5)
        events = (
            ports.records.events(node_uuid=uuid, limit=limit) if limit else ()
        )
    return Answer(
        shape.cells(compute_node.DETAILS, finding)
        | {'events': [event.cell(one) for one in events]}
    )


def _explain(asked: asking.Asked) -> Answer:
    uuid = asked.path['uuid']
    with asked.behind.ports() as ports:
        said = census.explained(ports, uuid, lambda: asked.behind.sharded)
    if said is None:
        raise _unknown(uuid)
    return Answer(shape.cells(explanation.COLUMNS, said))


def _check_action(asked: asking.Asked) -> Answer:
    behind = asked.behind
    with behind.ports() as ports:
        allowed = action_check.check(
            ports, asked.path['uuid'], lambda: behind.sharded
        )
    return Answer(shape.cells(action.COLUMNS, allowed))


def _unknown(uuid: str) -> Exception:
    # The uuids of others are no hint: they are listed where that is allowed.
    return names.unknown('node', uuid, ())


_LISTED = shape.thing(compute_node.LONG, _TYPES)
_SHOWN = shape.thing(compute_node.DETAILS, _TYPES, events=shape.THINGS)

OPERATIONS = (
    Operation(
        'compute_node:list',
        'GET',
        '/v1/compute-nodes',
        'List compute nodes: who owns each node of Ironic, and why.',
        _list,
        Access.READ,
        {
            200: (
                'A page of compute nodes, in the order of their uuids.',
                shape.page('compute_nodes', _LISTED),
            )
        },
        description='Without a shard key in the configuration every node '
        'that Ironic shows to the configured credential is listed. With one, '
        'only nodes of a shard are ever listed. The pages of one walk show '
        'one moment, unless the walk takes longer than [api] list_lifetime.',
        query=(*_FILTERS, *asking.PAGE),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:show',
        'GET',
        '/v1/compute-nodes/{uuid}',
        "Show one compute node: its record, Ironic's node, the decision.",
        _show,
        Access.READ,
        {200: ('The compute node, with its last events.', _SHOWN)},
        parameters=(UUID,),
        query=(_EVENTS,),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:explain',
        'GET',
        '/v1/compute-nodes/{uuid}/explain',
        'Explain who owns a node: inputs, members, policies, rule, record.',
        _explain,
        Access.READ,
        {
            200: (
                'The chain, from the inputs to the advice.',
                shape.thing(explanation.COLUMNS, _CHAIN),
            )
        },
        parameters=(UUID,),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:check_action',
        'POST',
        '/v1/compute-nodes/{uuid}/check-action',
        'Ask whether a node may be acted on now; nothing is changed.',
        _check_action,
        Access.READ,
        {
            200: (
                'Its owner may act on it.',
                shape.thing(action.COLUMNS, _TYPES),
            )
        },
        description='409 tells why not: out_of_service, with the conductors '
        'that are needed; not_owner, fenced or wrong_scope.',
        parameters=(UUID,),
        errors=(404, 409, 502, 503),
    ),
)
