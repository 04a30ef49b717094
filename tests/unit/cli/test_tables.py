"""Tables in a width: no word is ever broken."""

from __future__ import annotations

import io
import types
import unittest
from typing import Any
from unittest import mock

from cliff import utils

from ironic_ownership.cli import formatters

UUID = '8fd1a2c4-7b53-4e0f-9a6d-2c31f5e0b7a9'
HINT = 'Move the node to a service that is alive, or restart its service.'


def _words(cell: Any) -> Any:
    return cell.replace('/', '\n') if isinstance(cell, str) else cell


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
