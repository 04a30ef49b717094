"""Formatters: those of cliff, with what they lack.

They put cells into words, write a list row by row where the format allows it,
and fit tables into a width. cliff's own keeps all rows of JSON first, and
shrinks every wide column, also one of UUIDs, which no one can copy then.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import logging
import textwrap
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any

from cliff import utils
from cliff.formatters import json_format, table

from ironic_ownership.api.schemas import Cell
from ironic_ownership.contracts import texts

LOG = logging.getLogger(__name__)

Row = Sequence[Any]

_BORDER = 3
"""Characters beside the text of each column; one more ends the line."""

_NESTED = (list, dict)
_ACRONYMS = {'uuid': 'UUID', 'id': 'ID', 'pid': 'PID'}
_encode = json.JSONEncoder().encode
_indented = json.JSONEncoder(indent=2).encode


def of(
    name: str, formatter: Any, words: Callable[[Any], Any], bar: str = ''
) -> Any:
    """Return what shows the cells in one of cliff's formats.

    :param name: of the format.
    :param formatter: cliff's.
    :param words: converts a cell for people.
    :param bar: the column whose numbers have bars on a terminal.
    """
    if name == 'table':
        return Table(words, bar)
    if name == 'json':
        return JSON()
    # YAML has lists and dictionaries, and the others only text.
    return formatter if name == 'yaml' else Flat(formatter)


def correct_help(parser: argparse.ArgumentParser) -> None:
    """Correct what cliff says of columns that there are not."""
    for action in parser._actions:
        if action.dest == 'sort_columns':
            action.help = (
                'sort by this column, in any case; may be repeated, and the '
                'first one takes precedence'
            )


class Table(table.TableFormatter):
    """A table for people, in the width that there is.

    A column is at least as wide as its longest word. Rows that do not fit at
    all are shown one below the other, with a line for each column.

    :param words: converts one cell.
    :param bar: the column whose numbers, relative to a mean, have bars on a
        terminal.
    """

    def __init__(self, words: Callable[[Any], Any], bar: str = '') -> None:
        self._words = words
        self._bar = bar

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Row],
        stdout: Any,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Format many rows."""
        if self._bar in column_names and _has_bars(stdout):
            at = column_names.index(self._bar)
            data = [
                [*row[:at], _with_bar(row[at]), *row[at + 1 :]] for row in data
            ]
        lines: list[Row] = [column_names, *map(self._cells, data)]
        width, free = _width(stdout, parsed_args), _unlimited(parsed_args)
        if width is not None and len(lines) > 1:
            widths = _fitted(
                [*zip(*lines, strict=True)],
                width - _BORDER * len(column_names) - 1,
            )
            if widths is None:
                for row in lines[1:]:
                    beside = _beside(column_names, row, width)
                    both = [*zip(column_names, beside, strict=True)]
                    super().emit_list(('Field', 'Value'), both, stdout, free)
                return
            lines = [
                [_wrapped(c, w) for c, w in zip(line, widths, strict=True)]
                for line in lines
            ]
        super().emit_list(lines[0], lines[1:], stdout, free)

    def emit_one(
        self,
        column_names: Sequence[str],
        data: Row,
        stdout: Any,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Format one row, with a line for each column."""
        row, width = self._cells(data), _width(stdout, parsed_args)
        if width is not None:
            row = _beside(column_names, row, width)
        super().emit_one(column_names, row, stdout, _unlimited(parsed_args))

    def _cells(self, row: Row) -> Row:
        return [self._words(printable(cell)) for cell in row]


class Flat:
    """A format without lists and dictionaries: CSV, and plain values.

    :param formatter: cliff's.
    """

    def __init__(self, formatter: Any) -> None:
        self._formatter = formatter

    def emit_list(
        self, column_names: Sequence[str], data: Iterable[Row], *how: Any
    ) -> None:
        """Format many rows, one after the other."""
        rows = map(_flat, _whole(data))
        self._formatter.emit_list(column_names, rows, *how)

    def emit_one(
        self, column_names: Sequence[str], data: Row, *how: Any
    ) -> None:
        """Format one row."""
        self._formatter.emit_one(column_names, _flat(data), *how)


class JSON(json_format.JSONFormatter):
    """JSON: the same text as that of cliff, written row by row."""

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Row],
        stdout: Any,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Format many rows, one after the other."""
        begin, between, end = '[\n', ',\n', '\n]\n'
        if parsed_args.noindent:
            begin, between, end = '[', ', ', ']\n'
        keys = [f'    {_encode(name)}: ' for name in column_names]
        before = begin
        for row in _whole(data):
            text = (
                _encode(dict(zip(column_names, row, strict=True)))
                if parsed_args.noindent
                else _item(keys, row)
            )
            stdout.write(before + text)
            before = between
        stdout.write('[]\n' if before == begin else end)


def _flat(row: Row) -> Row:
    cells = map(printable, row)
    return [text(c) if isinstance(c, _NESTED) else c for c in cells]


def _item(keys: Sequence[str], row: Row) -> str:
    # The encoder of indented texts is slow, and most cells need none of it.
    # A text has no line end of its own in JSON.
    items = [
        key
        + (
            _indented(cell).replace('\n', '\n    ')
            if isinstance(cell, _NESTED)
            else _encode(cell)
        )
        for key, cell in zip(keys, row, strict=True)
    ]
    return '  {\n' + ',\n'.join(items) + '\n  }'


def _whole(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows, and report an error after which the list is incomplete.

    What was written of it cannot be taken back.
    """
    written = 0
    try:
        for row in rows:
            yield row
            written += 1
    except (GeneratorExit, KeyboardInterrupt):
        raise  # the reader of the output has gone, or stopped it
    except BaseException:
        LOG.error(
            'the list is incomplete: an error ended it after %s rows', written
        )
        raise


def _beside(names: Sequence[str], row: Row, width: int) -> Row:
    left = max((len(name) for name in names), default=0)
    # As text, because numbers would be aligned to the right.
    return [_wrapped(str(c), width - left - 2 * _BORDER - 1) for c in row]


def _width(stdout: Any, parsed_args: argparse.Namespace) -> int | None:
    """Return the number of characters in a line; ``None`` if any will do."""
    if parsed_args.max_width > 0:
        return int(parsed_args.max_width)
    if parsed_args.max_width < 0:
        return None
    if parsed_args.fit_width or stdout.isatty():
        return utils.terminal_width() or None
    return None


def _unlimited(parsed_args: argparse.Namespace) -> argparse.Namespace:
    args = copy.copy(parsed_args)
    args.max_width, args.fit_width = 0, False
    return args


def _fitted(shown: Sequence[Row], width: int) -> Sequence[int] | None:
    """Return the widths of columns; ``None`` if they do not fit.

    What is left after the longest words goes to the narrowest columns first.
    """
    widths = [
        max(max(map(len, str(cell).split()), default=0) for cell in column)
        for column in shown
    ]
    most = [max(map(_longest_line, column)) for column in shown]
    left = width - sum(widths)
    if left < 0:
        return None
    order = sorted(range(len(shown)), key=lambda i: most[i] - widths[i])
    for done, i in enumerate(order):
        more = min(most[i] - widths[i], left // (len(order) - done))
        widths[i] += more
        left -= more
    return widths


def _longest_line(cell: Any) -> int:
    return max(map(len, str(cell).splitlines()), default=0)


def _wrapped(cell: Any, width: int) -> Any:
    if not isinstance(cell, str) or _longest_line(cell) <= width:
        return cell
    return '\n'.join(filled(line, max(width, 1)) for line in cell.splitlines())


def filled(text: str, width: int, indent: str = '', later: str = '') -> str:
    """Return a text in lines, broken at blanks only: a uuid stays whole.

    :param indent: of the first line.
    :param later: of the lines after it.
    """
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


_HALF = 6
"""Characters of a bar for the mean; a full bar is twice the mean or more."""


def _has_bars(stdout: Any) -> bool:
    """Tell whether a stream is a terminal that has the characters of bars."""
    encoding = str(getattr(stdout, 'encoding', None) or '')
    return bool(stdout.isatty()) and encoding.lower().startswith('utf')


def _with_bar(number: float | None) -> str | None:
    """Return a number with its bar, in which a line marks the mean."""
    if number is None:
        return None
    from rich.bar import Bar
    from rich.console import Console

    bar = Bar(2.0, 0.0, min(max(number, 0.0), 2.0), width=2 * _HALF)
    parts = Console(file=io.StringIO()).render(bar)
    text = ''.join(part.text for part in parts).rstrip().ljust(2 * _HALF)
    return f'{number:.2f} {text[:_HALF]}│{text[_HALF:]}'.rstrip()


def heading(key: str) -> str:
    """Return the key as the heading of a table."""
    return ' '.join(
        _ACRONYMS.get(word, word.capitalize()) for word in key.split('_')
    )


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


def _value(value: Cell) -> str:
    """Return one setting; an empty value has to be visible."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f'[{", ".join(map(_value, value))}]'
    return repr(value) if value == '' else str(value)
