"""The table of clauses names tests that exist, at least one for each."""

from __future__ import annotations

import importlib
import re
import unittest

from tests.unit.checkout import CONTRIBUTOR

TABLE = CONTRIBUTOR / 'clauses.rst'
ELSEWHERE = 'Not here: '
CLAUSES = {'G': 20, 'S': 43, 'O': 9, 'M': 15}
"""Number of the clauses of each document, by its letter."""
_NUMBER = re.compile(r'^([GSOM]\d+)\. ')
_ROW = re.compile(r'^   \* - ', re.MULTILINE)
_NAME = re.compile(r'``(tests\.[\w.]+)``')


def rows() -> list[str]:
    """Return every row of every table, headers left out."""
    found: list[str] = []
    for table in TABLE.read_text().split('.. list-table::')[1:]:
        found += _ROW.split(table)[2:]
    return found


class TestClauses(unittest.TestCase):
    def test_every_clause_has_a_test_or_is_out_of_scope(self) -> None:
        self.assertGreater(len(rows()), 60)
        for row in rows():
            with self.subTest(row=row):
                self.assertEqual(ELSEWHERE in row, not _NAME.findall(row))

    def test_clauses_of_each_document_are_numbered_without_a_gap(self) -> None:
        numbers = [match for row in rows() for match in _NUMBER.findall(row)]
        self.assertEqual(
            [
                f'{letter}{number}'
                for letter, count in CLAUSES.items()
                for number in range(1, count + 1)
            ],
            numbers,
        )

    def test_superseded_clause_names_an_existing_one(self) -> None:
        named = {
            number
            for row in rows()
            for text in re.findall(r'[Ss]upersede[^.]*', row)
            for number in re.findall(r'\b[GSOM]\d+\b', text)
        }
        self.assertGreater(len(named), 5)
        for number in named:
            self.assertLessEqual(int(number[1:]), CLAUSES[number[0]], number)

    def test_every_test_that_is_named_exists(self) -> None:
        named = {name for row in rows() for name in _NAME.findall(row)}
        self.assertGreater(len(named), 60)
        for name in sorted(named):
            with self.subTest(name=name):
                module, case, method = name.rsplit('.', 2)
                found = getattr(importlib.import_module(module), case)
                self.assertTrue(issubclass(found, unittest.TestCase))
                self.assertTrue(method.startswith('test_'))
                self.assertTrue(callable(getattr(found, method)))
