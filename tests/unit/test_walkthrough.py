"""The pages for contributors name files and functions that exist."""

import ast
import pathlib
import re
import unittest
from collections.abc import Iterator

from tests.unit.checkout import CONTRIBUTOR, PACKAGE, ROOT

_LITERAL = re.compile(r'``([^`]+)``( \(new\))?')
_NAME = re.compile(r'[A-Za-z_][\w.]*\(\)|(?!None$)[A-Z][a-z]\w*')
"""Functions and methods with parentheses, and classes."""


def _literals(page: pathlib.Path) -> Iterator[str]:
    """Yield the literals of a page, without those marked as new."""
    text = ' '.join(page.read_text().split())
    for literal, new in _LITERAL.findall(text):
        if not new:
            yield literal


def _defined(path: pathlib.Path) -> set[str]:
    """Return the functions, classes and methods of a module."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {
                f'{node.name}.{one.name}'
                for one in node.body
                if isinstance(one, ast.FunctionDef)
            }
    return names


def _faults(page: pathlib.Path, root: pathlib.Path) -> list[str]:
    """Return the names of a page that do not exist.

    :param root: the directory of the files on the page.
    """
    faults = []
    path = root
    for literal in _literals(page):
        if re.fullmatch(r'[\w./-]+/[\w.-]+\.\w+', literal):
            path = root / literal
            if not path.exists():
                faults.append(literal)
        elif path.suffix == '.py' and path.exists():
            name = _NAME.fullmatch(literal)
            if name and literal.removesuffix('()') not in _defined(path):
                faults.append(f'{path.relative_to(root)}: {literal}')
    return faults


class WalkthroughTest(unittest.TestCase):
    """Names in the pages."""

    def test_names_of_both_pages_exist(self) -> None:
        for name, root in (('walkthrough', PACKAGE), ('recipes', ROOT)):
            self.assertEqual([], _faults(CONTRIBUTOR / f'{name}.rst', root))

    def test_walkthrough_names_functions_in_every_step(self) -> None:
        text = (CONTRIBUTOR / 'walkthrough.rst').read_text()
        steps = re.split(r'^#\. ', text, flags=re.MULTILINE)[1:]
        self.assertGreater(len(steps), 30)
        self.assertEqual([], [step for step in steps if '()``' not in step])
