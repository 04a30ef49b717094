"""``/v1/moves``, and ``drain``: moves of compute nodes, made and on record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from oslo_log import log

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources import move_answers
from ironic_ownership.api.schemas import Columns, cells, keys
from ironic_ownership.contracts import model
from ironic_ownership.contracts.moves import Move
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.changes import drain, selection
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes.case import PlannedNode, Proposal
from ironic_ownership.engine.changes.moves import MoveNodes

LOG = log.getLogger(__name__)

_NODES = schemas.Parameter(
    'nodes',
    'Whether to include the result of each node; by default it is.',
    schemas.FLAG,
)
_TASK = schemas.described(
    schemas.THING,
    'The last work of this process on the move, if there was any: the "age" '
    'of its end in seconds, null while it runs; its "warnings"; and the '
    '"code", "message" and "hint" of its "error", if it failed.',
)
_DETAILS = {
    **schemas.thing(move_answers.MOVE, nodes=schemas.THINGS, task=_TASK),
    'required': list(keys(move_answers.MOVE)),
}


@Operation(
    'move:list',
    'GET /v1/moves',
    schemas.pages('A page of moves.', 'moves', move_answers.MOVE),
    query=(
        schemas.Parameter(
            'unfinished',
            'Only those that run or can be resumed.',
            schemas.FLAG,
        ),
        *schemas.PAGE,
    ),
    errors=(404, 503),
)
def _list(request: Request) -> Answer:
    """List the moves that operators made, newest first."""
    found = request.context.moves.moves(
        unfinished=request.query.get('unfinished', False),
        limit=request.limit + 1,
        marker=request.query.get('marker'),
    )
    return request.part(found, lambda move: move.request_id)


def operation_of(
    request: Request, request_id: str, fields: Collection[str] = ()
) -> MoveNodes:
    """Return the operation; Ironic and Placement receive the request id.

    :param fields: of nodes that are read as well.
    """
    context = request.context
    return MoveNodes(
        context.ports_of(request_id, fields, placement=True),
        context.moves,
        sharded=context.sharded,
        permission_lifetime=context.permission_lifetime,
    )


def order_of(request: Request, service: str = '') -> Move:
    """Return the move that a body describes.

    :param service: that gets the nodes, if the body names one.
    """
    return Move(
        request.request_id,
        model.canonical_host(service),
        request.actor,
        request.body.get('reason'),
        tuple(sorted(request.body.get('override', ()))),
    )


def make_moves(
    request: Request,
    operation: MoveNodes,
    proposals: Sequence[Proposal],
    around: Mapping[str, Any] | None = None,
    unplaceable: Sequence[PlannedNode] = (),
    plan: Columns[PlannedNode] = move_answers.PLAN,
    node: Columns[PlannedNode] = move_answers.NODE,
    skips: bool | None = None,
) -> Answer:
    """Propose moves, or carry them out, as the request says.

    :param around: the body of the answer, for the key ``moves``; without it
        the body is that of the only move.
    :param unplaceable: nodes for which there is no move.
    :param plan: of a node that would move.
    :param node: of one that has moved, or is going to.
    :param skips: whether to go on without the refused, if not as requested.
    """

    def shown(moves: Sequence[Any], **more: Any) -> dict[str, Any]:
        return {**around, 'moves': moves, **more} if around else moves[0]

    if request.dry_run:
        return Answer(
            shown([move_answers.proposed(one, plan) for one in proposals])
        )
    is_refused = unplaceable or any(one.refused for one in proposals)
    if is_refused and not (request.skip_invalid if skips is None else skips):
        raise move_answers.refused(proposals, unplaceable)
    begun = [
        one
        for one in proposals
        if one.planned or one.has_trial or one.goes_back
    ]
    location = run_in_background(request, operation, begun)
    if location:
        done = [move_answers.executed(one, None, node) for one in begun]
        return Answer(shown(done, not_started=[]), 202, location)
    results = operation.execute_all(
        proposals, progress=request.progress, stopping=request.stopping
    )
    done = [
        move_answers.executed(one, result, node)
        for one, result in zip(proposals, results, strict=False)
    ]
    rest = [one.order.destination for one in proposals[len(done) :]]
    return Answer(shown(done, not_started=rest))


def run_in_background(
    request: Request, operation: MoveNodes, proposals: Sequence[Proposal]
) -> str | None:
    """Store moves now, and carry them out after the answer, if they are long.

    :returns: where the first of them is found; ``None`` if they are short.
    :raises BusyError: if too many run already; nothing is stored then.
    """
    number = sum(len(proposal.planned) for proposal in proposals)
    has_trial = any(one.has_trial or one.goes_back for one in proposals)
    background = request.background
    if background is None or (number <= move_nodes.BATCH and not has_trial):
        return None

    def store() -> None:
        for proposal in proposals:
            operation.store(proposal)

    def carry_out(stopping: Callable[[], bool]) -> None:
        ended = 0
        # No other node moves before all trials have passed.
        parts = [proposals] if has_trial else [[one] for one in proposals]
        try:
            for part in parts:
                ended += len(part)
                for result in operation.execute_all(
                    part, stopping=stopping, stored=True
                ):
                    request_id = result.order.request_id
                    background.tasks[request_id].warnings = result.findings
                    for finding in result.findings:
                        LOG.warning('%s: %s', request_id, finding)
        finally:
            for proposal in proposals[ended:]:
                LOG.error(
                    '%s: not begun, because an earlier move failed: '
                    '"ironic-ownership move resume %s" carries it out',
                    proposal.order.request_id,
                    proposal.order.request_id,
                )

    ids = [proposal.order.request_id for proposal in proposals]
    background.start(request.request_id, store, carry_out, ids)
    return f'/v1/moves/{proposals[0].order.request_id}'


@Operation(
    'move:create',
    'POST /v1/moves',
    {
        200: (
            'The proposal, for dry_run; or no node had to be moved.',
            move_answers.EITHER,
        ),
        201: ('The result of each node.', move_answers.EXECUTED),
        202: ('The move runs in the background.', move_answers.EXECUTED),
    },
    description=move_answers.BACKGROUND,
    body=move_answers.BODY,
)
def _create(request: Request) -> Answer:
    """Move compute nodes, and the instances on them, to another service.

    Compute node and instance change their service in one transaction, in which
    the source loses its right to write. Nothing changes in Ironic or
    Placement. The gates are those of "ironic-ownership compute node move"; 409
    names those that failed, for each node. The id of the request is that of
    the move. Of a trial that failed, the nodes are refused: they are with
    their source again, and detail has the cause.
    """
    operation = operation_of(request, request.request_id)
    order = order_of(request, request.body['service'])
    proposal = operation.propose(order, _selection(request))
    proposal = proposal.with_trial(request.body.get('trial', 0))
    skips = request.skip_invalid and bool(proposal.planned)
    answer = make_moves(request, operation, [proposal], skips=skips)
    if request.dry_run or answer.location or not proposal.planned:
        return answer
    return Answer(answer.body, 201, f'/v1/moves/{request.request_id}')


def _find(request: Request) -> Move:
    return move_nodes.find(request.context.moves, request.path['request_id'])


@Operation(
    'move:show',
    'GET /v1/moves/{request_id}',
    {200: ('The move.', _DETAILS)},
    query=(_NODES,),
    errors=(404, 503),
    columns=move_answers.MOVE,
)
def _show(request: Request) -> Answer:
    """Show one move: caller, time, reason, and the result of each node.

    The counts show the progress of a move that runs: planned nodes are still
    to be moved. nodes=false leaves out the nodes, for polling.
    """
    move = _find(request)
    body = cells(move_answers.MOVE, move)
    if request.query.get('nodes', True):
        nodes = request.context.moves.nodes(move.request_id)
        body['nodes'] = [cells(move_answers.STORED_NODE, n) for n in nodes]
    tasks = request.background.tasks if request.background else {}
    if (task := tasks.get(move.request_id)) is not None:
        body['task'] = task.body()
    return Answer(body)


@Operation(
    'move:resume',
    'POST /v1/moves/{request_id}/resume',
    {
        200: (
            'The result, or the proposal, for the remaining nodes.',
            move_answers.EITHER,
        ),
        202: ('The move runs in the background.', move_answers.EXECUTED),
    },
    description=move_answers.BACKGROUND,
    body=move_answers.RESUMING,
)
def _resume(request: Request) -> Answer:
    """Finish a move that was interrupted.

    Every gate is evaluated again. Nodes that have their result already are not
    touched; a node that a gate refuses now stops the others, unless
    skip_invalid gives it up. Gates stay overridden that were, and more can be.
    A trial that was interrupted is verified, or taken back.
    """
    move = _find(request)
    operation = operation_of(request, move.request_id)
    more = request.body.get('override', ())
    proposal = operation.propose_rest(
        move, request.actor, more, request.body.get('reason')
    )
    return make_moves(request, operation, [proposal])


def _selection(request: Request) -> selection.Selection:
    selected, context = request.body['select'], request.context
    if 'uuids' in selected:
        return selection.Selection(selected['uuids'])
    source = selected.get('service')
    if source is not None:
        source = suggestions.service_named(context.records, source).host
    scope = selection.scope_of(
        selected.get('shard'), selected.get('conductor_group'), context.scope
    )
    return selection.Selection(source=source, scope=scope)


def _drained(move: dict[str, Any], **more: Any) -> dict[str, Any]:
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
    move_answers.of_several(_drained),
    description=move_answers.BACKGROUND,
    body=move_answers.DRAINING,
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
    operation = operation_of(request, request.request_id)
    proposal = drain.propose(
        operation,
        request.path['host'],
        order_of(request),
        trial=request.body.get('trial', 0),
    )
    columns = move_answers.PLAN if request.dry_run else move_answers.NODE
    unplaceable = proposal.unplaceable
    around = {
        'host': proposal.host,
        'moves': [],
        'unplaceable': [cells(columns, node) for node in unplaceable],
    }
    return make_moves(request, operation, proposal.moves, around, unplaceable)
