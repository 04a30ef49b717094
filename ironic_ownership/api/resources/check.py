"""Problems of the deployment, and of nodes before they are enrolled."""

from __future__ import annotations

import dataclasses

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checks import node_validation, runner
from ironic_ownership.engine.checks import problem as problems
from ironic_ownership.engine.queries.deployment import Part
from ironic_ownership.observe.columns import Column, Columns, cells

COLUMNS: Columns[problems.Problem] = (
    schemas.code('severity', problems.Severity),
    Column('code', help='Reason code, stable.'),
    Column('what'),
    schemas.code('kind', problems.Kind, text='Kind of the subjects.'),
    Column(
        'count',
        lambda p: len(p.subjects),
        schemas.NUMBER,
        'Number of subjects.',
    ),
    Column('subjects', lambda p: list(p.subjects), schemas.TEXTS),
    Column('services', lambda p: list(p.services), schemas.TEXTS),
    Column('hint'),
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
    shown = [cells(COLUMNS, one) for one in found]
    return Answer({'problems': shown})


FAULT: Columns[node_validation.Fault] = (
    Column('place'),
    Column('node', type=schemas.TEXT_OR_NULL),
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
        fault.place
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
            f'not compared with {seen.unlisted} nodes without a shard, '
            'which may not be listed with a shard key set',
        )
    return Answer(
        {
            'nodes': len(entries),
            'refused': len(refused),
            'faults': [cells(FAULT, one) for one in found],
            'notes': notes,
        }
    )


OPERATIONS = (
    Operation(
        'check:show',
        'GET /v1/check',
        _check,
        schemas.answer(
            'All problems, errors first; none if all is well.',
            problems=schemas.array(schemas.thing(COLUMNS)),
        ),
        columns=COLUMNS,
    ),
    Operation(
        'node:validate',
        'POST /v1/nodes/validate',
        _validate,
        schemas.answer(
            'All faults, in the order of the nodes.', **_PROPERTIES
        ),
        allowed_to=Access.READ,
        body={
            'type': ['object', 'array'],
            'description': 'The document that "openstack baremetal create" '
            'takes: "nodes", and "chassis" that have nodes; or a list of '
            'nodes.',
        },
        errors=(502, 503),
        columns=FAULT,
    ),
)
