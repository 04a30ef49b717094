"""Lists of compute nodes: by Ironic, on record, and of names."""

from __future__ import annotations

import dataclasses
import itertools

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.api.resources.compute_nodes import LONG, SHORT
from ironic_ownership.api.schemas import TEXT_OR_NULL, Column, Columns
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.decision.peer_groups import BATCH
from ironic_ownership.engine.queries import deployment, node_listing

_PLACE = (
    schemas.host(
        'service', 'Only nodes that this service owns (case-insensitive).'
    ),
    schemas.Parameter(
        'shard',
        'Only nodes of this shard, exactly as in Ironic.',
        schemas.NAME,
    ),
    schemas.Parameter(
        'conductor_group',
        'Only nodes of this conductor group (case-insensitive); empty is the '
        'default group.',
        schemas.GROUP,
        metavar='GROUP',
    ),
)
_OF_RECORD = {
    'service': 'Only nodes whose owner on record is this service '
    '(case-insensitive).',
    'shard': 'Only nodes with this shard on record, in its exact case.',
    'conductor_group': 'Only nodes with this conductor group on record '
    '(case-insensitive); empty is the default group.',
}
_ON_RECORD = tuple(
    dataclasses.replace(one, description=_OF_RECORD[one.name])
    for one in _PLACE
)
_IN_STATE = schemas.Parameter(
    'state',
    'Only nodes in one of these states; may be repeated.',
    schemas.array(
        schemas.one_of(*deployment.State, *deployment.Availability),
        minItems=1,
    ),
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
    query=(*_PLACE, _IN_STATE, *schemas.PAGE),
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
    listing = request.kept(_read)
    # A page, and the one that tells whether there are more.
    size = min(request.limit, BATCH) + 1
    following = (
        status
        for status in listing.after(request.query.get('marker', ''), size)
        if not states or status.is_in(states)
    )
    return request.part(
        [*itertools.islice(following, request.limit + 1)],
        lambda status: status.uuid,
        listing.warnings,
    )


def _read(request: Request) -> node_listing.NodeListing:
    context = request.context
    chosen = _chosen(request)
    host = context.service if context.sharded() else ''
    with context.ports() as ports:
        together = node_listing.decides_together(ports)
        scope, whose = node_listing.scope_of(
            chosen, context.scope, host, together=together
        )
        return node_listing.list_nodes(ports, chosen, scope, whose)


def _chosen(request: Request) -> NodeFilter:
    query = request.query
    group = query.get('conductor_group')
    return NodeFilter(
        query.get('service'),
        query.get('shard'),
        None if group is None else group.lower(),
    )


RECORD: Columns[node_listing.RecordedNode] = (
    Column('uuid', 'record.uuid'),
    Column('name', 'record.name', TEXT_OR_NULL),
    schemas.nullable(
        'service', 'The owner; null if there is none.', 'record.host'
    ),
    Column(
        'state',
        type=schemas.one_of('owned', 'filtered', 'unowned'),
        help='As far as the record shows.',
    ),
    Column('instance_uuid', 'record.instance_uuid', TEXT_OR_NULL),
    Column('shard', 'record.shard', TEXT_OR_NULL),
    Column('conductor_group', 'record.conductor_group'),
    Column('reason', 'record.reason.value', help='Reason code, stable.'),
    schemas.nullable(
        'unavailable',
        'Why nothing can be scheduled to the node, as its owner last '
        'evaluated; null if it can be. A code, stable.',
        'record.unavailable',
    ),
    schemas.moment(
        'seen_at',
        text='When the owner last read from Ironic what changed; ISO 8601, '
        'UTC. Null while the node is unowned.',
    ),
)


@Operation(
    'compute_node_record:list',
    'GET /v1/compute-node-records',
    schemas.pages(
        'A page of compute nodes, in the order of their uuids.',
        'compute_node_records',
        RECORD,
        notes=schemas.NOTES,
    ),
    query=(*_ON_RECORD, *schemas.PAGE),
    errors=(404, 503),
)
def _list_records(request: Request) -> Answer:
    """List compute nodes as they are on record, without asking Ironic.

    A page costs the same for any number of nodes. It shows what the owners
    last wrote, and says when they last read Ironic. Nodes without a record are
    not listed.
    """
    nodes, remark = node_listing.read_recorded(
        request.context.records,
        _chosen(request),
        after=request.query.get('marker', ''),
        limit=request.limit + 1,
    )
    answer = request.part(nodes, lambda one: one.record.uuid)
    answer.body['notes'] = [remark] if remark else []
    return answer


_REFERENCE = schemas.thing(
    text=schemas.TEXT,
    uuid=schemas.TEXT_OR_NULL,
    fault=schemas.described(schemas.TEXT_OR_NULL, 'Why there is no uuid.'),
)
_ANSWER = schemas.thing(nodes=schemas.array(_REFERENCE))
_NODES = {
    'type': 'array',
    'minItems': 1,
    'maxItems': 10_000,
    'items': {'type': 'string', 'minLength': 1, 'maxLength': 255},
    'description': 'uuids, in any case, and names.',
}


@Operation(
    'compute_node:resolve',
    'POST /v1/compute-nodes/resolve',
    {200: ('The references, in their order.', _ANSWER)},
    allowed_to=Access.READ,
    body=schemas.thing(nodes=_NODES),
    errors=(503,),
)
def _resolve(request: Request) -> Answer:
    """Find the compute nodes on record for uuids and names.

    Ironic is not asked. A name may have several nodes.
    """
    found = suggestions.resolve(request.context.records, request.body['nodes'])
    return Answer({'nodes': [dataclasses.asdict(one) for one in found]})
