"""The packages in ``plugins_contrib`` use what every third party may use."""

from __future__ import annotations

import sys
import unittest

from tests.unit.checkout import ROOT, imported, pyproject

_PACKAGES = sorted(
    path.parent for path in ROOT.glob('plugins_contrib/*/pyproject.toml')
)
_BORROWED = {
    'kazoo_membership': {'kazoo'},
    'postgresql_membership': {'psycopg2'},
}
_TESTING = {'hypothesis', 'ironic_ownership_plugin_kit', 'tests'}
_GROUPS = {'ironic_ownership.policies', 'ironic_ownership.backends'}


class TestPackages(unittest.TestCase):
    def test_they_import_contracts_and_in_tests_the_suites(self) -> None:
        self.assertEqual(7, len(_PACKAGES))
        for package in _PACKAGES:
            own = f'ironic_ownership_{package.name}'
            allowed = {own, *_BORROWED.get(package.name, ())}
            for source in package.rglob('*.py'):
                tested = source.parent.name == 'tests'
                end = r'\b' if tested else '$'
                known = allowed | (_TESTING if tested else set())
                for name in imported(source):
                    top = name.split('.')[0]
                    with self.subTest(source=source, name=name):
                        if top == 'ironic_ownership':
                            self.assertRegex(
                                name, rf'^ironic_ownership\.contracts{end}'
                            )
                        elif top not in sys.stdlib_module_names:
                            self.assertIn(top, known)

    def test_each_has_metadata_entry_points_and_a_readme(self) -> None:
        for package in _PACKAGES:
            project = pyproject(str(package))['project']
            (group,) = project['entry-points']
            self.assertIn(group, _GROUPS)
            self.assertEqual({package.name}, {*project['entry-points'][group]})
            self.assertIn('ironic-ownership', project['dependencies'])
            readme = (package / 'README.rst').read_text()
            self.assertIn(project['name'], readme)
            self.assertIn(package.name, readme)
