"""Columns, bodies and answers of changes that gates may refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Request
from ironic_ownership.api.schemas import Column, Columns, cells
from ironic_ownership.contracts import refusals, texts
from ironic_ownership.engine.gates import GateResult, Item, Result

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


def result(*results: Result, key: str = 'result') -> Column[Any]:
    """Return the column of a result."""
    return schemas.code(key, results, 'result')


def body(
    maximum: int, *required: str, of: str = '', **more: Any
) -> dict[str, Any]:
    """Return the schema of a body with uuids.

    :param maximum: the number of uuids, which fit into max_request_body_size.
    :param required: the names of further keys that have to be there.
    :param of: what the uuids are of, if that needs a description.
    """
    text = {'description': of} if of else {}
    uuids = schemas.array(schemas.UUID, minItems=1, maxItems=maximum, **text)
    return schemas.body({'uuids': uuids, **more}, ['uuids', *required])


def answers(what: str, of: Columns[Any], **more: Any) -> schemas.Answers:
    """Return the answers of a change of several things.

    :param what: the things, in the plural, and their key: ``'nodes'``.
    """
    changed = {what: schemas.array(schemas.thing(of)), **more}
    return schemas.Answers(
        f'The result for each {what[:-1]}; or the proposal, for dry_run.',
        of,
        schemas.thing(**changed, **schemas.CHANGE),
    )


def refuse(
    message: str,
    refused: Iterable[GateResult],
    nodes: Sequence[Mapping[str, Any]] = (),
    *,
    gates: Sequence[Mapping[str, Any]] = (),
    hint: str,
) -> NoReturn:
    """Refuse a request of which nothing was carried out.

    :param refused: the gates that the message ends with.
    :param nodes: each node that is refused.
    :param gates: of a service, or of all these nodes.
    :raises GatesFailedError: always.
    """
    codes = ', '.join(sorted({gate.gate for gate in refused}))
    raise refusals.GatesFailedError(
        f'{message}: {codes}', nodes, gates=gates, hint=hint
    )


def answer(
    request: Request,
    what: str,
    items: Sequence[T],
    columns: Columns[T],
    gates: Sequence[Mapping[str, Any]] | None = None,
) -> Answer:
    """Answer with the result of each item.

    :param what: the items, in the plural, and their key: ``'nodes'``.
    :param gates: of all items, if they are part of the answer.
    :raises GatesFailedError: if no item was changed because of its gates.
    """
    rows = [cells(columns, item) for item in items]
    if not request.dry_run and all(
        one.result is Result.REFUSED for one in items
    ):
        refuse(
            f'{texts.counted(len(items), what[:-1])} refused by a gate, '
            'nothing was changed',
            [gate for one in items for gate in one.refused],
            rows,
            gates=gates or (),
            hint='Correct the causes; no gate can be overridden',
        )
    shared = {} if gates is None else {'gates': gates}
    return request.changed({what: rows, **shared})
