"""JSON schemas of moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.contracts.moves import MoveState, NodeState
from ironic_ownership.engine.moves import gates
from ironic_ownership.observe import move as columns

_STATES = schemas.codes(NodeState)
_MOVE_TYPES: schemas.Types = {
    'request_id': schemas.TEXT,
    'created_at': schemas.TEXT_OR_NULL,
    'actor': schemas.TEXT,
    'destination': schemas.TEXT,
    'state': schemas.codes(MoveState),
    **{state.value: schemas.NUMBER for state in NodeState},
    'reason': schemas.TEXT_OR_NULL,
    'overrides': schemas.TEXTS,
}
_NODE_TYPES: schemas.Types = {
    'uuid': schemas.TEXT,
    'name': schemas.TEXT_OR_NULL,
    'source': schemas.TEXT_OR_NULL,
    'destination': schemas.TEXT,
    'instance_uuid': schemas.TEXT_OR_NULL,
    'state': _STATES,
    'detail': schemas.TEXT_OR_NULL,
    'request_id': schemas.TEXT,
    'gates': schemas.described(
        schemas.THINGS,
        'Each gate with its result: passed, failed or '
        'overridden. A gate that could not be evaluated has failed.',
    ),
}

_HOW = {
    'skip_invalid': schemas.described(
        schemas.FLAG, 'Move the other nodes if a gate refuses some.'
    ),
    'dry_run': schemas.described(
        schemas.FLAG, 'Only propose: evaluate every gate, write nothing.'
    ),
}

_WHY = {
    'override': schemas.array(
        {'type': 'string', 'enum': list(gates.OVERRIDABLE)},
        uniqueItems=True,
        description='Gates that may fail; needs a reason.',
    ),
    'reason': {
        **schemas.NAME,
        'description': 'Why; stored with the move.',
        'pattern': r'^[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$',
    },
}

_DEPENDENT = {'override': ['reason']}
RESUMING = schemas.body({**_WHY, **_HOW}, dependentRequired=_DEPENDENT)
BODY = schemas.body(
    {
        'service': schemas.described(
            schemas.HOST, 'The service that gets the nodes.'
        ),
        'select': {
            'description': 'is either {"uuids": [...]}, or names a '
            '"service", a "shard" and a "conductor_group", at least one of '
            'them',
            'oneOf': [
                schemas.thing(
                    uuids=schemas.array(
                        schemas.UUID,
                        minItems=1,
                        maxItems=10_000,
                        uniqueItems=True,
                    )
                ),
                schemas.body(
                    {
                        'service': schemas.HOST,
                        'shard': schemas.NAME,
                        'conductor_group': schemas.GROUP,
                    },
                    minProperties=1,
                ),
            ],
        },
        **_WHY,
        **_HOW,
    },
    ['service', 'select'],
    dependentRequired=_DEPENDENT,
)

DRAIN = schemas.body({**_WHY, **_HOW}, dependentRequired=_DEPENDENT)


def _answer(of: Sequence[Any], **more: Any) -> dict[str, Any]:
    nodes = schemas.array(schemas.thing(of, _NODE_TYPES))
    return schemas.thing(
        request_id=schemas.TEXT,
        nodes=nodes,
        warnings=schemas.WARNINGS,
        **more,
    )


PROPOSED = _answer(columns.PLAN)
EXECUTED = _answer(
    columns.NODE,
    skipped={
        'type': 'integer',
        'description': 'The number of nodes that a gate refused beforehand.',
    },
    background=schemas.described(
        schemas.FLAG,
        'Whether the move is carried out after this answer: '
        '/v1/moves/{request_id} shows its progress.',
    ),
)
EITHER = {'oneOf': [PROPOSED, EXECUTED]}
STORED = schemas.thing(columns.MOVE, _MOVE_TYPES)
DETAILS = schemas.thing(columns.MOVE, _MOVE_TYPES, nodes=schemas.THINGS)
DETAILS = DETAILS | {'required': STORED['required']}


def _drain(move: dict[str, Any], **more: Any) -> dict[str, Any]:
    unplaceable = {
        **move['properties']['nodes'],
        'description': 'Nodes for which there is no destination.',
    }
    return schemas.thing(
        host=schemas.TEXT,
        moves=schemas.array(move),
        unplaceable=unplaceable,
        **more,
    )


DRAINED = _drain(
    EXECUTED,
    not_started={
        'type': 'array',
        'items': schemas.TEXT,
        'description': 'Destinations to which nothing was moved, because the '
        'operation was stopped.',
    },
)
EITHER_DRAIN = {'oneOf': [_drain(PROPOSED), DRAINED]}
