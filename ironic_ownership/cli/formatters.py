"""Formatters between the commands and those of cliff.

They put cells into words, and write a list row by row where the format allows
it: cliff's own for JSON keeps all rows first.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cliff.formatters import base

from ironic_ownership.cli import tables
from ironic_ownership.observe import columns

LOG = logging.getLogger(__name__)

Row = Sequence[Any]

_NESTED = (list, dict)
_quoted = json.encoder.encode_basestring_ascii


def of(name: str, formatter: Any, words: Callable[[Any], Any]) -> Any:
    """Return what shows the cells in one of cliff's formats.

    :param name: of the format.
    :param formatter: cliff's.
    :param words: converts a cell for people.
    """
    if name == 'table':
        return Table(formatter, words)
    if name == 'json':
        return JSON(formatter)
    # YAML has lists and dictionaries, and the others only text.
    return formatter if name == 'yaml' else Flat(formatter)


class _Wrapper(base.ListFormatter, base.SingleFormatter):
    """A formatter around one of cliff's."""

    def __init__(self, formatter: Any) -> None:
        self.formatter = formatter

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add nothing: the other formatter did."""

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Row],
        stdout: Any,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Format many rows."""
        self.formatter.emit_list(column_names, data, stdout, parsed_args)

    def emit_one(
        self,
        column_names: Sequence[str],
        data: Row,
        stdout: Any,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Format one row."""
        self.formatter.emit_one(column_names, data, stdout, parsed_args)


class Table(_Wrapper):
    """A table for people, in the width that there is.

    :param words: converts one cell.
    """

    def __init__(self, formatter: Any, words: Callable[[Any], Any]) -> None:
        super().__init__(formatter)
        self._words = words

    def emit_list(
        self, column_names: Sequence[str], data: Iterable[Row], *how: Any
    ) -> None:
        """Format many rows."""
        rows = [self._cells(row) for row in data]
        tables.emit_list(self.formatter, column_names, rows, *how)

    def emit_one(
        self, column_names: Sequence[str], data: Row, *how: Any
    ) -> None:
        """Format one row."""
        tables.emit_one(self.formatter, column_names, self._cells(data), *how)

    def _cells(self, row: Row) -> Row:
        return [self._words(columns.printable(cell)) for cell in row]


class Flat(_Wrapper):
    """A format without lists and dictionaries: CSV, and plain values."""

    def emit_list(
        self, column_names: Sequence[str], data: Iterable[Row], *how: Any
    ) -> None:
        """Format many rows, one after the other."""
        rows = map(_flat, _whole(data))
        self.formatter.emit_list(column_names, rows, *how)

    def emit_one(
        self, column_names: Sequence[str], data: Row, *how: Any
    ) -> None:
        """Format one row."""
        self.formatter.emit_one(column_names, _flat(data), *how)


class JSON(_Wrapper):
    """JSON: the same text as that of cliff, written row by row."""

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Row],
        stdout: Any,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Format many rows, one after the other."""
        item, begin, between, end = _indented, '[\n', ',\n', '\n]\n'
        keys = [f'    {_quoted(name)}: ' for name in column_names]
        if parsed_args.noindent:
            item, begin, between, end = _plain, '[', ', ', ']\n'
            keys = list(column_names)
        before = begin
        for row in _whole(data):
            stdout.write(before + item(keys, row))
            before = between
        stdout.write('[]\n' if before == begin else end)


def _flat(row: Row) -> Row:
    return [
        columns.text(columns.printable(cell))
        if isinstance(cell, _NESTED)
        else columns.printable(cell)
        for cell in row
    ]


def _plain(keys: Sequence[str], row: Row) -> str:
    return json.dumps(dict(zip(keys, row, strict=True)))


def _indented(keys: Sequence[str], row: Row) -> str:
    items = [key + _text(cell) for key, cell in zip(keys, row, strict=True)]
    return '  {\n' + ',\n'.join(items) + '\n  }'


def _text(cell: Any) -> str:
    # The encoder of indented texts is slow, and most cells need none of it.
    if isinstance(cell, str):
        return _quoted(cell)
    if cell is None:
        return 'null'
    # A text has no line end of its own in JSON.
    return json.dumps(cell, indent=2).replace('\n', '\n    ')


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
