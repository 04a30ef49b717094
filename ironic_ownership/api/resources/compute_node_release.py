"""``/v1/compute-nodes/release``: free nodes leave a service that runs."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources.refusals import HINT, REFUSED, answer
from ironic_ownership.contracts.moves import HandOver
from ironic_ownership.engine.changes.release import (
    NodeRelease,
    ReleaseNodes,
)
from ironic_ownership.engine.gates import Result
from ironic_ownership.observe.columns import Column, Columns

_MAX_NODES = 500
_ONES = (
    *(Result.WOULD_RELEASE, Result.RELEASED, Result.UNCHANGED, Result.REFUSED),
)
RESULTS: Columns[NodeRelease] = (
    Column('uuid', 'node.uuid'),
    Column('name', type=schemas.TEXT_OR_NULL),
    Column('service', 'node.source', schemas.TEXT_OR_NULL),
    Column(
        'next_service',
        'next_owner',
        schemas.TEXT_OR_NULL,
        'The service that claims it, as far as that is known.',
    ),
    Column('result', 'result.value', schemas.codes(_ONES)),
    *REFUSED,
    HINT,
)


def _release(request: Request) -> Answer:
    body, context = request.body, request.context
    dry_run = body.get('dry_run', False)
    operation = ReleaseNodes(
        context.ports_of(request.request_id),
        context.moves,
        sharded=context.sharded,
        permission=context.permission,
    )
    nodes = operation.propose(body['uuids'])
    if not dry_run:
        by = HandOver(
            request.request_id, request.actor, reason=body.get('reason')
        )
        nodes = operation.execute(nodes, by)
    return answer(request, 'nodes', nodes, RESULTS, dry_run=dry_run)


OPERATIONS = (
    Operation(
        'compute_node:release',
        'POST',
        '/v1/compute-nodes/release',
        'Release free nodes, so that their policies choose the owner again.',
        _release,
        Access.ADMIN,
        schemas.answer(
            'The result for each node; or the proposal, for dry_run.',
            nodes=schemas.array(schemas.thing(RESULTS)),
            **schemas.CHANGE,
        ),
        description='Their service continues to serve its other nodes. The '
        'answer waits for a third of member_ttl: until no service can act on '
        'the nodes. Nodes that a gate refuses keep their owner; 409 lists '
        'the gates if every one is refused.',
        body=schemas.body(
            {
                'uuids': schemas.array(
                    schemas.UUID, minItems=1, maxItems=_MAX_NODES
                ),
                'reason': schemas.described(
                    schemas.WORDS, 'Why; in the events.'
                ),
                'dry_run': schemas.DRY_RUN,
            },
            ['uuids'],
        ),
        errors=(404, 409, 502, 503),
        columns=RESULTS,
    ),
)
