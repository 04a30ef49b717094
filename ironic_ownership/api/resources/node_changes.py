"""Changes of nodes: delete, forget, release and import."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.api.resources.refusals import (
    HINT,
    REFUSED,
    T,
    answer,
    answers,
    body,
    refuse,
    result,
)
from ironic_ownership.api.schemas import TEXT_OR_NULL, Column, Columns, cells
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import HandOver
from ironic_ownership.engine import gates
from ironic_ownership.engine.changes import imports as import_nodes
from ironic_ownership.engine.changes.deletion import DeleteNodes
from ironic_ownership.engine.changes.gates import RELEASE
from ironic_ownership.engine.changes.imports import ImportedNode
from ironic_ownership.engine.changes.release import NodeRelease, ReleaseNodes
from ironic_ownership.engine.deletion.gates import GATES as ALL
from ironic_ownership.engine.deletion.remover import NodeDeletion
from ironic_ownership.engine.gates import Gate, GateResult, Outcome, Result

_MAX_NODES = 2_000
_MAX_RELEASED = 500

OUTCOME = 'verdict'
"""The stable key of a gate's outcome."""


_OF_RECORD: Columns[NodeDeletion] = (
    Column('uuid', 'record.uuid'),
    Column('name', 'record.name', TEXT_OR_NULL),
    Column('service', 'record.host', TEXT_OR_NULL),
)
RESULTS: Columns[NodeDeletion] = (
    *_OF_RECORD,
    result(Result.WOULD_DELETE, Result.DELETED, Result.REFUSED),
    Column('provider_deleted', type=schemas.FLAG),
    *REFUSED,
)
_OF_NODE: Columns[NodeRelease] = (
    Column('uuid', 'node.uuid'),
    Column('name', type=TEXT_OR_NULL),
    Column('service', 'node.source', TEXT_OR_NULL),
)
RELEASED: Columns[NodeRelease] = (
    *_OF_NODE,
    schemas.nullable(
        'next_service',
        'The service that claims it, as far as that is known.',
        'next_owner',
    ),
    result(
        Result.WOULD_RELEASE,
        Result.RELEASED,
        Result.UNCHANGED,
        Result.REFUSED,
    ),
    *REFUSED,
    HINT,
)


def _gates_of(table: Iterable[Gate[Any]]) -> Columns[GateResult]:
    return (
        Column('gate', type=schemas.one_of(*gates.codes(table))),
        schemas.code(OUTCOME, Outcome, 'outcome'),
        Column('evidence', 'detail', TEXT_OR_NULL),
        Column('hint', lambda g: g.hint or None, schemas.HINT),
    )


_GATE = _gates_of(ALL)
GATES: Columns[Any] = (*_OF_RECORD, *_GATE)
_GATES = schemas.array(schemas.thing(GATES))
_CHECKED = schemas.answer('Every gate.', gates=_GATES)
_DELETED = answers('nodes', RESULTS, gates=_GATES)
_RELEASE_GATES = schemas.array(schemas.thing((*_OF_NODE, *_gates_of(RELEASE))))
_RULES = (
    'A gate that cannot be evaluated has failed, and no gate can be '
    'overridden. The gates are those of "ironic-ownership compute node '
    'delete".'
)


def operation_of(request: Request) -> DeleteNodes:
    """Return the operation of one request, with its own clients."""
    context = request.context
    ports = context.ports_of(request.request_id, placement=True)
    return DeleteNodes(ports, context.limits, context.scope)


def _uuids(request: Request) -> Sequence[str]:
    if 'uuid' in request.path:
        return [request.path['uuid']]
    uuids: Sequence[str] = request.body['uuids']
    return uuids


@Operation(
    'compute_node:bulk_check_delete',
    'POST /v1/compute-nodes/check-delete',
    _CHECKED,
    allowed_to=Access.READ,
    description=_RULES,
    body=body(_MAX_NODES),
    errors=(404, 502, 503),
    columns=GATES,
)
@Operation(
    'compute_node:check_delete',
    'GET /v1/compute-nodes/{uuid}/check-delete',
    _CHECKED,
    summary='Evaluate every gate of the deletion of a node; nothing is '
    'changed.',
    description=_RULES,
    errors=(404, 502, 503),
)
def _check(request: Request) -> Answer:
    """Evaluate every gate of the deletion of nodes; nothing is changed."""
    deletion = operation_of(request).propose(_uuids(request))
    return Answer({'gates': _rows(deletion.nodes, _OF_RECORD)})


@Operation(
    'compute_node:bulk_delete',
    'POST /v1/compute-nodes/delete',
    _DELETED,
    description=f'{_RULES} A mass loss is evaluated once for all nodes '
    'of a service. Nodes that a gate refuses keep their records, and the '
    'others are deleted; 409 lists the gates if every node is refused.',
    body=body(_MAX_NODES, reason=schemas.REASON, dry_run=schemas.DRY_RUN),
)
@Operation(
    'compute_node:delete',
    'DELETE /v1/compute-nodes/{uuid}',
    _DELETED,
    summary='Delete the record and the provider of a node that is gone.',
    description=f'{_RULES} 409 lists them if one fails.',
    query=schemas.OF_DELETION,
)
def _delete(request: Request) -> Answer:
    """Delete the records and the providers of nodes that are gone."""
    operation = operation_of(request)
    deletion = operation.propose(_uuids(request))
    if not request.dry_run:
        deletion = operation.execute(
            deletion,
            request.origin,
            progress=request.progress,
            stopping=request.stopping,
        )
    nodes = deletion.nodes
    shown = _rows(nodes, _OF_RECORD)
    return answer(request, 'nodes', nodes, RESULTS, shown)


def _rows(nodes: Iterable[T], of: Columns[T]) -> list[dict[str, Any]]:
    """Return each gate of each node.

    :param of: the columns of a node.
    """
    return [
        cells(of, node) | cells(_GATE, gate)
        for node in nodes
        for gate in node.gates
    ]


@Operation(
    'compute_node:release',
    'POST /v1/compute-nodes/release',
    answers('nodes', RELEASED, gates=_RELEASE_GATES),
    body=body(_MAX_RELEASED, reason=schemas.REASON, dry_run=schemas.DRY_RUN),
)
def _release(request: Request) -> Answer:
    """Release free nodes, so that their policies choose the owner again.

    Their service continues to serve its other nodes. The answer waits for a
    third of member_ttl: until no service can act on the nodes. Nodes that a
    gate refuses keep their owner; 409 lists the gates if every one is refused.
    """
    body, context = request.body, request.context
    operation = ReleaseNodes(
        context.ports_of(request.request_id),
        context.moves,
        sharded=context.sharded,
        permission_lifetime=context.permission_lifetime,
    )
    nodes = operation.propose(body['uuids'])
    if not request.dry_run:
        by = HandOver(
            request.request_id, request.actor, reason=body.get('reason')
        )
        nodes = operation.execute(nodes, by)
    shown = _rows(nodes, _OF_NODE)
    return answer(request, 'nodes', nodes, RELEASED, shown)


_MAX_INSTANCES = 1_000
FORGOTTEN: Columns[NodeDeletion] = (
    Column('instance_uuid', 'record.instance_uuid'),
    Column('node', 'record.uuid'),
    *_OF_RECORD[1:],
    result(Result.WOULD_FORGET, Result.FORGOTTEN, Result.REFUSED),
    *REFUSED,
    HINT,
)


@Operation(
    'instance:forget',
    'POST /v1/instances/forget',
    answers('instances', FORGOTTEN),
    body=body(
        _MAX_INSTANCES,
        'reason',
        of='Of instances, or of their nodes.',
        reason=schemas.REASON,
        dry_run=schemas.DRY_RUN,
    ),
)
def _forget(request: Request) -> Answer:
    """Close instances on record whose node Ironic does not have.

    The gates are those of the deletion of a compute node, without
    "no_instance". Instances that a gate refuses stay on record; 409 lists the
    gates if every one is refused. The record of the node is deleted
    afterwards, as that of any node that is gone.
    """
    operation = operation_of(request)
    proposal = operation.propose(request.body['uuids'], instances=True)
    if not request.dry_run:
        proposal = operation.execute(proposal, request.origin)
    return answer(request, 'instances', proposal.nodes, FORGOTTEN)


MAX_IMPORTED = 1_000
"""Nodes in one request: they fit the default limit of HTTP bodies."""

IMPORTED: Columns[ImportedNode] = (
    Column('uuid', 'entry.uuid'),
    schemas.maybe('name', 'node.name'),
    Column('service', 'entry.service'),
    schemas.maybe('instance_uuid', 'node.instance_uuid'),
    result(*import_nodes.RESULTS, key='state'),
    *REFUSED,
    HINT,
)


@Operation(
    'compute_node:import',
    'POST /v1/compute-nodes/import',
    answers('nodes', IMPORTED),
    body=schemas.body(
        {
            'nodes': schemas.array(
                schemas.body(
                    {'uuid': schemas.UUID, 'service': schemas.HOST},
                    ['uuid', 'service'],
                ),
                minItems=1,
                maxItems=MAX_IMPORTED,
                description='Each node once, with its owner.',
            ),
            'new_services': schemas.described(
                schemas.FLAG,
                'Create services that are not on record, as those of '
                'which nothing has registered yet.',
            ),
            'skip_invalid': schemas.described(
                schemas.FLAG, 'Import the other nodes if a gate refuses some.'
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
        create=body.get('new_services', False),
        sharded=context.sharded,
    )
    found = operation.propose(entries)
    refused = [one for one in found if one.result is Result.REFUSED]
    if refused and not (request.dry_run or request.skip_invalid):
        refuse(
            f'{len(refused)} of {len(found)} nodes refused by a gate, '
            'nothing was imported',
            [gate for one in refused for gate in one.refused],
            [cells(IMPORTED, one) for one in refused],
            hint='Correct the causes, or skip these nodes',
        )
    if not request.dry_run:
        found = operation.execute(found, request.origin)
    return request.changed({'nodes': [cells(IMPORTED, one) for one in found]})
