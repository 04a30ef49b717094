"""``/v1/compute-node-records``, and ``resolve``: compute nodes on record."""

from __future__ import annotations

import dataclasses

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import (
    Access,
    Answer,
    Operation,
    Parameter,
    Request,
)
from ironic_ownership.api.resources.compute_nodes import OWNER
from ironic_ownership.api.schemas import TEXT_OR_NULL
from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.queries import node_listing
from ironic_ownership.observe.columns import Column, Columns

COLUMNS: Columns[node_listing.RecordedNode] = (
    Column('uuid', 'record.uuid'),
    Column('name', 'record.name', TEXT_OR_NULL),
    Column(
        'service',
        'record.host',
        TEXT_OR_NULL,
        'The owner; null if there is none.',
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
    Column(
        'unavailable',
        'record.unavailable',
        TEXT_OR_NULL,
        'Why nothing can be scheduled to the node, as its owner last '
        'evaluated; null if it can be. A code, stable.',
    ),
    schemas.moment(
        'seen_at',
        text='When the owner last read from Ironic what changed; ISO 8601, '
        'UTC. Null while the node is unowned.',
    ),
)
_FILTERS = (
    OWNER,
    Parameter(
        'shard',
        'Only nodes that were last seen in this shard, exactly as in Ironic.',
        schemas.NAME,
    ),
    Parameter(
        'conductor_group',
        'Only nodes that were last seen in this conductor group '
        '(case-insensitive); empty is the default group.',
        schemas.GROUP,
    ),
)


@Operation(
    'compute_node_record:list',
    'GET /v1/compute-node-records',
    schemas.pages(
        'A page of compute nodes, in the order of their uuids.',
        'compute_node_records',
        COLUMNS,
        notes=schemas.NOTES,
    ),
    query=(*_FILTERS, *schemas.PAGE),
    errors=(404, 503),
)
def _list(request: Request) -> Answer:
    """List compute nodes as they are on record, without asking Ironic.

    A page costs the same for any number of nodes. It shows what the owners
    last wrote, and says when they last read Ironic. Nodes without a record are
    not listed.
    """
    query = request.query
    service, group = query.get('service'), query.get('conductor_group')
    found = node_listing.read_recorded(
        request.context.records,
        NodeFilter(
            None if service is None else model.canonical_host(service),
            query.get('shard'),
            None if group is None else group.lower(),
        ),
        after=query.get('marker', ''),
        limit=request.limit + 1,
    )
    answer = request.part(
        'compute_node_records',
        found.nodes,
        lambda one: one.record.uuid,
        COLUMNS,
    )
    answer.body['notes'] = [found.remark] if found.remark else []
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
