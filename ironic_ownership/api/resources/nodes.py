"""``/v1/nodes``: validation of nodes before they are enrolled in Ironic."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checks import node_validation
from ironic_ownership.engine.queries.deployment import Part
from ironic_ownership.observe.columns import Column, Columns, cells

FAULT: Columns[node_validation.Fault] = (
    Column('place'),
    Column('node', type=schemas.TEXT_OR_NULL),
    Column(
        'severity',
        lambda f: str(f.severity),
        schemas.codes(node_validation.Severity),
    ),
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
    entries = node_validation.entries_of(request.body) or ()
    # Ironic has to show its nodes and conductors; services are optional.
    seen = request.context.overview(complete=False)
    if Part.IRONIC in seen.unread:
        raise seen.unread[Part.IRONIC]
    if seen.fleet is None:
        raise seen.unshown or exceptions.IronicError('no conductors')
    found = node_validation.validate(entries, seen)
    refused = {
        fault.place
        for fault in found
        if fault.severity is node_validation.Severity.REFUSED
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
        'node:validate',
        'POST',
        '/v1/nodes/validate',
        'Check nodes in a document before they are enrolled in Ironic.',
        _validate,
        Access.READ,
        schemas.answer(
            'All faults, in the order of the nodes.', **_PROPERTIES
        ),
        description='Nothing is changed.',
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
