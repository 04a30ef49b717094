"""Columns: stable keys, headings, and cells as plain values.

The keys are public interface: scripts and dashboards read them from JSON.
Cells are values that JSON and YAML can hold; tables show them as text.
"""

from __future__ import annotations

import datetime
import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from ironic_ownership.contracts import texts

T = TypeVar('T')

Cell = Any
"""``None``, a string, number or boolean, or lists and dicts of those."""

_ACRONYMS = {'uuid': 'UUID', 'id': 'ID', 'pid': 'PID'}
_DURATION = re.compile(r'(\d{1,9})([smhdw])', re.ASCII)
_SECONDS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}


TEXT: Mapping[str, Any] = {'type': 'string'}


class Column(Generic[T]):
    """One column of a list.

    :param key: its name in JSON, in snake_case; never changes its meaning.
    :param cell: returns the cell of one item; or the path of the attribute,
        if it has another name than the key. A path is also twice as fast as
        a function of our own, in lists of 100,000 rows.
    :param type: JSON Schema of the cells.
    :param help: what the key means, if that does not follow from its name.
    """

    def __init__(
        self,
        key: str,
        cell: str | Callable[[T], Cell] = '',
        type: Mapping[str, Any] = TEXT,  # noqa: A002 - the word of JSON Schema
        help: str = '',  # noqa: A002
    ) -> None:
        self.key = key
        self.cell: Callable[[T], Cell] = (
            operator.attrgetter(cell or key) if isinstance(cell, str) else cell
        )
        self.type = {**type, 'description': help} if help else type


Columns = tuple[Column[T], ...]


def heading(key: str) -> str:
    """Return the key as the heading of a table."""
    return ' '.join(
        _ACRONYMS.get(word, word.capitalize()) for word in key.split('_')
    )


def keys(columns: Iterable[Column[T]]) -> tuple[str, ...]:
    """Return the keys in the order of the columns."""
    return tuple(column.key for column in columns)


def row(columns: Iterable[Column[T]], item: T) -> tuple[Cell, ...]:
    """Return the cells of one item in the order of the columns."""
    return tuple(column.cell(item) for column in columns)


def cells(columns: Iterable[Column[T]], item: T) -> dict[str, Cell]:
    """Return the cells of one item by the keys of the columns."""
    return {column.key: column.cell(item) for column in columns}


def printable(cell: Cell) -> Cell:
    """Return a cell whose texts no terminal takes for commands.

    Tenants choose some of them, such as the resource class of their node.
    """
    if isinstance(cell, str):
        return texts.printable(cell)
    if isinstance(cell, Mapping):
        return {printable(k): printable(v) for k, v in cell.items()}
    if isinstance(cell, list | tuple):
        return [*map(printable, cell)]
    return cell


def readable(cell: Cell) -> str | int | float:
    """Return a cell for people: one text, or a number."""
    if cell is None:
        return '-'
    if isinstance(cell, bool):
        return 'yes' if cell else 'no'
    if isinstance(cell, int | float):
        return cell
    return text(_in_words(cell)) or '-'


def _in_words(cell: Cell) -> Cell:
    """Return a cell without what rows inside it leave open."""
    if isinstance(cell, Mapping):
        return {key: _in_words(value) for key, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [
            _in_words(
                {k: v for k, v in one.items() if v is not None}
                if isinstance(one, Mapping)
                else one
            )
            for one in cell
        ]
    return readable(cell) if cell is None or isinstance(cell, bool) else cell


def text(cell: Cell) -> str:
    """Return a list or dictionary as text; anything else unchanged."""
    if isinstance(cell, Mapping):
        return ', '.join(f'{k}={_value(v)}' for k, v in cell.items())
    if isinstance(cell, Sequence) and not isinstance(cell, str):
        separator = '\n' if any(isinstance(c, Mapping) for c in cell) else ', '
        return separator.join(map(text, cell))
    return str(cell)


def plain(value: Any) -> Cell:
    """Return the value of an option as a cell: a tuple becomes a list."""
    return list(value) if isinstance(value, tuple) else value


def rounded(number: float | None) -> float | None:
    """Return a share with a readable number of digits."""
    return None if number is None else round(number, 4)


@functools.lru_cache(maxsize=64)
def moment(seconds: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC.

    :param seconds: since the epoch; ``None`` stays ``None``.
    """
    if seconds is None:
        return None
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return at.isoformat(timespec='seconds')


def parse_moment(text: str) -> datetime.datetime:
    """Return a date or time in ISO 8601, in UTC unless it has an offset.

    :raises ValueError: if the text is neither.
    """
    at = datetime.datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=datetime.UTC)


def parse_duration(text: str) -> int | None:
    """Return the seconds of a duration such as 90m; ``None`` for others."""
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] if match else None


def _value(value: Cell) -> str:
    """Return one setting; an empty value has to be visible."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f'[{", ".join(map(_value, value))}]'
    return repr(value) if value == '' else str(value)
