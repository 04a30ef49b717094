"""``/v1/shards``: even shares of the nodes, as shards in Ironic."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources import move_answers, moves
from ironic_ownership.api.schemas import Column, Columns
from ironic_ownership.contracts import texts
from ironic_ownership.engine.changes import shards
from ironic_ownership.engine.changes.case import PlannedNode

_SHARDS: Columns[PlannedNode] = (
    schemas.nullable('shard_before', 'The shard in Ironic; null for none.'),
    Column('shard_after', help='The shard that it gets.'),
)
PLAN: Columns[PlannedNode] = (
    *move_answers.PLAN[:2],
    *_SHARDS,
    *move_answers.PLAN[2:],
)
NODE: Columns[PlannedNode] = (
    *move_answers.NODE[:2],
    *_SHARDS,
    *move_answers.NODE[2:],
)
SHARE: Columns[dict[str, Any]] = (
    Column('shard'),
    Column('services', type=schemas.TEXTS, help='That select the shard.'),
    Column('weight', type={'type': 'number', 'minimum': 0}),
    schemas.number('before', 'Nodes now.'),
    schemas.number('after', 'Nodes by the plan.'),
)
_FIELD = {
    'type': 'string',
    'pattern': '^[a-z_]+(\\.[^\\x00-\\x20\\x7f]+)?$',
    'maxLength': 255,
}


def _fields(text: str) -> dict[str, Any]:
    return schemas.array(
        _FIELD, maxItems=5, uniqueItems=True, description=text
    )


_BODY = schemas.body(
    {
        'weights': {
            'type': 'object',
            'description': 'The weight of services, by host; 1 for any '
            'other. A shard has the sum of its services; one with the weight '
            '0 gives its nodes away.',
            'propertyNames': schemas.HOST,
            'additionalProperties': {
                'type': 'number',
                'minimum': 0,
                'maximum': 1000,
            },
        },
        'together': _fields(
            'Fields of nodes, such as conductor_group or properties.rack: '
            'nodes with an equal value stay in one shard.'
        ),
        'spread': _fields(
            'Fields of nodes: nodes with an equal value are spread over all '
            'shards.'
        ),
        'deployed': schemas.described(
            schemas.FLAG,
            'Move nodes with an instance, too; their services have to be '
            'stopped.',
        ),
        'max_moves': {
            'type': 'integer',
            'minimum': 0,
            'description': 'The maximum number of nodes that move.',
        },
        **move_answers.DRAINING['properties'],
    },
    dependentRequired={'override': ['reason']},
)


def _answer(move: dict[str, Any], **more: Any) -> dict[str, Any]:
    return schemas.thing(
        moves=schemas.array(move),
        shares=schemas.array(schemas.thing(SHARE)),
        number=schemas.described(
            schemas.NUMBER, 'Nodes that move to another shard.'
        ),
        needed=schemas.described(
            schemas.NUMBER,
            'The number of moves below which no plan has these shares.',
        ),
        notes=schemas.NOTES,
        **more,
    )


@Operation(
    'shard:plan',
    'POST /v1/shards/plan',
    move_answers.of_several(_answer, PLAN, NODE),
    description=move_answers.BACKGROUND,
    body=_BODY,
    columns=NODE,
)
def _plan(request: Request) -> Answer:
    """Give every shard its share of the nodes, with the fewest moves.

    The live and enabled services that select a shard get shares of all nodes
    in their shards, and of those without a shard. Each service that takes
    nodes gets a move of its own. In each batch of it, Ironic gets the shard of
    the nodes first, then their records, with their instances, change owner.
    The user in [ironic] needs the role admin for the system. A trial has so
    many nodes of each move, of those that change their owner, and all of them
    pass or fail together.
    """
    body = request.body
    conditions = shards.Conditions(
        body.get('weights', {}),
        body.get('together', ()),
        body.get('spread', ()),
        body.get('deployed', False),
        body.get('max_moves'),
    )
    operation = moves.operation_of(
        request, request.request_id, conditions.fields
    )
    proposal = shards.propose(
        operation,
        conditions,
        moves.order_of(request),
        trial=body.get('trial', 0),
    )

    plan = proposal.plan
    around = {
        'moves': [],
        'shares': [
            {
                'shard': shard,
                'services': list(proposal.hosts[shard]),
                'weight': float(proposal.weights[shard]),
                'before': number,
                'after': plan.after[shard],
            }
            for shard, number in plan.before.items()
        ],
        'number': len(plan.moves),
        'needed': plan.needed,
        'notes': [
            f'{texts.counted(number, "node")} left out: {why}'
            for why, number in sorted(proposal.left.items())
        ],
    }
    return moves.make_moves(
        request, operation, proposal.moves, around, plan=PLAN, node=NODE
    )
