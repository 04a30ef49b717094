"""``/v1/overview``: whether every node is owned exactly once, in one page."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import (
    Answer,
    Operation,
    Parameter,
    Request,
)
from ironic_ownership.api.resources import move_answers, pauses, services
from ironic_ownership.engine.checks import overview, runner
from ironic_ownership.engine.checks.problem import Severity
from ironic_ownership.engine.queries.service_status import ServiceStatus
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns, cells

_NOT_KNOWN = schemas.NUMBER_OR_NULL

COUNTS: Columns[overview.Overview] = (
    Column(
        'unowned',
        type=schemas.NUMBER,
        help='Nodes without an owner that no service is about to claim, '
        'except where a policy leaves them so, as "reservation" does.',
    ),
    Column(
        'owned_twice',
        type=_NOT_KNOWN,
        help='Nodes that a second service serves too: by the rows of the Nova '
        'cell, or because Ironic has the instance on another node than the '
        'records. The records have one owner for each node by their key. Null '
        'if neither the cell nor Ironic was read.',
    ),
    Column(
        'drifted',
        type=schemas.NUMBER,
        help='Nodes whose owner is not the one that the policies, or the rows '
        'of the Nova cell, name.',
    ),
    Column(
        'without_live_owner',
        type=_NOT_KNOWN,
        help='Nodes whose owner is dead, stopped, forced down or gone; null '
        'if the membership does not answer.',
    ),
    Column(
        'waiting',
        type=schemas.NUMBER,
        help='Nodes that wait for their next owner to claim them.',
    ),
)
"""The counts that have to be zero."""

SERVICE: Columns[ServiceStatus] = (
    *services.SHORT,
    Column(
        'unavailable',
        type=_NOT_KNOWN,
        help='Nodes without an instance that nothing can be scheduled to, by '
        'the records.',
    ),
    Column('of_mean', lambda s: columns.rounded(s.of_mean), schemas.OF_MEAN),
    Column('standbys', type=schemas.NUMBER),
)
FINDING: Columns[overview.Finding] = (
    schemas.code('severity', Severity),
    Column('code', help='Reason code, stable.'),
    Column('what'),
    Column('count', type=schemas.NUMBER, help='Number of subjects.'),
    Column(
        'subjects',
        lambda f: list(f.subjects),
        schemas.TEXTS,
        f'The first {overview.SUBJECTS}; none if they were only counted.',
    ),
    Column('services', lambda f: list(f.services), schemas.TEXTS),
    Column('hint'),
)
COLUMNS: Columns[overview.Overview] = (
    Column(
        'state',
        type=schemas.one_of('ok', 'warning', 'unknown', 'error'),
        help='The result in one word.',
    ),
    Column('nodes', type=schemas.NUMBER, help='Number of nodes.'),
    *COUNTS,
    schemas.rows('services', SERVICE),
    schemas.rows(
        'findings',
        FINDING,
        'By weight: errors first, and those with more subjects.',
    ),
    schemas.rows(
        'moves',
        move_answers.MOVE,
        'Those that run or can be resumed, the newest first.',
    ),
    schemas.rows('pauses', pauses.PAUSE),
)
_AGE = schemas.described(
    {'type': ['number', 'null'], 'minimum': 0},
    'Seconds since Ironic was read for the last full check; null if it was '
    'not: then unowned nodes without a record are not counted.',
)
_CHECK = Parameter(
    'check',
    'Also read every node of Ironic now, as "check" does.',
    schemas.FLAG,
)


def _show(request: Request) -> Answer:
    """Show whether every node is owned exactly once, and what is not well.

    Counts come from the records, the membership and the Nova cell, at the cost
    of a few queries. Findings that need Ironic come from the last full check,
    which the HTTP service repeats in the background as for its metrics.
    """
    context = request.context
    age: float | None = None
    last: overview.Checked | None = None
    if request.query.get('check'):
        seen = context.overview(placement=True)
        last, age = overview.checked(seen, runner.check(seen)), 0.0
    elif request.gauges is not None:
        last, age = request.gauges.last_check() or (None, None)
    found, warnings = overview.read(
        context.records,
        context.backend,
        context.moves,
        context.interpret,
        context.companion,
        last,
    )
    return Answer(
        {
            **cells(COLUMNS, found),
            'read_at': columns.moment(context.records.now()),
            'check_age': None if age is None else round(age, 1),
            'warnings': warnings,
        }
    )


OPERATIONS = (
    Operation(
        'overview:show',
        'GET /v1/overview',
        _show,
        schemas.answer(
            'The overview.',
            COLUMNS,
            read_at=schemas.described(
                schemas.TEXT, 'By the clock of the database; ISO 8601, UTC.'
            ),
            check_age=_AGE,
            warnings=schemas.WARNINGS,
        ),
        query=(_CHECK,),
        errors=(503,),
        columns=COLUMNS,
    ),
)
