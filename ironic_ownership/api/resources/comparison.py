"""Comparison of owners before and after; shared by rings and policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import scenario
from ironic_ownership.engine.decision.preview import (
    Flow,
    Preview,
    Transfer,
    compare,
)
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns, cells

FLOW: Columns[Flow] = (
    Column('from_service', 'before', schemas.TEXT_OR_NULL),
    Column('to_service', 'after', schemas.TEXT_OR_NULL),
    Column('nodes', type=schemas.NUMBER),
    Column('instances', type=schemas.NUMBER),
    Column('share', lambda f: columns.rounded(f.share), {'type': 'number'}),
)
"""Nodes that would move, by service before and after."""

NODE: Columns[tuple[str, Transfer]] = (
    Column('uuid', lambda c: c[1].node.uuid),
    Column('name', lambda c: c[1].node.name, schemas.TEXT_OR_NULL),
    Column(
        'change',
        lambda c: c[0],
        schemas.one_of('moves', 'stranded', 'unserved'),
    ),
    Column('from_service', lambda c: c[1].before, schemas.TEXT_OR_NULL),
    Column('to_service', lambda c: c[1].after, schemas.TEXT_OR_NULL),
    Column('instance', lambda c: c[1].deployed, schemas.FLAG),
    Column('shard', lambda c: c[1].node.shard, schemas.TEXT_OR_NULL),
    Column('conductor_group', lambda c: c[1].node.conductor_group),
)
_PROPERTIES = {
    'nodes': schemas.described(schemas.NUMBER, 'Number of compared nodes.'),
    'moves': schemas.NUMBER,
    'share': {'type': 'number'},
    'instances': schemas.NUMBER,
    'stranded': schemas.NUMBER,
    'unserved': schemas.NUMBER,
    'flows': schemas.array(schemas.thing(FLOW)),
    'changes': {
        'type': 'array',
        'items': schemas.thing(NODE),
        'description': 'Each node; only if the request has "nodes".',
    },
    'warnings': schemas.WARNINGS,
    'notes': schemas.NOTES,
}
SCHEMA = schemas.body(
    _PROPERTIES, [key for key in _PROPERTIES if key != 'changes']
)
"""The schema of the answer."""


def read(request: Request) -> deployment_snapshot.DeploymentSnapshot:
    """Read the whole deployment.

    :raises OwnershipError: if any of it can't be read.
    """
    seen = request.context.overview(complete=False)
    seen.require()
    return seen


def answer(
    request: Request,
    seen: deployment_snapshot.DeploymentSnapshot,
    records: Mapping[str, model.ComputeNode],
    before: scenario.Situation,
    after: scenario.Situation,
    *,
    nodes: bool,
    notes: Sequence[str] = (),
) -> Answer:
    """Answer with the nodes that would change owner.

    :param nodes: whether to name each node.
    """
    found = compare(
        [*seen.nodes.listed.values()] if seen.nodes else (),
        records,
        before.peer_groups(request.context.interpret),
        after.peer_groups(request.context.interpret),
    )
    body: dict[str, Any] = whole(found, nodes=nodes)
    return Answer({**body, 'warnings': _warnings(seen), 'notes': list(notes)})


def _changes(preview: Preview) -> Iterator[tuple[str, Transfer]]:
    """Yield every affected node, with the kind of change."""
    for kind, transfers in (
        ('moves', preview.transfers),
        ('stranded', preview.stranded),
        ('unserved', preview.unserved),
    ):
        for transfer in transfers:
            yield kind, transfer


def whole(preview: Preview, *, nodes: bool) -> dict[str, columns.Cell]:
    """Return the whole preview as one object.

    :param nodes: whether to name each node.
    """
    row: dict[str, columns.Cell] = {
        'nodes': preview.compared,
        'moves': len(preview.transfers),
        'share': columns.rounded(preview.share),
        'instances': sum(t.deployed for t in preview.transfers),
        'stranded': len(preview.stranded),
        'unserved': len(preview.unserved),
        'flows': [cells(FLOW, flow) for flow in preview.flows()],
    }
    if nodes:
        row['changes'] = [cells(NODE, c) for c in _changes(preview)]
    return row


def _warnings(seen: deployment_snapshot.DeploymentSnapshot) -> list[str]:
    if seen.nodes is None or not seen.nodes.unlisted:
        return []
    text = (
        f'{seen.nodes.unlisted} nodes without a shard are left out: with a '
        'shard key set they may not be listed'
    )
    return [text]
