"""``/v1/services/{host}/drain``: move all nodes away from a service."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources import move_answers, moves
from ironic_ownership.api.resources.services import HOST
from ironic_ownership.engine.changes import drain
from ironic_ownership.observe.columns import cells


def _answer(move: dict[str, Any], **more: Any) -> dict[str, Any]:
    return schemas.thing(
        host=schemas.TEXT,
        moves=schemas.array(move),
        unplaceable=schemas.described(
            move['properties']['nodes'],
            'Nodes for which there is no destination.',
        ),
        **more,
    )


@Operation(
    'service:drain',
    'POST /v1/services/{host}/drain',
    move_answers.of_several(_answer),
    description=move_answers.BACKGROUND,
    parameters=(HOST,),
    body=move_answers.DRAINING,
    errors=(404, 409, 502, 503),
)
def _drain(request: Request) -> Answer:
    """Empty a service: move each of its nodes to one that admits it.

    Each service that takes nodes gets a move of its own, with its own request
    id. Only live and enabled services take nodes; of several that admit a
    node, the one with the fewest nodes takes it, and a free node of a hash
    ring goes where the ring puts it. The service itself has to be stopped, as
    for any move. A trial has so many nodes of each move, and all of them pass
    or fail together.
    """
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

    columns = move_answers.PLAN if request.dry_run else move_answers.NODE

    def shown(moved: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {
            'host': proposal.host,
            'moves': moved,
            'unplaceable': [cells(columns, n) for n in proposal.unplaceable],
            **more,
        }

    return moves.make_moves(
        request, operation, proposal.moves, shown, proposal.unplaceable
    )
