"""The table of clauses names tests that exist, at least one for each."""

from __future__ import annotations

import importlib
import pathlib
import re
import unittest

TABLE = (
    pathlib.Path(__file__).parents[2] / 'doc/source/contributor/clauses.rst'
)
ELSEWHERE = 'Not here: '
_ROW = re.compile(r'^   \* - ', re.MULTILINE)
_NAME = re.compile(r'``(tests\.[\w.]+)``')


def rows() -> list[str]:
    """Return every row of every table, headers left out."""
    found: list[str] = []
    for table in TABLE.read_text().split('.. list-table::')[1:]:
        found += _ROW.split(table)[2:]
    return found


class TestClauses(unittest.TestCase):
    def test_every_clause_has_a_test_or_is_out_of_scope(
        self,
    ) -> None:
        self.assertGreater(len(rows()), 60)
        for row in rows():
            with self.subTest(row=row):
                self.assertEqual(ELSEWHERE in row, not _NAME.findall(row))

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
