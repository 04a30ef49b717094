"""The pages for contributors name files and functions that exist."""

import ast
import pathlib
import re
from collections.abc import Iterator

import fixtures
import testtools

_CHECKOUT = pathlib.Path(__file__).parents[2]
_PAGES = _CHECKOUT / 'doc' / 'source' / 'contributor'

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


class WalkthroughTest(testtools.TestCase):
    """Names in the pages."""

    def test_names_of_the_walkthrough_exist(self) -> None:
        page = _PAGES / 'walkthrough.rst'
        self.assertEqual([], _faults(page, _CHECKOUT / 'ironic_ownership'))

    def test_names_of_the_recipes_exist(self) -> None:
        self.assertEqual([], _faults(_PAGES / 'recipes.rst', _CHECKOUT))

    def test_walkthrough_names_functions_in_every_step(self) -> None:
        text = (_PAGES / 'walkthrough.rst').read_text()
        steps = re.split(r'^#\. ', text, flags=re.MULTILINE)[1:]
        self.assertGreater(len(steps), 30)
        self.assertEqual([], [step for step in steps if '()``' not in step])

    def test_missing_names_are_faults(self) -> None:
        directory = self.useFixture(fixtures.TempDir()).path
        page = pathlib.Path(directory) / 'page.rst'
        page.write_text(
            '``engine/gone.py``, ``engine/host/refresh.py``, '
            '``Refresher.refresh()``, ``Refresher.gone()``, ``Gone``, '
            '``engine/new.py`` (new), ``lower``'
        )
        self.assertEqual(
            [
                'engine/gone.py',
                'engine/host/refresh.py: Refresher.gone()',
                'engine/host/refresh.py: Gone',
            ],
            _faults(page, _CHECKOUT / 'ironic_ownership'),
        )
