"""``/v1/compute-nodes/resolve``: uuids and names to compute nodes."""

from __future__ import annotations

import dataclasses

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.engine import suggestions

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


def _resolve(request: Request) -> Answer:
    found = suggestions.resolve(request.context.records, request.body['nodes'])
    return Answer({'nodes': [dataclasses.asdict(one) for one in found]})


OPERATIONS = (
    Operation(
        'compute_node:resolve',
        'POST',
        '/v1/compute-nodes/resolve',
        'Find the compute nodes on record for uuids and names.',
        _resolve,
        Access.READ,
        {200: ('The references, in their order.', _ANSWER)},
        description='Ironic is not asked. A name may have several nodes.',
        body=schemas.thing(nodes=_NODES),
        errors=(503,),
    ),
)
