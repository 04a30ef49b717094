"""Columns, schemas and answers of moves: proposals, results, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.schemas import TEXT_OR_NULL, Column, Columns, cells
from ironic_ownership.contracts import refusals, texts
from ironic_ownership.contracts.moves import (
    Move,
    MoveState,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.engine.changes import gates
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes.case import PlannedNode, Proposal
from ironic_ownership.engine.gates import GateResult, Outcome

_TRIAL = {
    'type': ['string', 'null'],
    'enum': [*(part.value for part in Trial), None],
    'description': 'Its part in the trial of the move; null for the nodes '
    'that follow.',
}


NODE: Columns[PlannedNode] = (
    Column('uuid', 'node.uuid'),
    Column('name', type=TEXT_OR_NULL),
    Column('source', 'node.source', TEXT_OR_NULL),
    Column('destination'),
    Column('instance_uuid', 'node.instance_uuid', TEXT_OR_NULL),
    schemas.code('state', NodeState, 'node.state'),
    Column('detail', 'node.detail', TEXT_OR_NULL),
    Column('request_id'),
    schemas.maybe('trial', 'node.trial.value', _TRIAL),
)
"""The result of one node."""


STORED_NODE: Columns[NodeMove] = (
    Column('uuid'),
    Column('source', type=TEXT_OR_NULL),
    Column('instance_uuid', type=TEXT_OR_NULL),
    schemas.code('state', NodeState),
    Column('detail', type=TEXT_OR_NULL),
    schemas.maybe('trial', 'trial.value', _TRIAL),
)
"""One node of a stored move."""


def _gate_cell(result: GateResult) -> schemas.Cell:
    unknown = result.outcome is Outcome.UNKNOWN
    outcome = Outcome.FAILED if unknown else result.outcome
    cell: dict[str, schemas.Cell] = {
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
    NODE[-1],
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
    schemas.moment('created_at'),
    Column('actor'),
    Column('destination'),
    schemas.code('state', MoveState),
    *map(_count, NodeState),
    schemas.number(
        'on_trial', 'Nodes that have moved and are to be verified.'
    ),
    schemas.nullable('shard', 'That it sets in Ironic.'),
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

_FIRST = {
    'trial': {
        'type': 'integer',
        'minimum': 1,
        'maximum': 100_000,
        'description': 'So many nodes move first, and are verified, also that '
        'their new owner acts on them. Then the others follow; or these go '
        'back, and no other node moves. All nodes are the trial if they are '
        'not more.',
    }
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
DRAINING = schemas.body(
    {**_WHY, **_HOW, **_FIRST}, dependentRequired=_DEPENDENT
)

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
        **_FIRST,
    },
    ['service', 'select'],
    dependentRequired=_DEPENDENT,
)


def answer_of(of: Sequence[Any], **more: Any) -> dict[str, Any]:
    """Return the schema of a move whose nodes have these columns."""
    nodes = schemas.array(schemas.thing(of))
    return schemas.thing(
        request_id=schemas.TEXT, nodes=nodes, warnings=schemas.WARNINGS, **more
    )


def executed_of(of: Sequence[Any]) -> dict[str, Any]:
    """Return the schema of a move that was carried out, or runs."""
    return answer_of(
        of,
        skipped={
            'type': 'integer',
            'description': 'The number of nodes that a gate refused '
            'beforehand.',
        },
        background=schemas.described(
            schemas.FLAG,
            'Whether the move is carried out after this answer: '
            '/v1/moves/{request_id} shows its progress.',
        ),
    )


EXECUTED = executed_of(NODE)
EITHER = {'oneOf': [answer_of(PLAN), EXECUTED]}


def of_several(
    answer: Callable[..., dict[str, Any]],
    plan: Columns[PlannedNode] = PLAN,
    node: Columns[PlannedNode] = NODE,
) -> dict[int, tuple[str, Any]]:
    """Return the answers of an operation that makes several moves.

    :param answer: returns the schema of an answer with moves of a schema.
    :param plan: of a node that would move.
    :param node: of one that has moved, or is going to.
    """
    done = answer(
        executed_of(node),
        not_started=schemas.described(
            schemas.TEXTS,
            'Destinations to which nothing was moved, because the operation '
            'was stopped.',
        ),
    )
    return {
        200: (
            'The result of each node; or the proposal, for dry_run.',
            {'oneOf': [answer(answer_of(plan)), done]},
        ),
        202: ('The moves run in the background.', done),
    }


BACKGROUND = (
    f'Up to {move_nodes.BATCH} nodes are moved before the answer. With more '
    'nodes to move, the answer is 202 with the location of the move, which '
    'runs in the background. If it fails or the process ends, the move stays '
    'unfinished, and can be resumed. A move with a trial always runs in the '
    'background.'
)
"""The rule of background execution, for the descriptions of operations."""


def proposed(proposal: Proposal, of: Columns[PlannedNode]) -> dict[str, Any]:
    """Return the body for a proposal."""
    return {
        'request_id': proposal.order.request_id,
        'nodes': [cells(of, node) for node in proposal.nodes],
        'warnings': [],
    }


def executed(
    proposal: Proposal, result: Proposal | None, of: Columns[PlannedNode]
) -> dict[str, Any]:
    """Return the body for a move.

    :param result: ``None`` if it is carried out in the background.
    """
    ended = result or proposal
    return {
        'request_id': proposal.order.request_id,
        'nodes': [cells(of, node) for node in ended.nodes],
        'warnings': list(ended.findings),
        'skipped': len(proposal.refused),
        'background': result is None,
    }


def refused(
    proposals: Sequence[Proposal], unplaceable: Sequence[PlannedNode] = ()
) -> refusals.GatesFailedError:
    """Return the error for nodes that a gate refuses."""
    rows, reasons = [], []
    for proposal in proposals:
        shown = [failed(cells(PLAN, node)) for node in proposal.refused]
        reasons += sentences(shown, len(proposal.nodes))
        rows += shown
    if unplaceable:
        rows += [failed(cells(PLAN, node)) for node in unplaceable]
        nodes = texts.counted(len(unplaceable), 'node')
        reasons.append(f'{nodes} without a destination')
    evaluated = {p.order.destination: len(p.nodes) for p in proposals}
    total = sum(evaluated.values()) + len(unplaceable)
    return refusals.GatesFailedError(
        f'{len(rows)} of {total} nodes refused by a gate, nothing was '
        f'moved: {"; ".join(reasons)}',
        rows,
        evaluated=evaluated,
        hint='Correct the causes; or override the gates that can be '
        'overridden, with a reason; or move the others with skip_invalid',
    )


def failed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a plan with the gates that did not pass."""
    gates = [gate for gate in row['gates'] if gate['result'] != Outcome.PASSED]
    return {**row, 'gates': gates}


def sentences(rows: Iterable[Mapping[str, Any]], total: int) -> list[str]:
    """Return one sentence for each gate that refuses nodes of a move.

    :param rows: refused nodes with their gates, as dictionaries.
    :param total: the number of all nodes of the move.
    """
    nodes_of: dict[str, list[str]] = {}
    for row in rows:
        for gate in row['gates']:
            if gate['result'] == Outcome.FAILED:
                nodes_of.setdefault(gate['gate'], []).append(
                    f'{row["name"] or row["uuid"]}: {_sentence(gate)}'
                )
    return [
        f'{gate}: {len(nodes)} of {total} nodes, such as {nodes[0]}'
        for gate, nodes in sorted(nodes_of.items())
    ]


def _sentence(gate: Mapping[str, Any]) -> str:
    # An HTTP service of an earlier release sends no hint.
    hint = gate.get('hint')
    return f'{gate["detail"]}. {hint}' if hint else str(gate['detail'])
