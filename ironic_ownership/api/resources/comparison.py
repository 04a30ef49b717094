"""Comparison of owners before and after; shared by rings and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import scenario
from ironic_ownership.engine.decision.preview import compare
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.observe import preview

_SERVICE: schemas.Types = {
    'from_service': schemas.TEXT_OR_NULL,
    'to_service': schemas.TEXT_OR_NULL,
}
_FLOW = schemas.thing(
    preview.FLOW,
    {
        **_SERVICE,
        'nodes': schemas.NUMBER,
        'instances': schemas.NUMBER,
        'share': {'type': 'number'},
    },
)
_CHANGE = schemas.thing(
    preview.NODE,
    {
        **_SERVICE,
        'uuid': schemas.TEXT,
        'name': schemas.TEXT_OR_NULL,
        'change': {
            'type': 'string',
            'enum': ['moves', 'stranded', 'unserved'],
        },
        'instance': schemas.FLAG,
        'shard': schemas.TEXT_OR_NULL,
        'conductor_group': schemas.TEXT,
    },
)
_PROPERTIES = {
    'nodes': schemas.described(schemas.NUMBER, 'Number of compared nodes.'),
    'moves': schemas.NUMBER,
    'share': {'type': 'number'},
    'instances': schemas.NUMBER,
    'stranded': schemas.NUMBER,
    'unserved': schemas.NUMBER,
    'flows': schemas.array(_FLOW),
    'changes': {
        'type': 'array',
        'items': _CHANGE,
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
    body: dict[str, Any] = preview.whole(found, nodes=nodes)
    return Answer({**body, 'warnings': _warnings(seen), 'notes': list(notes)})


def _warnings(seen: deployment_snapshot.DeploymentSnapshot) -> list[str]:
    if seen.nodes is None or not seen.nodes.unlisted:
        return []
    text = (
        f'{seen.nodes.unlisted} nodes without a shard are left out: with a '
        'shard key set they may not be listed'
    )
    return [text]
