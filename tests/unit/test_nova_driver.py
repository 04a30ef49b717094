"""The distribution of the Nova driver, as far as it needs no Nova."""

from __future__ import annotations

import ast
import pathlib
import tomllib
from collections.abc import Iterator

import testtools

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_DRIVER = _CHECKOUT / 'nova_driver'
_PACKAGE = 'ironic_ownership_nova'
_WITHOUT_NOVA = ('cell', 'doctor')


def _imported(path: pathlib.Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f'{node.module}.{n.name}' for n in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


class TestNovaDriver(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        text = (_DRIVER / 'pyproject.toml').read_text()
        self.metadata = tomllib.loads(text)

    def test_driver_imports_only_what_is_made_for_embedding(self) -> None:
        found = {
            name
            for path in (_DRIVER / 'ironic_ownership_nova').rglob('*.py')
            if path.parent.name not in _WITHOUT_NOVA
            for name in _imported(path)
            if name.startswith('ironic_ownership.')
        }
        self.assertEqual(
            {'ironic_ownership.embedding'},
            {'.'.join(name.split('.')[:2]) for name in found},
        )

    def test_cell_imports_neither_nova_nor_its_driver(self) -> None:
        found = {
            name
            for package in _WITHOUT_NOVA
            for path in (_DRIVER / _PACKAGE / package).glob('*.py')
            for name in _imported(path)
            if name.split('.')[0] in ('nova', _PACKAGE)
            and not name.startswith(
                tuple(f'{_PACKAGE}.{own}' for own in _WITHOUT_NOVA)
            )
        }
        self.assertEqual(set(), found)

    def test_all_packages_are_in_the_wheel(self) -> None:
        packages = {
            '.'.join(path.parent.relative_to(_DRIVER).parts)
            for path in (_DRIVER / 'ironic_ownership_nova').rglob(
                '__init__.py'
            )
        }
        listed = set(self.metadata['tool']['setuptools']['packages'])
        self.assertEqual(packages, listed - {'nova.virt.ironic_ownership'})
