"""Tables that fit into a width without breaking a word.

cliff shrinks every wide column, also one of UUIDs, which no one can copy then.
Here a column is at least as wide as its longest word. Rows that do not fit at
all are shown one below the other, with a line for each column.
"""

from __future__ import annotations

import argparse
import copy
import textwrap
from collections.abc import Sequence
from typing import Any

from cliff import utils
from cliff.formatters import base

_BORDER = 3
"""Characters beside the text of each column; one more ends the line."""

Row = Sequence[Any]


def emit_list(
    formatter: base.ListFormatter,
    names: Sequence[str],
    rows: Sequence[Row],
    stdout: Any,
    parsed_args: argparse.Namespace,
) -> None:
    """Show many rows.

    :param formatter: cliff's, for tables.
    """
    width = _width(stdout, parsed_args)
    free = _unlimited(parsed_args)
    if width is None or not rows:
        formatter.emit_list(names, rows, stdout, free)
        return
    columns = list(zip(names, *rows, strict=True))
    widths = _fitted(
        [max(map(_longest_word, column)) for column in columns],
        [max(map(_longest_line, column)) for column in columns],
        width - _BORDER * len(names) - 1,
    )
    if widths is None:
        _emit_apart(formatter, names, rows, stdout, parsed_args, width)
        return
    formatter.emit_list(
        [_wrapped(n, w) for n, w in zip(names, widths, strict=True)],
        [
            [_wrapped(cell, w) for cell, w in zip(row, widths, strict=True)]
            for row in rows
        ],
        stdout,
        free,
    )


def emit_one(
    formatter: base.SingleFormatter,
    names: Sequence[str],
    row: Row,
    stdout: Any,
    parsed_args: argparse.Namespace,
) -> None:
    """Show one row, with a line for each column."""
    width = _width(stdout, parsed_args)
    if width is not None:
        names, row = _beside(names, row, width)
    formatter.emit_one(names, row, stdout, _unlimited(parsed_args))


def _emit_apart(
    formatter: base.ListFormatter,
    names: Sequence[str],
    rows: Sequence[Row],
    stdout: Any,
    parsed_args: argparse.Namespace,
    width: int,
) -> None:
    for row in rows:
        shown = _beside(names, row, width)
        formatter.emit_list(
            ('Field', 'Value'),
            list(zip(*shown, strict=True)),
            stdout,
            _unlimited(parsed_args),
        )


def _beside(
    names: Sequence[str], row: Row, width: int
) -> tuple[Sequence[str], Row]:
    left = max((len(name) for name in names), default=0)
    right = width - left - 2 * _BORDER - 1
    # As text, because numbers would be aligned to the right.
    return names, [_wrapped(str(cell), right) for cell in row]


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


def _fitted(
    least: Sequence[int], most: Sequence[int], width: int
) -> Sequence[int] | None:
    """Return the widths of columns; ``None`` if they do not fit.

    What is left after the longest words goes to the narrowest columns first.
    """
    left = width - sum(least)
    if left < 0:
        return None
    widths = list(least)
    order = sorted(range(len(least)), key=lambda i: most[i] - least[i])
    for done, i in enumerate(order):
        more = min(most[i] - least[i], left // (len(order) - done))
        widths[i] += more
        left -= more
    return widths


def _longest_word(cell: Any) -> int:
    return max(map(len, str(cell).split()), default=0)


def _longest_line(cell: Any) -> int:
    return max(map(len, str(cell).splitlines()), default=0)


def _wrapped(cell: Any, width: int) -> Any:
    if not isinstance(cell, str) or _longest_line(cell) <= width:
        return cell
    return '\n'.join(
        textwrap.fill(
            line,
            max(width, 1),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in cell.splitlines()
    )
