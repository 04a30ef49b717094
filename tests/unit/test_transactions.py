"""Every transaction that writes is in the contributors' table."""

from __future__ import annotations

import ast
import pathlib
import re
import unittest
from collections.abc import Iterator

from tests.unit.checkout import CONTRIBUTOR, ROOT

MODULES = [
    module
    for package in ('ironic_ownership', 'nova_driver/ironic_ownership_nova')
    for module in (ROOT / package).rglob('*.py')
]
PAGE = CONTRIBUTOR / 'transactions.rst'
BASE = ('connection.py', 'transaction.py')
OPENS = re.compile(r'engine\.(begin|connect|raw_connection)\(')
SCHEMA = 'schema.py'
"""Row of its lock: a lock because it is committed at once, in three places."""


def transactions(module: pathlib.Path) -> Iterator[str]:
    """Yield the qualified names of the transactions of a module."""
    tree = ast.parse(module.read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (f'{node.name}.{name}' for name in _names(node.body))
        else:
            yield from (f'{module.stem}.{name}' for name in _names([node]))


def _names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            marks = map(ast.unparse, node.decorator_list)
            calls = [
                ast.unparse(call.func)
                for call in ast.walk(node)
                if isinstance(call, ast.Call)
            ]
            if 'transaction.writes' in marks or any(
                re.search(r'(database\.write|_transact)$', call)
                for call in calls
            ):
                yield node.name
        elif isinstance(node, ast.Assign) and re.match(
            r'transaction\.method\(', ast.unparse(node.value)
        ):
            yield ast.unparse(node.targets[0])


class TestTransactions(unittest.TestCase):
    def test_table_names_every_transaction(self) -> None:
        found = {
            name
            for module in MODULES
            if module.name not in BASE
            for name in transactions(module)
        }
        named = re.findall(r'^   \* - ``([\w.]+)``', PAGE.read_text(), re.M)
        self.assertEqual(sorted(found), sorted(named))
        self.assertLess(15, len(found))

    def test_no_other_module_opens_a_transaction(self) -> None:
        found = {
            module.name: len(OPENS.findall(module.read_text()))
            for module in MODULES
            if module.name not in BASE
        }
        self.assertEqual({SCHEMA: 3}, {k: v for k, v in found.items() if v})
