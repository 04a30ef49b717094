"""``/v1/nodes``: validation of nodes before they are enrolled in Ironic."""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.checks import node_validation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import (
    deployment_snapshot,
    node_status,
)
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
    notes: list[str] = []
    found = node_validation.validate(entries, _surroundings(request, notes))
    refused = {
        fault.place
        for fault in found
        if fault.severity is node_validation.Severity.REFUSED
    }
    return Answer(
        {
            'nodes': len(entries),
            'refused': len(refused),
            'faults': [cells(FAULT, one) for one in found],
            'notes': notes,
        }
    )


def _surroundings(
    request: Request, notes: list[str]
) -> node_validation.Deployment:
    """Read the deployment that the nodes would join.

    :raises OwnershipError: if Ironic does not show its nodes or conductors;
        the services are optional.
    """
    seen = request.context.overview(complete=False)
    nodes = seen.nodes
    if nodes is None:
        raise seen.unread[deployment_snapshot.Part.IRONIC]
    if nodes.fleet is None:
        raise nodes.unshown or exceptions.IronicError('no conductors')
    if nodes.unlisted:
        notes.append(
            f'not compared with {nodes.unlisted} nodes without a shard, '
            'which may not be listed with a shard key set'
        )
    return node_validation.Deployment(
        nodes.fleet,
        set(nodes.listed),
        {node.name for node in nodes.listed.values() if node.name},
        _admits(seen, request.context.interpret, notes),
    )


def _admits(
    seen: deployment_snapshot.DeploymentSnapshot,
    interpret: policy_set.Interpreter,
    notes: list[str],
) -> Callable[[model.Node], bool] | None:
    if seen.view is None or seen.services is None:
        notes += [
            f'not checked which services admit the nodes: {error}'
            for error in seen.unread.values()
        ]
        return None
    groups = PeerGroups.of(
        seen.view, seen.services, interpret, node_status.tolerant()
    )

    def admits(node: model.Node) -> bool:
        return any(
            groups.admits(group.hosts[0], node) for group in groups.groups
        )

    return admits


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
