"""Columns of nodes that an operator releases."""

from __future__ import annotations

from ironic_ownership.engine.operations.release_nodes import NodeRelease
from ironic_ownership.observe import columns

_Result = columns.Column[NodeRelease]

RESULTS = (
    _Result('uuid', lambda n: n.node.uuid),
    _Result('name', lambda n: n.name),
    _Result('service', lambda n: n.node.source),
    _Result('next_service', lambda n: n.next_owner),
    _Result('result', lambda n: n.result.value),
    _Result('failed_gates', lambda n: [g.gate for g in n.refused]),
    _Result(
        'evidence', lambda n: '; '.join(g.detail for g in n.refused) or None
    ),
    _Result('hint', lambda n: '; '.join(g.hint for g in n.refused) or None),
)
