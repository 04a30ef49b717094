"""Columns of the problems that a check finds."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from ironic_ownership.engine.checks.node_validation import Fault
from ironic_ownership.engine.checks.problem import Problem
from ironic_ownership.observe import columns

FEW = 3
"""Number of subjects that are named unless all are requested."""

_WIDTH = 48


_Column = columns.Column[Problem]
_HEAD = (
    _Column('severity', lambda p: str(p.severity)),
    _Column('code', lambda p: p.code),
    _Column('what', lambda p: p.what),
    _Column('kind', lambda p: str(p.kind)),
    _Column('count', lambda p: len(p.subjects)),
)
_TAIL = (_Column('hint', lambda p: p.hint),)

LONG = (
    *_HEAD,
    _Column('subjects', lambda p: list(p.subjects)),
    _Column('services', lambda p: list(p.services)),
    *_TAIL,
)

_Fault = columns.Column[Fault]

FAULT = (
    _Fault('place', lambda f: f.place),
    _Fault('node', lambda f: f.node),
    _Fault('severity', lambda f: str(f.severity)),
    _Fault('fault', lambda f: f.code),
    _Fault('what', lambda f: f.what),
    _Fault('hint', lambda f: f.hint or None),
)
"""A fault of a node that is to be enrolled."""


def shortened(cells: Mapping[str, columns.Cell]) -> dict[str, columns.Cell]:
    """Return a problem with its first few subjects; ``count`` has them all."""
    return {
        key: cell[:FEW] if key in ('subjects', 'services') else cell
        for key, cell in cells.items()
    }


def readable(cell: columns.Cell) -> str | int | float:
    """Return a cell as text for people, in narrow columns."""
    if isinstance(cell, list) and cell:
        return '\n'.join(cell)
    text = columns.readable(cell)
    if not isinstance(text, str):
        return text
    return textwrap.fill(
        text, _WIDTH, break_long_words=False, break_on_hyphens=False
    )
