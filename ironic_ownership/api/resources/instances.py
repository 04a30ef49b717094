"""``/v1/instances``: instances on record of nodes that are gone."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources.node_changes import operation_of
from ironic_ownership.api.resources.refusals import (
    HINT,
    REFUSED,
    answer,
    answers,
    body,
    result,
)
from ironic_ownership.engine.deletion.remover import NodeDeletion
from ironic_ownership.engine.gates import Result
from ironic_ownership.observe.columns import Column, Columns

_MAX_INSTANCES = 1_000
RESULTS: Columns[NodeDeletion] = (
    Column('instance_uuid', 'record.instance_uuid'),
    Column('node', 'record.uuid'),
    Column('name', 'record.name', schemas.TEXT_OR_NULL),
    Column('service', 'record.host', schemas.TEXT_OR_NULL),
    result(Result.WOULD_FORGET, Result.FORGOTTEN, Result.REFUSED),
    *REFUSED,
    HINT,
)


def _forget(request: Request) -> Answer:
    dry_run = request.body.get('dry_run', False)
    operation = operation_of(request)
    proposal = operation.propose_instances(request.body['uuids'])
    if not dry_run:
        proposal = operation.execute(
            proposal,
            request.context.removals,
            request.origin,
            reason=request.body['reason'],
        )
    return answer(
        request, 'instances', proposal.nodes, RESULTS, dry_run=dry_run
    )


OPERATIONS = (
    Operation(
        'instance:forget',
        'POST',
        '/v1/instances/forget',
        'Close instances on record whose node Ironic does not have.',
        _forget,
        Access.ADMIN,
        answers('instances', RESULTS),
        description='The gates are those of the deletion of a compute node, '
        'without "no_instance". Instances that a gate refuses stay on '
        'record; 409 lists the gates if every one is refused. The record of '
        'the node is deleted afterwards, as that of any node that is gone.',
        body=body(
            _MAX_INSTANCES,
            'reason',
            of='Of instances, or of their nodes.',
            reason=schemas.described(schemas.WORDS, 'Why; in the event.'),
            dry_run=schemas.DRY_RUN,
        ),
        errors=(404, 409, 502, 503),
        columns=RESULTS,
    ),
)
