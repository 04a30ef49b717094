"""``/v1/moves``: changes of owner, made and on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts import moves as port
from ironic_ownership.engine import access, names
from ironic_ownership.engine.moving import (
    move_gates,
    move_order,
    move_plan,
    move_selection,
    moves,
)
from ironic_ownership.observe import move as columns
from ironic_ownership.web import asking, errors, shape
from ironic_ownership.web.operation import (
    Access,
    Answer,
    Operation,
    Parameter,
)
from ironic_ownership.web.resources import move_shapes

_MOST = 10_000
"""So many of the newest moves are listed."""

_FAR = 10**16
"""Microseconds: newer moves have smaller markers, and come first."""

REQUEST_ID = Parameter(
    'request_id', 'Of the move, as the list shows it.', shape.REQUEST_ID
)


def _list(asked: asking.Asked) -> Answer:
    found = asked.behind.moves.moves(
        unfinished=asked.query.get('unfinished', False), limit=_MOST
    )
    return asked.page(
        'moves', found, _marker, lambda move: shape.cells(columns.MOVE, move)
    )


def _marker(move: port.Move) -> str:
    age = _FAR - int((move.created_at or 0) * 10**6)
    return f'{age:017d}-{move.request_id}'


def _named(asked: asking.Asked) -> port.Move:
    return moves.find(asked.behind.moves, asked.path['request_id'])


def _show(asked: asking.Asked) -> Answer:
    move = _named(asked)
    nodes = asked.behind.moves.nodes(move.request_id)
    return Answer(
        shape.cells(columns.MOVE, move)
        | {'nodes': [columns.node_cell(node) for node in nodes]}
    )


def _make(asked: asking.Asked) -> Answer:
    """Plan a move, and carry it out if no gate forbids it."""
    body = asked.body
    ports = asked.behind.ports_of(asked.request_id)
    order = move_plan.Order(
        asked.request_id,
        model.canonical_host(body['service']),
        asked.actor,
        body.get('reason'),
        frozenset(map(move_gates.Gate, body.get('override', ()))),
    )
    mover = moves.Mover(ports, asked.behind.moves)
    plan = mover.plan(order, _selection(asked))
    if body.get('dry_run', False):
        return Answer(_planned(plan))
    skips = body.get('skip_invalid', False)
    if plan.refused and not (skips and plan.count(port.NodeState.PLANNED)):
        raise _refused(plan)
    if not plan.count(port.NodeState.PLANNED):
        # All of them are there already.
        return Answer(_done(plan, [n.node for n in plan.nodes], ()))
    return Answer(
        _carried_out(asked, mover, plan, ports, resumed=False),
        status=201,
        location=f'/v1/moves/{asked.request_id}',
    )


def _resume(asked: asking.Asked) -> Answer:
    """Finish a move that was interrupted, its gates judged anew."""
    move = _named(asked)
    ports = asked.behind.ports_of(move.request_id)
    mover = moves.Mover(ports, asked.behind.moves)
    plan = mover.plan_rest(move, asked.actor, asked.behind.sharded)
    if asked.body.get('dry_run', False):
        return Answer(_planned(plan))
    if plan.refused and not asked.body.get('skip_invalid', False):
        raise _refused(plan)
    return Answer(_carried_out(asked, mover, plan, ports, resumed=True))


def _carried_out(
    asked: asking.Asked,
    mover: moves.Mover,
    plan: move_plan.Plan,
    ports: access.Ports,
    *,
    resumed: bool,
) -> dict[str, Any]:
    run = move_order.carry_out(
        mover,
        plan,
        ports,
        asked.behind.moves,
        asked.behind.wired.placement_of(plan.order.request_id),
        sharded=asked.behind.sharded,
        resumed=resumed,
    )
    return _done(plan, run.result.nodes, run.findings)


def _selection(asked: asking.Asked) -> move_selection.Selection:
    selected, behind = asked.body['select'], asked.behind
    if 'uuids' in selected:
        return move_selection.Selection(
            selected['uuids'], sharded=behind.sharded
        )
    source = selected.get('service')
    if source is not None:
        hosts = [row.host for row in behind.records.services()]
        if model.canonical_host(source) not in hosts:
            raise names.unknown('service', source, hosts)
        source = model.canonical_host(source)
    return move_selection.Selection(
        source=source,
        scope=move_selection.place(
            selected.get('shard'),
            selected.get('conductor_group'),
            behind.scope,
        ),
        sharded=behind.sharded,
    )


def _planned(plan: move_plan.Plan) -> dict[str, Any]:
    return {
        'request_id': plan.order.request_id,
        'nodes': _rows(plan, every=True),
        'warnings': [],
    }


def _rows(plan: move_plan.Plan, *, every: bool) -> list[dict[str, Any]]:
    return [
        shape.cells(
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


def _refused(plan: move_plan.Plan) -> errors.GatesFailedError:
    return errors.GatesFailedError(
        f'{len(plan.refused)} of {len(plan.nodes)} nodes are refused by a '
        f'gate, nothing was moved: {"; ".join(plan.summary())}',
        _rows(plan, every=False),
        hint='Do what the gates ask for; or override those that can be, with '
        'a reason; or move the others with skip_invalid',
    )


def _done(
    plan: move_plan.Plan,
    nodes: Sequence[port.NodeMove],
    warnings: Sequence[str],
) -> dict[str, Any]:
    order = plan.order
    known = {n.node.uuid: n.name for n in plan.nodes}
    return {
        'request_id': order.request_id,
        'nodes': [
            shape.cells(
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
        {200: ('A page of moves.', shape.page('moves', move_shapes.STORED))},
        query=(
            Parameter(
                'unfinished',
                'Only those that run or have to be resumed.',
                {'type': 'boolean'},
            ),
            *asking.PAGE,
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
                move_shapes.EITHER,
            ),
            201: ('What became of each node.', move_shapes.made(columns.NODE)),
        },
        description='Compute node and instance change their service in one '
        'transaction, in which the source loses its right to write. Nothing '
        'changes in Ironic or Placement. The gates are those of '
        '"ironic-ownership compute node move"; 409 names those that failed, '
        'for each node. The id of the request is that of the move.',
        body=move_shapes.BODY,
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
                move_shapes.DETAILS,
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
                move_shapes.EITHER,
            )
        },
        description='Every gate is judged anew. Nodes that have their result '
        'already are not touched; a node that a gate refuses now keeps the '
        'others, unless skip_invalid gives it up.',
        parameters=(REQUEST_ID,),
        body=move_shapes.RESUMING,
        errors=(404, 409, 502, 503),
    ),
)
