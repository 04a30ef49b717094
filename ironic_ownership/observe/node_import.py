"""Columns of the nodes of an import."""

from __future__ import annotations

from ironic_ownership.engine.operations.import_nodes import ImportedNode
from ironic_ownership.observe import columns

_Column = columns.Column[ImportedNode]

RESULTS = (
    _Column('uuid', lambda n: n.entry.uuid),
    _Column('name', lambda n: n.node and n.node.name),
    _Column('service', lambda n: n.entry.service),
    _Column('instance_uuid', lambda n: n.node and n.node.instance_uuid),
    _Column('state', lambda n: n.result.value),
    _Column('failed_gates', lambda n: [g.gate for g in n.refused]),
    _Column(
        'evidence', lambda n: '; '.join(g.detail for g in n.refused) or None
    ),
    _Column('hint', lambda n: '; '.join(g.hint for g in n.refused) or None),
)
