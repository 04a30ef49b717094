"""``/v1/moves``: changes of owner, made and on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.api import errors, schemas
from ironic_ownership.api.operation import PAGE, Access, Operation, Parameter
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources import move_schemas
from ironic_ownership.contracts import model
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.moves import executor, gates, selection
from ironic_ownership.engine.moves.order import carry_out
from ironic_ownership.engine.moves.plan import Order, Plan
from ironic_ownership.engine.ports import Ports
from ironic_ownership.observe import move as columns

_MOST = 10_000
"""So many of the newest moves are listed."""

_FAR = 10**16
"""Microseconds: newer moves have smaller markers, and come first."""

REQUEST_ID = Parameter(
    'request_id', 'Of the move, as the list shows it.', schemas.REQUEST_ID
)


def _list(request: Request) -> Answer:
    found = request.context.moves.moves(
        unfinished=request.query.get('unfinished', False), limit=_MOST
    )
    return request.page(
        'moves', found, _marker, lambda move: schemas.cells(columns.MOVE, move)
    )


def _marker(move: Move) -> str:
    age = _FAR - int((move.created_at or 0) * 10**6)
    return f'{age:017d}-{move.request_id}'


def _named(request: Request) -> Move:
    return executor.find(request.context.moves, request.path['request_id'])


def _show(request: Request) -> Answer:
    move = _named(request)
    nodes = request.context.moves.nodes(move.request_id)
    return Answer(
        schemas.cells(columns.MOVE, move)
        | {'nodes': [columns.node_cell(node) for node in nodes]}
    )


def _make(request: Request) -> Answer:
    """Plan a move, and carry it out if no gate forbids it."""
    body = request.body
    ports = request.context.ports_of(request.request_id)
    order = Order(
        request.request_id,
        model.canonical_host(body['service']),
        request.actor,
        body.get('reason'),
        frozenset(map(gates.Gate, body.get('override', ()))),
    )
    mover = executor.Mover(ports, request.context.moves)
    plan = mover.plan(order, _selection(request))
    if body.get('dry_run', False):
        return Answer(_planned(plan))
    skips = body.get('skip_invalid', False)
    if plan.refused and not (skips and plan.count(NodeState.PLANNED)):
        raise _refused(plan)
    if not plan.count(NodeState.PLANNED):
        # All of them are there already.
        return Answer(_done(plan, [n.node for n in plan.nodes], ()))
    return Answer(
        _carried_out(request, mover, plan, ports, resumed=False),
        status=201,
        location=f'/v1/moves/{request.request_id}',
    )


def _resume(request: Request) -> Answer:
    """Finish a move that was interrupted, its gates judged anew."""
    move = _named(request)
    ports = request.context.ports_of(move.request_id)
    mover = executor.Mover(ports, request.context.moves)
    plan = mover.plan_rest(move, request.actor, request.context.sharded)
    if request.body.get('dry_run', False):
        return Answer(_planned(plan))
    if plan.refused and not request.body.get('skip_invalid', False):
        raise _refused(plan)
    return Answer(_carried_out(request, mover, plan, ports, resumed=True))


def _carried_out(
    request: Request,
    mover: executor.Mover,
    plan: Plan,
    ports: Ports,
    *,
    resumed: bool,
) -> dict[str, Any]:
    run = carry_out(
        mover,
        plan,
        ports,
        request.context.moves,
        request.context.wired.placement_of(plan.order.request_id),
        sharded=request.context.sharded,
        resumed=resumed,
    )
    return _done(plan, run.result.nodes, run.findings)


def _selection(request: Request) -> selection.Selection:
    selected, context = request.body['select'], request.context
    if 'uuids' in selected:
        return selection.Selection(selected['uuids'], sharded=context.sharded)
    source = selected.get('service')
    if source is not None:
        hosts = [row.host for row in context.records.services()]
        if model.canonical_host(source) not in hosts:
            raise suggestions.unknown('service', source, hosts)
        source = model.canonical_host(source)
    return selection.Selection(
        source=source,
        scope=selection.place(
            selected.get('shard'),
            selected.get('conductor_group'),
            context.scope,
        ),
        sharded=context.sharded,
    )


def _planned(plan: Plan) -> dict[str, Any]:
    return {
        'request_id': plan.order.request_id,
        'nodes': _rows(plan, every=True),
        'warnings': [],
    }


def _rows(plan: Plan, *, every: bool) -> list[dict[str, Any]]:
    return [
        schemas.cells(
            columns.PLAN,
            columns.Row(
                plan.order.request_id,
                plan.order.destination,
                planned.node,
                planned.name,
                planned.gates(every=every),
            ),
        )
        for planned in (plan.nodes if every else plan.refused)
    ]


def _refused(plan: Plan) -> errors.GatesFailedError:
    return errors.GatesFailedError(
        f'{len(plan.refused)} of {len(plan.nodes)} nodes are refused by a '
        f'gate, nothing was moved: {"; ".join(plan.summary())}',
        _rows(plan, every=False),
        hint='Do what the gates ask for; or override those that can be, with '
        'a reason; or move the others with skip_invalid',
    )


def _done(
    plan: Plan,
    nodes: Sequence[NodeMove],
    warnings: Sequence[str],
) -> dict[str, Any]:
    order = plan.order
    known = {n.node.uuid: n.name for n in plan.nodes}
    return {
        'request_id': order.request_id,
        'nodes': [
            schemas.cells(
                columns.NODE,
                columns.Row(
                    order.request_id,
                    order.destination,
                    node,
                    known.get(node.uuid),
                ),
            )
            for node in nodes
        ],
        'warnings': list(warnings),
    }


OPERATIONS = (
    Operation(
        'move:list',
        'GET',
        '/v1/moves',
        'List the moves that operators made, newest first.',
        _list,
        Access.READ,
        {
            200: (
                'A page of moves.',
                schemas.page('moves', move_schemas.STORED),
            )
        },
        query=(
            Parameter(
                'unfinished',
                'Only those that run or have to be resumed.',
                {'type': 'boolean'},
            ),
            *PAGE,
        ),
        errors=(503,),
    ),
    Operation(
        'move:create',
        'POST',
        '/v1/moves',
        'Move compute nodes, and the instances on them, to another service.',
        _make,
        Access.ADMIN,
        {
            200: (
                'What would be done, for dry_run; or nothing was to be done.',
                move_schemas.EITHER,
            ),
            201: (
                'What became of each node.',
                move_schemas.made(columns.NODE),
            ),
        },
        description='Compute node and instance change their service in one '
        'transaction, in which the source loses its right to write. Nothing '
        'changes in Ironic or Placement. The gates are those of '
        '"ironic-ownership compute node move"; 409 names those that failed, '
        'for each node. The id of the request is that of the move.',
        body=move_schemas.BODY,
        errors=(404, 409, 502, 503),
    ),
    Operation(
        'move:show',
        'GET',
        '/v1/moves/{request_id}',
        'Show one move: who, when, why, and what became of each node.',
        _show,
        Access.READ,
        {
            200: (
                'The move.',
                move_schemas.DETAILS,
            )
        },
        parameters=(REQUEST_ID,),
        errors=(404, 503),
    ),
    Operation(
        'move:resume',
        'POST',
        '/v1/moves/{request_id}/resume',
        'Finish a move that was interrupted.',
        _resume,
        Access.ADMIN,
        {
            200: (
                'What became, or would become, of what was left.',
                move_schemas.EITHER,
            )
        },
        description='Every gate is judged anew. Nodes that have their result '
        'already are not touched; a node that a gate refuses now keeps the '
        'others, unless skip_invalid gives it up.',
        parameters=(REQUEST_ID,),
        body=move_schemas.RESUMING,
        errors=(404, 409, 502, 503),
    ),
)
