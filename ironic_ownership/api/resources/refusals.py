"""Columns that all things share which gates may refuse."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.observe.columns import Column

REFUSED: tuple[Column[Any], ...] = (
    Column(
        'failed_gates',
        lambda one: [gate.gate for gate in one.refused],
        schemas.TEXTS,
    ),
    Column(
        'evidence',
        lambda one: '; '.join(gate.detail for gate in one.refused) or None,
        schemas.TEXT_OR_NULL,
    ),
)
HINT: Column[Any] = Column(
    'hint',
    lambda one: '; '.join(gate.hint for gate in one.refused) or None,
    schemas.HINT,
)
