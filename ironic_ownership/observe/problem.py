"""How the problems that a check finds are shown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Protocol

from ironic_ownership.observe import columns

FEW = 3
"""So many subjects are named unless all are asked for."""

_WIDTH = 48


class Problem(Protocol):
    """What is shown of a problem; the engine makes it."""

    @property
    def code(self) -> str: ...  # noqa: D102
    @property
    def severity(self) -> str: ...  # noqa: D102
    @property
    def what(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def subjects(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def services(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def hint(self) -> str: ...  # noqa: D102


_Column = columns.Column[Problem]
_HEAD = (
    _Column('severity', lambda p: str(p.severity)),
    _Column('code', lambda p: p.code),
    _Column('what', lambda p: p.what),
    _Column('kind', lambda p: str(p.kind)),
    _Column('count', lambda p: len(p.subjects)),
)
_TAIL = (_Column('hint', lambda p: p.hint),)

SHORT = (
    *_HEAD,
    _Column('subjects', lambda p: list(p.subjects[:FEW])),
    _Column('services', lambda p: list(p.services[:FEW])),
    *_TAIL,
)
"""Problems, each with the first few subjects; ``count`` has them all."""

LONG = (
    *_HEAD,
    _Column('subjects', lambda p: list(p.subjects)),
    _Column('services', lambda p: list(p.services)),
    *_TAIL,
)
"""Problems with all of their subjects."""


def readable(cell: columns.Cell) -> str | int | float:
    """Return a cell as a person reads it, in narrow columns."""
    if isinstance(cell, list) and cell:
        return '\n'.join(cell)
    text = columns.readable(cell)
    if not isinstance(text, str):
        return text
    return textwrap.fill(
        text, _WIDTH, break_long_words=False, break_on_hyphens=False
    )
