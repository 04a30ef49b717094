"""Tables in a width: no word is ever broken."""

from __future__ import annotations

import io
import types
import unittest
from typing import Any
from unittest import mock

from cliff import utils

from ironic_ownership.cli import formatters, ring, service, watch
from ironic_ownership.observe import columns

UUID = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a9'
HINT = 'Move the node to a service that is alive, or restart its service.'


def _words(cell: Any) -> Any:
    return cell.replace('/', '\n') if isinstance(cell, str) else cell


class _Terminal(io.StringIO):
    encoding = 'utf-8'  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class _File(_Terminal):
    def isatty(self) -> bool:
        return False


class _Ascii(_Terminal):
    encoding = 'ANSI_X3.4-1968'  # type: ignore[assignment]


class BarTest(unittest.TestCase):
    def shown(self, stdout: io.StringIO, name: str = 'Of Mean') -> str:
        args = types.SimpleNamespace(
            max_width=0, fit_width=False, print_empty=False
        )
        table = formatters.of('table', None, columns.readable, 'Of Mean')
        rows = [(name, share) for share in (None, 0.0, 0.5, 1.0, 1.9, 7.0)]
        table.emit_list(('Host', name), rows, stdout, args)
        return stdout.getvalue()

    def test_share_has_a_bar_on_a_terminal(self) -> None:
        lines = self.shown(_Terminal()).splitlines()[3:-1]
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
        for stdout, name in (
            (_File(), 'Of Mean'),
            (watch.Captured(_File()), 'Of Mean'),
            (_Ascii(), 'Of Mean'),
            (watch.Captured(_Ascii()), 'Of Mean'),
            (_Terminal(), 'Nodes'),
        ):
            self.assertNotIn('│', self.shown(stdout, name))
        self.assertIn('│', self.shown(watch.Captured(_Terminal())))

    def test_commands_name_a_column_that_they_have(self) -> None:
        for command in (service.ListService, ring.ShowRing):
            shown = columns.keys(command(None, None).described.columns)
            self.assertIn(command.bar, shown)


class TestTables(unittest.TestCase):
    def shown(
        self,
        *rows: Any,
        width: int = 80,
        one: bool = False,
        terminal: bool = False,
    ) -> list[str]:
        names = [f'Column {number}' for number in range(len(rows[0]))]
        stdout = _Terminal() if terminal else io.StringIO()
        args = types.SimpleNamespace(
            max_width=0 if terminal else width,
            fit_width=False,
            print_empty=False,
        )
        formatter = formatters.Table(_words)
        with mock.patch.object(utils, 'terminal_width', return_value=width):
            if one:
                formatter.emit_one(names, rows[0], stdout, args)
            else:
                formatter.emit_list(names, rows, stdout, args)
        return stdout.getvalue().splitlines()

    def assert_whole(self, lines: list[str], *words: str) -> None:
        self.assertLessEqual(max(map(len, lines)), 80, '\n'.join(lines))
        for word in words:
            self.assertIn(word, '\n'.join(lines))

    def test_columns_of_text_give_way_to_uuids(self) -> None:
        lines = self.shown((UUID, 'owned', HINT), (UUID[::-1], 'free', ''))
        self.assert_whole(lines, UUID, UUID[::-1], 'restart')
        self.assertEqual('| Column 0', lines[1][:10])

    def test_rows_that_cannot_fit_are_shown_one_below_the_other(self) -> None:
        lines = self.shown((UUID, UUID[::-1], 7), (UUID, UUID, HINT))
        self.assert_whole(lines, UUID, UUID[::-1])
        self.assertEqual(2, '\n'.join(lines).count('| Column 2 |'))

    def test_one_row_is_wrapped_between_words(self) -> None:
        lines = self.shown((UUID, f'{HINT}/{HINT}'), one=True)
        self.assert_whole(lines, UUID, 'restart')
        self.assertEqual(2, '\n'.join(lines).count('| Move'))

    def test_width_of_a_terminal_counts(self) -> None:
        self.assert_whole(self.shown((UUID, HINT, HINT), terminal=True), UUID)

    def test_file_has_long_lines(self) -> None:
        lines = self.shown((UUID, HINT, HINT), width=0)
        self.assertIn(f'| {UUID} | {HINT} | {HINT} |', lines)

    def test_table_that_fits_stays_as_it_is(self) -> None:
        self.assertEqual(
            self.shown((UUID, 5, 'text'), width=0),
            self.shown((UUID, 5, 'text')),
        )
