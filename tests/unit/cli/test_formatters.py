"""Formatters: row by row, and the same text as that of cliff."""

from __future__ import annotations

import csv
import io
import json
import types
import unittest
from collections.abc import Iterator
from typing import Any

from cliff.formatters import commaseparated, json_format, table, value
from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.cli import formatters
from ironic_ownership.observe import columns

NAMES = ('uuid', 'cell "1"')
CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda cells: (
        st.lists(cells, max_size=3)
        | st.dictionaries(st.text(), cells, max_size=3)
    ),
    max_leaves=5,
)


def args(*, noindent: bool = False) -> types.SimpleNamespace:
    return types.SimpleNamespace(noindent=noindent, quote_mode='nonnumeric')


class _Output(io.StringIO):
    """Notes how many rows had been read at the first write of a row."""

    def __init__(self) -> None:
        super().__init__()
        self.pulled = 0
        self.at_first: int | None = None

    def write(self, text: str) -> int:
        if 'row 0' in text and self.at_first is None:
            self.at_first = self.pulled
        return super().write(text)

    def rows(self, count: int) -> Iterator[tuple[str, Any]]:
        for number in range(count):
            self.pulled += 1
            yield f'row {number}', ['a', None]


class _Error(Exception):
    pass


def _failing() -> Iterator[tuple[str, Any]]:
    yield 'row 0', None
    yield 'row 1', None
    raise _Error


FORMATS: dict[str, Any] = {
    'json': json_format.JSONFormatter,
    'csv': commaseparated.CSVLister,
    'value': value.ValueFormatter,
}


class TestStreams(unittest.TestCase):
    def test_first_row_is_written_before_others_are_read(self) -> None:
        for name, formatter in FORMATS.items():
            for noindent in (True, False):
                out = _Output()
                formatters.of(name, formatter(), str).emit_list(
                    NAMES, out.rows(1000), out, args(noindent=noindent)
                )
                self.assertEqual((1, 1000), (out.at_first, out.pulled), name)
                self.assertIn('row 999', out.getvalue())

    def test_error_is_reported_as_the_end_of_the_list(self) -> None:
        for name, formatter in FORMATS.items():
            out = io.StringIO()
            with (
                self.assertLogs(formatters.LOG, 'ERROR') as logged,
                self.assertRaises(_Error),
            ):
                formatters.of(name, formatter(), str).emit_list(
                    NAMES, _failing(), out, args()
                )
            self.assertIn('after 2 rows', logged.output[0])
            self.assertIn('row 1', out.getvalue(), name)

    def test_unfinished_json_cannot_be_read(self) -> None:
        out = io.StringIO()
        with self.assertLogs(formatters.LOG), self.assertRaises(_Error):
            formatters.JSON().emit_list(NAMES, _failing(), out, args())
        self.assertRaises(ValueError, json.loads, out.getvalue())

    def test_reader_that_has_gone_is_no_error_of_the_list(self) -> None:
        class Gone(io.StringIO):
            def write(self, text: str) -> int:
                raise BrokenPipeError

        with (
            self.assertNoLogs(formatters.LOG, 'ERROR'),
            self.assertRaises(BrokenPipeError),
        ):
            formatters.JSON().emit_list(NAMES, [('a', None)], Gone(), args())


class TestJSON(unittest.TestCase):
    @given(st.lists(st.tuples(CELLS, CELLS), max_size=3), st.booleans())
    def test_text_is_that_of_cliff(
        self, rows: list[tuple[Any, Any]], noindent: bool
    ) -> None:
        ours, theirs = io.StringIO(), io.StringIO()
        cliffs = json_format.JSONFormatter()
        how = args(noindent=noindent)
        formatters.JSON().emit_list(NAMES, rows, ours, how)
        cliffs.emit_list(NAMES, rows, theirs, how)
        self.assertEqual(theirs.getvalue(), ours.getvalue())

    def test_no_rows_are_an_empty_list(self) -> None:
        for noindent in (True, False):
            out = io.StringIO()
            formatters.JSON().emit_list(
                NAMES, iter(()), out, args(noindent=noindent)
            )
            self.assertEqual([], json.loads(out.getvalue()))


class TestCSV(unittest.TestCase):
    @given(
        st.lists(st.tuples(st.text(), CELLS), max_size=3),
        st.sampled_from(sorted(commaseparated.CSVLister.QUOTE_MODES)),
    )
    def test_text_is_that_of_cliff(
        self, rows: list[tuple[Any, Any]], mode: str
    ) -> None:
        ours, theirs = io.StringIO(newline=''), io.StringIO(newline='')
        cliffs = commaseparated.CSVLister()
        how = types.SimpleNamespace(quote_mode=mode)
        formatters.of('csv', cliffs, str).emit_list(NAMES, rows, ours, how)
        formatters.Flat(cliffs).emit_list(NAMES, rows, theirs, how)
        self.assertEqual(theirs.getvalue(), ours.getvalue())


class TestFlat(unittest.TestCase):
    def test_lists_become_text(self) -> None:
        out = io.StringIO()
        formatters.Flat(commaseparated.CSVLister()).emit_list(
            NAMES, [('u', ['a', 'b']), ('v', {'k': 1})], out, args()
        )
        self.assertEqual(
            [[*NAMES], ['u', 'a, b'], ['v', 'k=1']],
            [*csv.reader(io.StringIO(out.getvalue()))],
        )


class TestTenants(unittest.TestCase):
    def test_no_format_sends_their_texts_to_a_terminal(self) -> None:
        # OSC 52 writes to the clipboard.
        bad = '\x1b]52;c;eA==\x07\n\u202e'
        args = types.SimpleNamespace(
            quote_mode='all',
            noindent=True,
            max_width=0,
            fit_width=False,
            print_empty=False,
            variables=[],
            prefix='',
        )
        for name, formatter in {
            **FORMATS,
            'table': table.TableFormatter,
        }.items():
            for cell in (bad, [bad, 'x'], {bad: bad}, [{'a': bad}]):
                out = io.StringIO()
                formatters.of(name, formatter(), columns.readable).emit_list(
                    ('name',), [(cell,)], out, args
                )
                for line in out.getvalue().splitlines():
                    self.assertTrue(line.isprintable(), (name, line))
                self.assertIn('52;c;eA==', out.getvalue())
                if name in ('csv', 'value'):
                    rows = out.getvalue().count('\n')
                    self.assertEqual(2 if name == 'csv' else 1, rows, name)
