"""Columns of instances that an operator forgets."""

from __future__ import annotations

from ironic_ownership.engine.deletion.remover import NodeDeletion
from ironic_ownership.observe import columns

_Result = columns.Column[NodeDeletion]

RESULTS = (
    _Result('instance_uuid', lambda i: i.record.instance_uuid),
    _Result('node', lambda i: i.record.uuid),
    _Result('name', lambda i: i.record.name),
    _Result('service', lambda i: i.record.host),
    _Result('result', lambda i: i.result.value),
    _Result('failed_gates', lambda i: [g.gate for g in i.refused]),
    _Result(
        'evidence', lambda i: '; '.join(g.detail for g in i.refused) or None
    ),
    _Result('hint', lambda i: '; '.join(g.hint for g in i.refused) or None),
)
