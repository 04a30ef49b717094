"""The packages in ``plugins_contrib`` use what every third party may use."""

from __future__ import annotations

import ast
import pathlib
import sys
import tomllib
import unittest
from collections.abc import Iterator

_PACKAGES = sorted(
    path.parent
    for path in (
        pathlib.Path(__file__).resolve().parents[2] / 'plugins_contrib'
    ).glob('*/pyproject.toml')
)
_BORROWED = {
    'kazoo_membership': {'kazoo'},
    'postgresql_membership': {'psycopg2'},
}
_TESTING = {'hypothesis', 'ironic_ownership_plugin_kit', 'tests'}
_GROUPS = {'ironic_ownership.policies', 'ironic_ownership.backends'}


def _imported(source: pathlib.Path) -> Iterator[str]:
    for item in ast.walk(ast.parse(source.read_text())):
        if isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)
        elif isinstance(item, ast.ImportFrom) and item.module:
            yield from (f'{item.module}.{alias.name}' for alias in item.names)


class TestPackages(unittest.TestCase):
    def test_there_are_seven(self) -> None:
        self.assertEqual(
            [
                'bounded_ring',
                'kazoo_membership',
                'postgresql_membership',
                'rack_affinity',
                'resource_class',
                'weighted_ring',
                'zone_spread',
            ],
            [package.name for package in _PACKAGES],
        )

    def test_they_import_contracts_and_in_tests_the_suites(self) -> None:
        for package in _PACKAGES:
            own = f'ironic_ownership_{package.name}'
            allowed = {own, *_BORROWED.get(package.name, ())}
            for source in package.rglob('*.py'):
                tested = source.parent.name == 'tests'
                for name in _imported(source):
                    top = name.split('.')[0]
                    with self.subTest(source=source, name=name):
                        if top == 'ironic_ownership':
                            self.assertRegex(
                                name,
                                r'^ironic_ownership\.contracts'
                                + (r'\b' if tested else r'$'),
                            )
                        elif top not in sys.stdlib_module_names:
                            self.assertIn(
                                top, allowed | (_TESTING if tested else set())
                            )

    def test_each_has_metadata_entry_points_and_a_readme(self) -> None:
        for package in _PACKAGES:
            text = (package / 'pyproject.toml').read_text()
            project = tomllib.loads(text)['project']
            (group,) = project['entry-points']
            self.assertIn(group, _GROUPS)
            self.assertEqual({package.name}, {*project['entry-points'][group]})
            self.assertIn('ironic-ownership', project['dependencies'])
            readme = (package / 'README.rst').read_text()
            self.assertIn(project['name'], readme)
            self.assertIn(package.name, readme)
