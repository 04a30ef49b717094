"""Columns of the faults of nodes that are to be enrolled."""

from __future__ import annotations

from ironic_ownership.engine.checks.node_validation import Fault
from ironic_ownership.observe import columns

_Column = columns.Column[Fault]

COLUMNS = (
    _Column('place', lambda f: f.place),
    _Column('node', lambda f: f.node),
    _Column('severity', lambda f: str(f.severity)),
    _Column('fault', lambda f: f.code),
    _Column('what', lambda f: f.what),
    _Column('hint', lambda f: f.hint or None),
)
