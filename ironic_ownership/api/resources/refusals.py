"""Columns and answers of changes that gates may refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ironic_ownership.api import schemas
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts import refusals
from ironic_ownership.engine.gates import Item, Result
from ironic_ownership.observe.columns import Column, Columns, cells

T = TypeVar('T', bound=Item)

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


def answer(
    request: Request,
    what: str,
    items: Sequence[T],
    columns: Columns[T],
    *,
    dry_run: bool,
    gates: Sequence[Mapping[str, Any]] | None = None,
) -> Answer:
    """Answer with the result of each item.

    :param what: the items, in the plural, and their key: ``'nodes'``.
    :param gates: of all items, if they are part of the answer.
    :raises GatesFailedError: if no item was changed because of its gates.
    """
    rows = [cells(columns, item) for item in items]
    refused = [item for item in items if item.result is Result.REFUSED]
    if not dry_run and len(refused) == len(items):
        names = sorted({gate.gate for one in refused for gate in one.refused})
        raise refusals.GatesFailedError(
            f'{len(refused)} {what} are refused by a gate, nothing was '
            f'changed: {", ".join(names)}',
            rows,
            gates=gates or (),
            hint='Correct the causes; no gate can be overridden',
        )
    shared = {} if gates is None else {'gates': gates}
    return request.changed({what: rows, **shared}, dry_run=dry_run)
