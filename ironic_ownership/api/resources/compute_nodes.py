"""``/v1/compute-nodes/{node}``: the owner of one node, and the reason."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.api.schemas import (
    FLAG_OR_NULL,
    TEXT_OR_NULL,
    TEXTS,
    Column,
    Columns,
    cells,
)
from ironic_ownership.contracts import model, texts
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import advice, deployment, node_query
from ironic_ownership.engine.queries.deployment import NodeStatus
from ironic_ownership.engine.queries.explanation import (
    Candidate,
    Explanation,
    explain_node,
)

_UNAVAILABLE = (
    'Why nothing can be scheduled to the node; null if it can be. A code, '
    'stable.'
)


def _instance(status: NodeStatus) -> str | None:
    if status.node is not None:
        return status.node.instance_uuid
    return status.record.instance_uuid if status.record else None


SHORT: Columns[NodeStatus] = (
    Column('uuid'),
    Column('name', type=TEXT_OR_NULL),
    schemas.nullable(
        'service', 'The owner on record; null if there is none.', 'owner'
    ),
    schemas.code('state', deployment.State),
    Column('instance_uuid', _instance, TEXT_OR_NULL),
    Column('shard', lambda s: s.place[0], TEXT_OR_NULL),
    Column('conductor_group', lambda s: s.place[1]),
    Column('reason', 'decision.reason.value', help='Reason code, stable.'),
    schemas.nullable('unavailable', _UNAVAILABLE),
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
    schemas.maybe('provision_state', 'node.provision_state'),
    schemas.maybe('maintenance', 'node.maintenance', FLAG_OR_NULL),
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
    schemas.maybe('resource_class', 'node.resource_class'),
    schemas.maybe('provision_state', 'node.provision_state'),
    schemas.maybe('power_state', 'node.power_state'),
    schemas.maybe('maintenance', 'node.maintenance', FLAG_OR_NULL),
    schemas.maybe('reservation', 'node.reservation'),
    schemas.maybe('retired', 'node.retired', FLAG_OR_NULL),
    schemas.maybe('recorded_reason', 'record.reason.value'),
    schemas.maybe('recorded_instance_uuid', 'record.instance_uuid'),
    schemas.maybe('recorded_unavailable', 'record.unavailable'),
    schemas.moment('unavailable_since', 'record.unavailable_since'),
    schemas.moment('recorded_at', 'record.updated_at'),
)
ACTION: Columns[NodeStatus] = (
    *SHORT[:3],
    Column('driver', type=TEXT_OR_NULL),
    Column('conductor_group', lambda s: s.place[1]),
)
"""A node that its owner may act on."""

_EVENTS = schemas.Parameter(
    'events',
    'How many of its last events to show, newest first (default: 5).',
    {'type': 'integer', 'minimum': 0, 'maximum': 10000},
    metavar='N',
)


@Operation(
    'compute_node:show',
    'GET /v1/compute-nodes/{node}',
    schemas.answer(
        'The compute node, with its last events.',
        DETAILS,
        events=schemas.THINGS,
        notes=schemas.NOTES,
    ),
    query=(_EVENTS,),
    errors=(404, 502, 503),
)
def _show(request: Request) -> Answer:
    """Show one compute node: its record, Ironic's node, the decision."""
    with request.context.ports() as ports:
        found = _explained(request, ports)
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
            request.context.sharded,
            instance=None if named == uuid else named,
            own_scope_only=request.context.own_scope_only,
        )
    return Answer(cells(ACTION, allowed))


def _explained(request: Request, ports: Ports) -> Explanation:
    """Explain the node in the path.

    :raises NotFoundError: if neither Ironic nor the records know it.
    """
    uuid = _uuid_of(request, ports)
    found = explain_node(ports, uuid, request.context.sharded)
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
        return node_of_instance(ports, named) or named
    return node_query.find(ports, text)


def node_of_instance(ports: Ports, uuid: str) -> str | None:
    """Return the uuid of the node on which an instance is, if one is.

    The records know it; of an instance that just appeared Ironic does, in any
    shard and conductor group.

    :param uuid: of the instance; that of a node is none.
    """
    recorded = ports.records.node_of_instance(uuid)
    if recorded is not None:
        return recorded
    if ports.records.compute_nodes_by_uuid([uuid]):
        return None
    return ports.ironic.node_of_instance(uuid)


_OF_EVENT = (
    *('actor', 'kind', 'from_host', 'to_host'),
    *('instance_uuid', 'reason', 'request_id'),
)


def _event_cell(event: model.Event) -> dict[str, schemas.Cell]:
    """Return an event as a dictionary without empty values."""
    row = {'at': texts.moment(event.at)} | {
        name: getattr(event, name) for name in _OF_EVENT
    }
    return {key: value for key, value in row.items() if value is not None}


_OF_NODE = (
    *('instance_uuid', 'shard', 'conductor_group', 'driver'),
    *('resource_class', 'provision_state', 'target_provision_state'),
    *('power_state', 'maintenance', 'retired', 'reservation'),
)
_MEMBER = (
    *('host', 'considered', 'why', 'alive', 'disabled'),
    *('forced_down', 'readable', 'admits'),
)
_Row = dict[str, schemas.Cell]


def _inputs(explanation: Explanation) -> _Row:
    node, record = explanation.status.node, explanation.status.record
    shard, group = explanation.status.place
    return {
        'shard': shard,
        'conductor_group': group,
        'instance_uuid': node.instance_uuid if node else None,
        'recorded_instance_uuid': record.instance_uuid if record else None,
    }


def _member(candidate: Candidate) -> _Row:
    return {
        **{name: getattr(candidate, name) for name in _MEMBER},
        'policies': [
            {
                'policy': result.policy.name,
                'options': _plain(result.policy),
                'member_values': _plain(result.values),
                'admits': result.admits,
                'says': result.detail,
            }
            for result in candidate.results
        ],
    }


def _plain(settings: model.PolicySettings) -> _Row:
    return {name: schemas.plain(value) for name, value in settings.options}


def _record_cell(explanation: Explanation) -> _Row | None:
    record, owner = explanation.status.record, explanation.owner
    if record is None:
        return None
    return {
        'service': record.host,
        'service_alive': explanation.status.owner_alive,
        'service_epoch': owner.epoch if owner else None,
        'instance_uuid': record.instance_uuid,
        'shard': record.shard,
        'conductor_group': record.conductor_group,
        'reason': record.reason.value,
        'unavailable': record.unavailable,
        'updated_at': texts.moment(record.updated_at),
    }


def _ironic(explanation: Explanation) -> _Row | None:
    node = explanation.status.node
    if node is None:
        return None
    return {name: getattr(node, name) for name in _OF_NODE}


def _preferred(explanation: Explanation) -> _Row | None:
    found = explanation.preferred
    if found is None:
        return None
    return {
        'service': found.owner,
        'reason': found.reason.value,
        'note': found.note or None,
    }


EXPLANATION: Columns[Explanation] = (
    Column('uuid', 'status.uuid'),
    Column('name', 'status.name', TEXT_OR_NULL),
    schemas.code('state', deployment.State, 'status.state'),
    Column('inputs', _inputs, schemas.THING),
    Column(
        'members', lambda e: [_member(c) for c in e.candidates], schemas.THINGS
    ),
    Column('assigner', type=TEXT_OR_NULL),
    Column('peers', lambda e: list(e.peers), TEXTS),
    Column('live_peers', lambda e: list(e.live_peers), TEXTS),
    Column('policies_want', _preferred, schemas.THING_OR_NULL),
    Column('decided_owner', 'decision.owner', TEXT_OR_NULL),
    Column('reason', 'decision.reason.value', help='Reason code, stable.'),
    Column('rule', advice.rule),
    schemas.maybe('contest', 'decision.contest.value'),
    Column('contenders', lambda e: list(e.decision.contenders), TEXTS),
    Column('filtered', 'decision.filtered', schemas.FLAG),
    Column('unavailable', 'status.unavailable', TEXT_OR_NULL, _UNAVAILABLE),
    Column('record', _record_cell, schemas.THING_OR_NULL),
    Column('ironic', _ironic, schemas.THING_OR_NULL),
    Column('advice', lambda e: list(advice.advise(e)), TEXTS),
)


@Operation(
    'compute_node:explain',
    'GET /v1/compute-nodes/{node}/explain',
    schemas.answer('The chain, from the inputs to the advice.', EXPLANATION),
    errors=(404, 502, 503),
)
def _explain(request: Request) -> Answer:
    """Explain the owner of a node: inputs, members, policies, record."""
    with request.context.ports() as ports:
        found = _explained(request, ports)
    return Answer(cells(EXPLANATION, found))
