"""``/v1/compute-nodes``: deletion of nodes that Ironic does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation, Parameter
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources.refusals import REFUSED, answer
from ironic_ownership.api.schemas import TEXT_OR_NULL
from ironic_ownership.contracts import model
from ironic_ownership.engine import gates
from ironic_ownership.engine.changes.deletion import DeleteNodes
from ironic_ownership.engine.deletion.gates import GATES as ALL
from ironic_ownership.engine.deletion.remover import NodeDeletion
from ironic_ownership.engine.gates import GateResult, Outcome, Result
from ironic_ownership.observe.columns import Column, Columns, cells

_MAX_NODES = 2_000
"""So many uuids fit into the default of max_request_body_size."""

_UUID = Parameter('uuid', 'Of the node.', schemas.UUID)
OUTCOME = 'verdict'
"""The stable key of a gate's outcome."""

_NodeGate = tuple[model.ComputeNode, GateResult]
GATES: Columns[_NodeGate] = (
    Column('uuid', lambda g: g[0].uuid),
    Column('name', lambda g: g[0].name, TEXT_OR_NULL),
    Column('service', lambda g: g[0].host, TEXT_OR_NULL),
    Column('gate', lambda g: g[1].gate, schemas.one_of(*gates.codes(ALL))),
    Column(OUTCOME, lambda g: g[1].outcome.value, schemas.codes(Outcome)),
    Column('evidence', lambda g: g[1].detail, TEXT_OR_NULL),
    Column('hint', lambda g: g[1].hint or None, schemas.HINT),
)
RESULTS: Columns[NodeDeletion] = (
    Column('uuid', 'record.uuid'),
    Column('name', 'record.name', TEXT_OR_NULL),
    Column('service', 'record.host', TEXT_OR_NULL),
    Column(
        'result',
        'result.value',
        schemas.codes((Result.WOULD_DELETE, Result.DELETED, Result.REFUSED)),
    ),
    Column('provider_deleted', type=schemas.FLAG),
    *REFUSED,
)
_GATES = schemas.array(schemas.thing(GATES))
_RULES = (
    'A gate that cannot be evaluated has failed, and no gate can be '
    'overridden. The gates are those of "ironic-ownership compute node '
    'delete".'
)


def _body(**more: Any) -> dict[str, Any]:
    uuids = schemas.array(schemas.UUID, minItems=1, maxItems=_MAX_NODES)
    return schemas.body({'uuids': uuids, **more}, ['uuids'])


def operation_of(request: Request) -> DeleteNodes:
    """Return the operation of one request, with its own clients."""
    context = request.context
    ports = context.ports_of(request.request_id)
    return DeleteNodes(
        ports.records,
        ports.source,
        context.placement_of(request.request_id),
        context.limits,
        context.scope,
    )


def _uuids(request: Request) -> Sequence[str]:
    if 'uuid' in request.path:
        return [request.path['uuid']]
    uuids: Sequence[str] = request.body['uuids']
    return uuids


def _check(request: Request) -> Answer:
    deletion = operation_of(request).propose(_uuids(request))
    return Answer({'gates': _gates(deletion.nodes)})


def _delete(request: Request) -> Answer:
    options = request.query if 'uuid' in request.path else request.body
    dry_run = options.get('dry_run', False)
    operation = operation_of(request)
    deletion = operation.propose(_uuids(request))
    if not dry_run:
        deletion = operation.execute(
            deletion,
            request.context.removals,
            request.origin,
            progress=request.progress,
            stopping=request.stopping,
        )
    nodes = deletion.nodes
    return answer(
        *(request, 'nodes', nodes, RESULTS),
        dry_run=dry_run,
        gates=_gates(nodes),
    )


def _gates(nodes: Iterable[NodeDeletion]) -> list[dict[str, Any]]:
    return [
        cells(GATES, (node.record, gate))
        for node in nodes
        for gate in node.gates
    ]


_CHECKED = schemas.answer('Every gate.', gates=_GATES)
_DELETED = schemas.answer(
    'The result for each node; or the proposal, for dry_run.',
    nodes=schemas.array(schemas.thing(RESULTS)),
    gates=_GATES,
    **schemas.CHANGE,
)

OPERATIONS = (
    Operation(
        'compute_node:check_delete',
        'GET',
        '/v1/compute-nodes/{uuid}/check-delete',
        'Evaluate every gate of the deletion of a node; nothing is changed.',
        _check,
        Access.READ,
        _CHECKED,
        description=_RULES,
        parameters=(_UUID,),
        errors=(404, 502, 503),
    ),
    Operation(
        'compute_node:bulk_check_delete',
        'POST',
        '/v1/compute-nodes/check-delete',
        'Evaluate every gate of the deletion of nodes; nothing is changed.',
        _check,
        Access.READ,
        _CHECKED,
        description=_RULES,
        body=_body(),
        errors=(404, 502, 503),
        columns=GATES,
    ),
    Operation(
        'compute_node:delete',
        'DELETE',
        '/v1/compute-nodes/{uuid}',
        'Delete the record and the provider of a node that is gone.',
        _delete,
        Access.ADMIN,
        _DELETED,
        description=f'{_RULES} 409 lists them if one fails.',
        parameters=(_UUID,),
        query=(
            Parameter('dry_run', schemas.DRY_RUN['description'], schemas.FLAG),
        ),
        errors=(404, 409, 502, 503),
    ),
    Operation(
        'compute_node:bulk_delete',
        'POST',
        '/v1/compute-nodes/delete',
        'Delete the records and the providers of nodes that are gone.',
        _delete,
        Access.ADMIN,
        _DELETED,
        description=f'{_RULES} A mass loss is evaluated once for all nodes '
        'of a service. Nodes that a gate refuses keep their records, and the '
        'others are deleted; 409 lists the gates if every node is refused.',
        body=_body(dry_run=schemas.DRY_RUN),
        errors=(404, 409, 502, 503),
        columns=RESULTS,
    ),
)
