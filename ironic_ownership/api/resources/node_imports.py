"""``/v1/compute-nodes/import``: owners that are recorded elsewhere."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources.refusals import (
    HINT,
    REFUSED,
    answers,
    refuse,
    result,
)
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.changes import imports as import_nodes
from ironic_ownership.engine.changes.imports import ImportedNode
from ironic_ownership.engine.gates import Result
from ironic_ownership.observe.columns import Column, Columns, cells

LARGEST = 1_000
"""Nodes in one request: they fit the default limit of HTTP bodies."""

RESULTS: Columns[ImportedNode] = (
    Column('uuid', 'entry.uuid'),
    Column('name', lambda n: n.node and n.node.name, schemas.TEXT_OR_NULL),
    Column('service', 'entry.service'),
    Column(
        'instance_uuid',
        lambda n: n.node and n.node.instance_uuid,
        schemas.TEXT_OR_NULL,
    ),
    result(*import_nodes.RESULTS, key='state'),
    *REFUSED,
    HINT,
)


@Operation(
    'compute_node:import',
    'POST /v1/compute-nodes/import',
    answers('nodes', RESULTS),
    body=schemas.body(
        {
            'nodes': schemas.array(
                schemas.body(
                    {'uuid': schemas.UUID, 'service': schemas.HOST},
                    ['uuid', 'service'],
                ),
                minItems=1,
                maxItems=LARGEST,
                description='Each node once, with its owner.',
            ),
            'new_services': schemas.described(
                schemas.FLAG,
                'Create services that are not on record, as those of '
                'which nothing has registered yet.',
            ),
            'skip_invalid': schemas.described(
                schemas.FLAG,
                'Import the other nodes if a gate refuses some.',
            ),
            'dry_run': schemas.DRY_RUN,
        },
        ['nodes'],
    ),
    errors=(409, 502, 503),
)
def _import(request: Request) -> Answer:
    """Record the owners of nodes that another system has recorded.

    Only unowned nodes are imported; the owner on record is never replaced. An
    instance that a node has is recorded with it. Repeated, it changes nothing.
    409 lists the refused nodes.
    """
    body, context = request.body, request.context
    if context.companion is not None:
        raise exceptions.RequestError(
            ['owners are not imported next to a Nova cell, which names them'],
            hint='Use "ironic-ownership nova adopt"',
        )
    entries = [
        import_nodes.ImportEntry(
            one['uuid'], model.canonical_host(one['service'])
        )
        for one in body['nodes']
    ]
    if len({entry.uuid for entry in entries}) < len(entries):
        raise exceptions.RequestError(['a node is named more than once'])
    ports = context.ports_of(request.request_id)
    operation = import_nodes.ImportNodes(
        ports,
        context.node_imports,
        create=body.get('new_services', False),
        sharded=context.sharded,
    )
    found = operation.propose(entries)
    refused = [one for one in found if one.result is Result.REFUSED]
    if refused and not (request.dry_run or request.skip_invalid):
        refuse(
            f'{len(refused)} of {len(found)} nodes are refused by a gate, '
            'nothing was imported',
            [gate for one in refused for gate in one.refused],
            [cells(RESULTS, one) for one in refused],
            hint='Correct the causes, or skip these nodes',
        )
    if not request.dry_run:
        found = operation.execute(found, request.origin)
    return request.changed({'nodes': [cells(RESULTS, one) for one in found]})
