"""Columns of the deletion of compute nodes: its gates, and its results."""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.engine.deletion.remover import NodeDeletion
from ironic_ownership.engine.gates import GateResult
from ironic_ownership.observe import columns

OUTCOME = 'verdict'
"""The stable key of a gate's outcome."""

NodeGate = tuple[model.ComputeNode, GateResult]
_Gate = columns.Column[NodeGate]
_Result = columns.Column[NodeDeletion]

GATES = (
    _Gate('uuid', lambda g: g[0].uuid),
    _Gate('name', lambda g: g[0].name),
    _Gate('service', lambda g: g[0].host),
    _Gate('gate', lambda g: g[1].gate),
    _Gate(OUTCOME, lambda g: g[1].outcome.value),
    _Gate('evidence', lambda g: g[1].detail),
    _Gate('hint', lambda g: g[1].hint or None),
)

RESULTS = (
    _Result('uuid', lambda n: n.record.uuid),
    _Result('name', lambda n: n.record.name),
    _Result('service', lambda n: n.record.host),
    _Result('result', lambda n: n.result.value),
    _Result('provider_deleted', lambda n: n.provider_deleted),
    _Result('failed_gates', lambda n: [g.gate for g in n.refused]),
    _Result(
        'evidence', lambda n: '; '.join(g.detail for g in n.refused) or None
    ),
)


def gates_of(node: NodeDeletion) -> list[NodeGate]:
    """Return every gate of one compute node."""
    return [(node.record, result) for result in node.gates]
