"""``/v1/services/{host}/drain``: move all nodes away from a service."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources import move_answers, move_schemas, moves
from ironic_ownership.api.resources.services import HOST
from ironic_ownership.engine.changes.drain import (
    DrainProposal,
    DrainService,
)
from ironic_ownership.observe.columns import cells


def _drain(request: Request) -> Answer:
    body = request.body
    move_nodes = moves.operation_of(request, request.request_id)
    operation = DrainService(move_nodes)
    proposal = operation.propose(
        request.path['host'],
        request.origin,
        reason=body.get('reason'),
        overrides=body.get('override', ()),
    )
    if body.get('dry_run', False):
        return Answer(_proposed(proposal))
    if proposal.refused and not body.get('skip_invalid', False):
        raise move_answers.refused(proposal.moves, proposal.unplaceable)
    planned = [move for move in proposal.moves if move.planned]
    if move_answers.is_long(request, planned):
        move_answers.run_in_background(request, move_nodes, planned)
        return Answer(
            _done(proposal, [move_answers.executed(m) for m in planned]),
            202,
            f'/v1/moves/{planned[0].order.request_id}',
        )
    results = operation.execute(
        proposal,
        progress=request.progress,
        stopping=request.stopping,
    )
    done = [
        move_answers.executed(move, result)
        for move, result in zip(proposal.moves, results, strict=False)
    ]
    not_started = [m.order.destination for m in proposal.moves[len(done) :]]
    return Answer(_done(proposal, done, not_started))


def _proposed(proposal: DrainProposal) -> dict[str, Any]:
    return {
        'host': proposal.host,
        'moves': [move_answers.proposed(move) for move in proposal.moves],
        'unplaceable': [
            cells(move_schemas.PLAN, node) for node in proposal.unplaceable
        ],
    }


def _done(
    proposal: DrainProposal,
    moved: list[dict[str, Any]],
    not_started: list[str] | None = None,
) -> dict[str, Any]:
    return {
        'host': proposal.host,
        'moves': moved,
        'unplaceable': [
            cells(move_schemas.NODE, node) for node in proposal.unplaceable
        ],
        'not_started': not_started or [],
    }


OPERATIONS = (
    Operation(
        'service:drain',
        'POST',
        '/v1/services/{host}/drain',
        'Empty a service: move each of its nodes to one that admits it.',
        _drain,
        Access.ADMIN,
        {
            200: (
                'The result of each node; or the proposal, for dry_run.',
                move_schemas.EITHER_DRAIN,
            ),
            202: ('The moves run in the background.', move_schemas.DRAINED),
        },
        description='Each service that takes nodes gets a move of its own, '
        'with its own request id. Only live and enabled services take nodes; '
        'of several that admit a node, the one with the fewest nodes takes '
        'it, and a free node of a hash ring goes where the ring puts it. '
        'The service itself has to be stopped, as for any move. '
        f'{move_answers.BACKGROUND}',
        parameters=(HOST,),
        body=move_schemas.DRAIN,
        errors=(404, 409, 502, 503),
    ),
)
