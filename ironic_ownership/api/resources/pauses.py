"""``/v1/pauses``: times in which no node changes owner automatically."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.schemas import Column, Columns
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.records import NodeFilter, Pause, nodes_of

DAY = 86_400
"""Seconds of the longest pause that needs no ``force``."""

LONGEST = 366 * DAY
"""Seconds of the longest pause."""

PAUSE: Columns[Pause] = (
    Column('request_id', help='Of the request that began it: its id.'),
    schemas.nullable(
        'shard', 'Only nodes of this shard keep their owner; null for any.'
    ),
    schemas.nullable(
        'conductor_group',
        'Only nodes of this conductor group keep their owner; null for any.',
    ),
    Column(
        'ends_at',
        lambda pause: texts.moment(pause.ends_at),
        help='By the clock of the database; ISO 8601, UTC.',
    ),
    Column('actor', help='Who began it.'),
    Column('reason'),
)
_SCOPE: dict[str, Any] = {
    'shard': schemas.described(schemas.NAME, 'Only nodes of this shard.'),
    'conductor_group': schemas.described(
        schemas.GROUP,
        'Only nodes of this conductor group; empty for the default one.',
    ),
}


def _body(
    longest: int, force: schemas.Schema, *required: str
) -> dict[str, Any]:
    seconds = {'type': 'integer', 'minimum': 1, 'maximum': longest}
    return schemas.body(
        {
            **_SCOPE,
            'seconds': schemas.described(seconds, 'How long.'),
            'force': schemas.described(force, 'Allow more than a day.'),
            'reason': schemas.described(
                schemas.WORDS,
                'Why; shown to all operators until the pause ends.',
            ),
            'dry_run': schemas.DRY_RUN,
        },
        ['seconds', 'reason', *required],
    )


@Operation(
    'pause:list',
    'GET /v1/pauses',
    schemas.pages('A page of pauses.', 'pauses', PAUSE),
    query=schemas.PAGE,
    errors=(503,),
)
def _list(request: Request) -> Answer:
    """List the pauses in force."""
    return request.page(
        request.context.records.pauses(), lambda pause: pause.request_id
    )


@Operation(
    'pause:begin',
    'POST /v1/pauses',
    schemas.answer('The pause.', PAUSE, **schemas.CHANGE),
    body={
        'description': f'has a "reason" and at most {DAY} "seconds", or '
        f'at most {LONGEST} with "force": true',
        'anyOf': [
            _body(DAY, {**schemas.FLAG, 'enum': [False]}),
            _body(LONGEST, {**schemas.FLAG, 'enum': [True]}, 'force'),
        ],
    },
    errors=(404, 502, 503),
)
def _begin(request: Request) -> Answer:
    """Pause automatic changes of owner.

    When the answer arrives, no node in the scope changes owner any more until
    the pause ends: no free node of a dead service is taken over, and none
    follows a hash ring. Moves that operators request go on, a node without an
    owner gets one, and a service that dies is still noticed and loses its
    right to write. Services of a release without pauses ignore them. 404 for a
    shard or conductor group that no node has.
    """
    body = request.body
    seconds, reason = body['seconds'], body['reason']
    group = body.get('conductor_group')
    shard, group = body.get('shard'), None if group is None else group.lower()
    records = request.context.records
    warnings = [*_check_scope(request, shard, group)]
    if request.dry_run:
        now = records.now()
        pause = Pause(
            *(request.request_id, shard, group),
            *(now, now + seconds, request.actor, reason),
        )
    else:
        pause = records.begin_pause(
            request.origin, seconds, reason, shard=shard, conductor_group=group
        )
    return request.changed(schemas.cells(PAUSE, pause), warnings)


def _check_scope(
    request: Request, shard: str | None, group: str | None
) -> Iterator[str]:
    """Yield a warning if no node on record is in the scope of a pause.

    Ironic is asked only then: it may be what is going to be worked on.

    :raises NotFoundError: for a shard or group that no node has.
    """
    chosen = NodeFilter(shard=shard, conductor_group=group)
    if chosen == NodeFilter():
        return
    if request.context.records.compute_nodes_page(chosen, limit=1):
        return
    # Imported where it is called: a list of pauses does without Ironic.
    from ironic_ownership.engine.queries import node_listing

    with request.context.ports() as ports:
        node_listing.check_place(ports, chosen)
    yield (
        f'the pause holds nothing now: {nodes_of(shard, group)} are not on '
        'record'
    )


@Operation(
    'pause:end',
    'DELETE /v1/pauses',
    schemas.answer(
        'The pauses that were ended.',
        pauses=schemas.array(schemas.thing(PAUSE)),
        **schemas.CHANGE,
    ),
    query=(
        schemas.Parameter(
            'pause',
            'Only this pause, by its request_id; all by default.',
            schemas.NAME,
            metavar='ID',
        ),
        schemas.DRY_RUN_PARAMETER,
    ),
    errors=(404, 503),
    columns=PAUSE,
)
def _end(request: Request) -> Answer:
    """Resume automatic changes of owner.

    The services go on with their next refresh.
    """
    wanted = request.query.get('pause')
    records = request.context.records
    ended = [
        pause
        for pause in records.pauses()
        if wanted in (None, pause.request_id)
    ]
    if wanted is not None and not ended:
        raise exceptions.NotFoundError(
            f'no pause {wanted!r} is in force',
            hint='"ironic-ownership pause list" shows those that are',
        )
    if not request.dry_run:
        ended = [
            *records.end_pauses(
                request.origin, [pause.request_id for pause in ended]
            )
        ]
    return request.changed(
        {'pauses': [schemas.cells(PAUSE, pause) for pause in ended]}
    )
