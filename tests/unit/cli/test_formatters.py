"""Formatters: row by row, as cliff writes them, and tables in a width."""

from __future__ import annotations

import csv
import io
import json
import types
import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

from cliff import utils
from cliff.formatters import commaseparated, json_format, table, value
from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.cli import formatters, watch

NAMES = ('uuid', 'cell "1"')
CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda cells: (
        st.lists(cells, max_size=3)
        | st.dictionaries(st.text(), cells, max_size=3)
    ),
    max_leaves=5,
)
UUID = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a9'
HINT = 'Move the node to a service that is alive, or restart its service.'
FORMATS: dict[str, Any] = {
    'json': json_format.JSONFormatter,
    'csv': commaseparated.CSVLister,
    'value': value.ValueFormatter,
}


def args(**given: Any) -> types.SimpleNamespace:
    defaults = {
        'noindent': False,
        'quote_mode': 'nonnumeric',
        'max_width': 0,
        'fit_width': False,
        'print_empty': False,
    }
    return types.SimpleNamespace(**{**defaults, **given})


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

    def test_unfinished_json_cannot_be_read(self) -> None:
        def failing() -> Iterator[tuple[str, Any]]:
            yield 'row 0', None
            raise LookupError

        out = io.StringIO()
        with self.assertLogs(formatters.LOG), self.assertRaises(LookupError):
            formatters.JSON().emit_list(NAMES, failing(), out, args())
        self.assertRaises(ValueError, json.loads, out.getvalue())

    def test_reader_that_has_gone_is_no_error_of_the_list(self) -> None:
        gone = mock.Mock(**{'write.side_effect': BrokenPipeError})
        with (
            self.assertNoLogs(formatters.LOG, 'ERROR'),
            self.assertRaises(BrokenPipeError),
        ):
            formatters.JSON().emit_list(NAMES, [('a', None)], gone, args())


class TestTexts(unittest.TestCase):
    def assert_same(self, ours: Any, theirs: Any, rows: Any, how: Any) -> None:
        texts = []
        for formatter in (ours, theirs):
            out = io.StringIO(newline='')
            formatter.emit_list(NAMES, rows, out, how)
            texts.append(out.getvalue())
        self.assertEqual(*texts)

    @given(st.lists(st.tuples(CELLS, CELLS), max_size=3), st.booleans())
    def test_json_is_that_of_cliff(
        self, rows: list[tuple[Any, Any]], noindent: bool
    ) -> None:
        cliffs = json_format.JSONFormatter()
        how = args(noindent=noindent)
        self.assert_same(formatters.JSON(), cliffs, rows, how)

    def test_lists_become_text(self) -> None:
        out = io.StringIO()
        formatters.Flat(commaseparated.CSVLister()).emit_list(
            NAMES, [('u', ['a', 'b']), ('v', {'k': 1})], out, args()
        )
        self.assertEqual(
            [[*NAMES], ['u', 'a, b'], ['v', 'k=1']],
            [*csv.reader(io.StringIO(out.getvalue()))],
        )

    def test_no_format_sends_texts_of_tenants_to_a_terminal(self) -> None:
        # OSC 52 writes to the clipboard.
        bad = '\x1b]52;c;eA==\x07\n\u202e'
        how = args(quote_mode='all', noindent=True, variables=[], prefix='')
        kinds = {**FORMATS, 'table': table.TableFormatter}
        for name, formatter in kinds.items():
            for cell in (bad, [bad, 'x'], {bad: bad}, [{'a': bad}]):
                out = io.StringIO()
                formatters.of(
                    name, formatter(), formatters.readable
                ).emit_list(('name',), [(cell,)], out, how)
                for line in out.getvalue().splitlines():
                    self.assertTrue(line.isprintable(), (name, line))
                self.assertIn('52;c;eA==', out.getvalue())
                if name in ('csv', 'value'):
                    rows = out.getvalue().count('\n')
                    self.assertEqual(2 if name == 'csv' else 1, rows, name)


def terminal(encoding: str = 'utf-8', is_one: bool = True) -> io.StringIO:
    stream = mock.Mock(wraps=io.StringIO(), encoding=encoding)
    stream.isatty.side_effect = lambda: is_one
    return stream


class BarTest(unittest.TestCase):
    def shown(self, stdout: Any, name: str = 'Of Mean') -> str:
        formatter = formatters.of(
            'table', None, formatters.readable, 'Of Mean'
        )
        rows = [(name, share) for share in (None, 0.0, 0.5, 1.0, 1.9, 7.0)]
        formatter.emit_list(('Host', name), rows, stdout, args())
        return str(stdout.getvalue())

    def test_share_has_a_bar_on_a_terminal(self) -> None:
        lines = self.shown(terminal()).splitlines()[3:-1]
        self.assertEqual(
            [
                '-',
                '0.00       │',
                '0.50 ███   │',
                '1.00 ██████│',
                '1.90 ██████│█████▍',
                '7.00 ██████│██████',
            ],
            [line.split('|')[2].strip() for line in lines],
        )

    def test_nothing_else_has_one(self) -> None:
        for stdout in (terminal(is_one=False), terminal('ANSI_X3.4-1968')):
            self.assertNotIn('│', self.shown(stdout))
            self.assertNotIn('│', self.shown(watch.Captured(stdout)))
        self.assertNotIn('│', self.shown(terminal(), 'Nodes'))
        self.assertIn('│', self.shown(watch.Captured(terminal())))


class TableTest(unittest.TestCase):
    """No word is ever broken."""

    def shown(
        self, *rows: Any, width: int = 80, one: bool = False
    ) -> list[str]:
        names = [f'Column {number}' for number in range(len(rows[0]))]
        stdout = io.StringIO()
        formatter = formatters.Table(
            lambda cell: (
                cell.replace('/', '\n') if isinstance(cell, str) else cell
            )
        )
        emit, data = formatter.emit_list, rows
        if one:
            emit, data = formatter.emit_one, rows[0]
        emit(names, data, stdout, args(max_width=width))
        return stdout.getvalue().splitlines()

    def test_lines_fit_and_words_are_whole(self) -> None:
        other = UUID[::-1]
        for rows, one, words, key, lines in (
            # Columns of text give way to uuids.
            (
                [(UUID, 'owned', HINT), (other, 'free', '')],
                False,
                'restart',
                '| Column 0 ',
                1,
            ),
            # Rows that cannot fit are shown one below the other.
            (
                [(UUID, other, 7), (UUID, other, HINT)],
                False,
                'service.',
                '| Column 2 |',
                2,
            ),
            # One row is wrapped between words.
            ([(UUID, f'{HINT}/{other}/{HINT}')], True, 'restart', '| Move', 2),
        ):
            shown = self.shown(*rows, one=one)
            text = '\n'.join(shown)
            self.assertLessEqual(max(map(len, shown)), 80, text)
            for word in (UUID, other, words):
                self.assertIn(word, text)
            self.assertEqual(lines, text.count(key), text)

    def test_width_of_a_terminal_counts(self) -> None:
        stdout = terminal()
        with mock.patch.object(utils, 'terminal_width', return_value=80):
            formatters.Table(str).emit_list(
                ('a', 'b', 'c'), [(UUID, HINT, HINT)], stdout, args()
            )
        lines = stdout.getvalue().splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn(UUID, stdout.getvalue())

    def test_file_has_long_lines(self) -> None:
        row = (UUID, HINT, HINT)
        lines = self.shown(row, width=0)
        self.assertIn(f'| {UUID} | {HINT} | {HINT} |', lines)
        row = (UUID, 5, 'text')
        self.assertEqual(self.shown(row, width=0), self.shown(row))


class WordsTest(unittest.TestCase):
    @given(CELLS)
    def test_every_cell_is_readable(self, cell: Any) -> None:
        said = formatters.readable(cell)
        self.assertIsInstance(said, str | int | float)
        self.assertNotEqual('', said)

    def test_words_for_people(self) -> None:
        for cell, said in (
            (None, '-'),
            ([], '-'),
            ('', '-'),
            (True, 'yes'),
            (False, 'no'),
            (0, 0),
            (['a', 'b'], 'a, b'),
            ({'a': 'x', 'b': ['y', 'z'], 'c': ''}, "a=x, b=[y, z], c=''"),
            ([{'a': 1}, {'b': 2}], 'a=1\nb=2'),
            # Rows in a cell leave out what is open.
            (
                [
                    {'loop': 'beat', 'code': None, 'ended': False},
                    {'loop': 'epoch', 'code': 'late', 'ended': True},
                ],
                'loop=beat, ended=no\nloop=epoch, code=late, ended=yes',
            ),
            (
                {'shard': None, 'on': True, 'of': [None, False]},
                'shard=-, on=yes, of=[-, no]',
            ),
        ):
            self.assertEqual(said, formatters.readable(cell))
