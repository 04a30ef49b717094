"""Columns and JSON schemas of moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.schemas import TEXT_OR_NULL
from ironic_ownership.contracts.moves import (
    Move,
    MoveState,
    NodeState,
)
from ironic_ownership.engine.changes import gates
from ironic_ownership.engine.changes.proposal import PlannedNode
from ironic_ownership.engine.gates import GateResult, Outcome
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns

NODE: Columns[PlannedNode] = (
    Column('uuid', 'node.uuid'),
    Column('name', type=TEXT_OR_NULL),
    Column('source', 'node.source', TEXT_OR_NULL),
    Column('destination'),
    Column('instance_uuid', 'node.instance_uuid', TEXT_OR_NULL),
    Column('state', 'node.state.value', schemas.codes(NodeState)),
    Column('detail', 'node.detail', TEXT_OR_NULL),
    Column('request_id'),
)
"""The result of one node."""


def _gate_cell(result: GateResult) -> columns.Cell:
    unknown = result.outcome is Outcome.UNKNOWN
    outcome = Outcome.FAILED if unknown else result.outcome
    cell: dict[str, columns.Cell] = {
        'gate': result.gate,
        'result': outcome.value,
    }
    if outcome is not Outcome.PASSED:
        cell['detail'] = result.detail
        if result.hint:
            cell['hint'] = result.hint
    return cell


PLAN: Columns[PlannedNode] = (
    *NODE[:6],
    Column(
        'gates',
        lambda n: list(map(_gate_cell, n.gates)),
        schemas.THINGS,
        'Each gate with its result: passed, failed or overridden. A gate that '
        'could not be evaluated has failed.',
    ),
)
"""The proposed result of one node."""


def _count(state: NodeState) -> Column[Move]:
    return Column(
        state.value, lambda m: m.counts.get(state, 0), schemas.NUMBER
    )


MOVE: Columns[Move] = (
    Column('request_id'),
    Column('created_at', lambda m: columns.moment(m.created_at), TEXT_OR_NULL),
    Column('actor'),
    Column('destination'),
    Column('state', 'state.value', schemas.codes(MoveState)),
    *map(_count, NodeState),
    Column('reason', type=TEXT_OR_NULL),
    Column('overrides', lambda m: list(m.overrides), schemas.TEXTS),
)
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
    nodes = schemas.array(schemas.thing(of))
    return schemas.thing(
        request_id=schemas.TEXT,
        nodes=nodes,
        warnings=schemas.WARNINGS,
        **more,
    )


PROPOSED = _answer(PLAN)
EXECUTED = _answer(
    NODE,
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
STORED = schemas.thing(MOVE)
DETAILS = schemas.thing(MOVE, nodes=schemas.THINGS)
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
