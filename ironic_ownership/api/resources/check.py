"""Problems of the deployment, on one screen, and of nodes in a file."""

from __future__ import annotations

import dataclasses

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.api.resources import move_answers, pauses, services
from ironic_ownership.api.schemas import Column, Columns, cells
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.engine.checks import node_validation, overview, runner
from ironic_ownership.engine.checks import problem as problems
from ironic_ownership.engine.queries.deployment import Part
from ironic_ownership.engine.queries.service_status import ServiceStatus

COLUMNS: Columns[problems.Problem] = (
    schemas.code('severity', problems.Severity),
    Column('code', help='Reason code, stable.'),
    Column('what'),
    schemas.code('kind', problems.Kind, text='Kind of the subjects.'),
    schemas.number('count', 'Number of subjects.'),
    Column('subjects', lambda p: list(p.subjects), schemas.TEXTS),
    Column('services', lambda p: list(p.services), schemas.TEXTS),
    Column('hint'),
)


@Operation(
    'check:show',
    'GET /v1/check',
    schemas.answer(
        'All problems, errors first; none if all is well.',
        problems=schemas.array(schemas.thing(COLUMNS)),
    ),
    columns=COLUMNS,
)
def _check(request: Request) -> Answer:
    """Check that every node is owned by one service, and list all problems.

    Reads Ironic, the records and the members, and changes nothing. A part that
    does not answer is a problem of severity "unknown".
    """
    context = request.context
    found = runner.check(
        dataclasses.replace(
            context.overview(placement=True),
            reporting=context.reports_inventory,
        )
    )
    return Answer({'problems': [cells(COLUMNS, one) for one in found]})


FAULT: Columns[node_validation.Fault] = (
    Column('place', 'entry.place'),
    Column('node', 'entry.label', schemas.TEXT_OR_NULL),
    schemas.code('severity', node_validation.FaultSeverity),
    Column('fault', 'code', help='Code of the fault, stable.'),
    Column('what'),
    Column('hint', lambda f: f.hint or None, schemas.TEXT_OR_NULL),
)
_PROPERTIES = {
    'nodes': schemas.described(schemas.NUMBER, 'Number of nodes.'),
    'refused': schemas.described(schemas.NUMBER, 'Number of refused nodes.'),
    'faults': schemas.array(schemas.thing(FAULT)),
    'notes': schemas.NOTES,
}


@Operation(
    'node:validate',
    'POST /v1/nodes/validate',
    schemas.answer('All faults, in the order of the nodes.', **_PROPERTIES),
    allowed_to=Access.READ,
    body={
        'type': ['object', 'array'],
        'description': 'The document that "openstack baremetal create" '
        'takes: "nodes", and "chassis" that have nodes; or a list of '
        'nodes.',
    },
    errors=(502, 503),
    columns=FAULT,
)
def _validate(request: Request) -> Answer:
    """Check nodes in a document before they are enrolled in Ironic.

    Nothing is changed.
    """
    entries = node_validation.entries_of(request.body) or ()
    # Ironic has to show its nodes and conductors; services are optional.
    seen = request.context.overview(complete=False)
    if Part.IRONIC in seen.unread:
        raise seen.unread[Part.IRONIC]
    if seen.conductors is None:
        raise seen.unshown or exceptions.IronicError('no conductors')
    found = node_validation.validate(entries, seen)
    refused = {
        fault.entry.place
        for fault in found
        if fault.severity is node_validation.FaultSeverity.REFUSED
    }
    notes = [
        f'not checked which services admit the nodes: {error}'
        for error in seen.unread.values()
    ]
    if seen.unlisted:
        notes.insert(
            0,
            f'not compared with {texts.counted(seen.unlisted, "node")} '
            'without a shard, which may not be listed with a shard key set',
        )
    return Answer(
        {
            'nodes': len(entries),
            'refused': len(refused),
            'faults': [cells(FAULT, one) for one in found],
            'notes': notes,
        }
    )


_NOT_KNOWN = schemas.NUMBER_OR_NULL

COUNTS: Columns[overview.Overview] = (
    schemas.number(
        'unowned',
        'Nodes without an owner that no service is about to claim, '
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
    schemas.number(
        'drifted',
        'Nodes whose owner is not the one that the policies, or the rows '
        'of the Nova cell, name.',
    ),
    Column(
        'without_live_owner',
        type=_NOT_KNOWN,
        help='Nodes whose owner is dead, stopped, forced down or gone; null '
        'if the membership does not answer.',
    ),
    schemas.number(
        'waiting', 'Nodes that wait for their next owner to claim them.'
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
    Column('of_mean', lambda s: schemas.rounded(s.of_mean), schemas.OF_MEAN),
    Column('standbys', type=schemas.NUMBER),
)
FINDING: Columns[problems.Problem] = (
    *COLUMNS[:3],
    COLUMNS[4],
    Column(
        'subjects',
        lambda f: list(f.subjects),
        schemas.TEXTS,
        f'The first {overview.SUBJECTS}; none if they were only counted.',
    ),
    *COLUMNS[6:],
)
OVERVIEW: Columns[overview.Overview] = (
    Column(
        'state',
        type=schemas.one_of('ok', 'warning', 'unknown', 'error'),
        help='The result in one word.',
    ),
    schemas.number('nodes', 'Number of nodes.'),
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
_CHECK = schemas.Parameter(
    'check',
    'Also read every node of Ironic now, as "check" does.',
    schemas.FLAG,
)


@Operation(
    'overview:show',
    'GET /v1/overview',
    schemas.answer(
        'The overview.',
        OVERVIEW,
        read_at=schemas.described(
            schemas.TEXT, 'By the clock of the database; ISO 8601, UTC.'
        ),
        check_age=_AGE,
        warnings=schemas.WARNINGS,
    ),
    query=(_CHECK,),
    errors=(503,),
)
def _overview(request: Request) -> Answer:
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
            **cells(OVERVIEW, found),
            'read_at': texts.moment(context.records.now()),
            'check_age': None if age is None else round(age, 1),
            'warnings': warnings,
        }
    )
