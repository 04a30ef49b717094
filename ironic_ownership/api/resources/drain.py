"""``/v1/services/{host}/drain``: move all nodes away from a service."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources import move_answers, moves
from ironic_ownership.api.resources.services import HOST
from ironic_ownership.engine.changes import drain
from ironic_ownership.observe.columns import Columns, cells


def _drain(request: Request) -> Answer:
    body = request.body
    operation = moves.operation_of(request, request.request_id)
    proposal = drain.propose(
        operation,
        request.path['host'],
        request.origin,
        reason=body.get('reason'),
        overrides=body.get('override', ()),
        trial=body.get('trial', 0),
    )

    def shown(
        of: Columns[Any], moved: list[dict[str, Any]], **more: Any
    ) -> dict[str, Any]:
        unplaceable = [cells(of, node) for node in proposal.unplaceable]
        return {
            'host': proposal.host,
            'moves': moved,
            'unplaceable': unplaceable,
            **more,
        }

    if body.get('dry_run', False):
        planned = [move_answers.proposed(move) for move in proposal.moves]
        return Answer(shown(move_answers.PLAN, planned))
    if proposal.refused and not body.get('skip_invalid', False):
        raise move_answers.refused(proposal.moves, proposal.unplaceable)
    begun = [move for move in proposal.moves if move.planned]
    location = move_answers.run_in_background(request, operation, begun)
    if location:
        done = [move_answers.executed(move) for move in begun]
        return Answer(
            shown(move_answers.NODE, done, not_started=[]), 202, location
        )
    results = operation.execute_all(
        proposal.moves, progress=request.progress, stopping=request.stopping
    )
    done = [
        move_answers.executed(move, result)
        for move, result in zip(proposal.moves, results, strict=False)
    ]
    rest = [move.order.destination for move in proposal.moves[len(done) :]]
    return Answer(shown(move_answers.NODE, done, not_started=rest))


OPERATIONS = (
    Operation(
        'service:drain',
        'POST /v1/services/{host}/drain',
        'Empty a service: move each of its nodes to one that admits it.',
        _drain,
        {
            200: (
                'The result of each node; or the proposal, for dry_run.',
                move_answers.EITHER_DRAIN,
            ),
            202: ('The moves run in the background.', move_answers.DRAINED),
        },
        description='Each service that takes nodes gets a move of its own, '
        'with its own request id. Only live and enabled services take nodes; '
        'of several that admit a node, the one with the fewest nodes takes '
        'it, and a free node of a hash ring goes where the ring puts it. '
        'The service itself has to be stopped, as for any move. A trial has '
        'so many nodes of each move, and all of them pass or fail together. '
        f'{move_answers.BACKGROUND}',
        parameters=(HOST,),
        body=move_answers.DRAINING,
        errors=(404, 409, 502, 503),
    ),
)
