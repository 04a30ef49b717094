"""Independence of the law checkers: they share no code with the product."""

from __future__ import annotations

import ast
import pathlib
import unittest
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[3]
INSIDE_HOSTS = frozenset({'broken.py', 'driver.py', 'imports.py', 'sender.py'})
"""Modules of the nemesis that run inside the host processes."""

LAB = frozenset({'nova_imports.py'})
"""Modules of the lab that do."""


def imported(module: pathlib.Path) -> Iterator[str]:
    """Yield the names of all modules that one imports anywhere."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ''
            yield from (f'{node.module}.{a.name}' for a in node.names)


def users(directory: str) -> set[str]:
    """Return the names of the modules that mention the product in code."""
    return {
        module.name
        for module in (ROOT / directory).rglob('*.py')
        if any(
            name.partition('.')[0] == 'ironic_ownership'
            for name in imported(module)
        )
    }


class TestIndependence(unittest.TestCase):
    def test_only_what_runs_inside_hosts_imports_the_product(self) -> None:
        self.assertLessEqual(users('benchmarks/nemesis'), INSIDE_HOSTS)
        self.assertLessEqual(users('lab'), LAB)
        self.assertIn('driver.py', users('benchmarks/nemesis'))

    def test_no_other_module_imports_those(self) -> None:
        inside = {
            f'benchmarks.nemesis.{name.removesuffix(".py")}'
            for name in INSIDE_HOSTS
        }
        for module in (ROOT / 'benchmarks/nemesis').glob('*.py'):
            if module.name not in INSIDE_HOSTS:
                names = set(imported(module))
                self.assertEqual(set(), inside & names, module.name)
