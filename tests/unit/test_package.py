"""The packages as a whole: their guarantees to importers."""

from __future__ import annotations

import graphlib
import importlib.metadata
import sys
import unittest

import grimp

from ironic_ownership import settings
from ironic_ownership.conf.configuration import new
from tests.unit.checkout import PACKAGE, ROOT, imported, pyproject

_OURS = 'ironic_ownership'
_CHECKOUT = 'tests', 'benchmarks', 'lab', 'tools', f'{_OURS}_plugin_kit'
_DISTRIBUTIONS = {
    'ironic-ownership': '.',
    'ironic-ownership-middleware': 'ironic_middleware',
    'ironic-ownership-nova': 'nova_driver',
}


class PackageTest(unittest.TestCase):
    def test_no_modules_import_each_other_in_a_circle(self) -> None:
        # Imports for annotations and inside functions count as well.
        graph = grimp.build_graph(
            *(_OURS, 'ironic_ownership_nova', 'lab'),
            'ironic_ownership_middleware',
            cache_dir=None,
        )
        order = graphlib.TopologicalSorter(
            {
                module: graph.find_modules_directly_imported_by(module)
                for module in graph.modules
            }
        )
        order.prepare()  # a CycleError names the modules

    def test_imports_are_those_that_an_importer_has(self) -> None:
        for module in PACKAGE.rglob('*.py'):
            self.assertTrue((module.parent / '__init__.py').exists(), module)
            inside = module.is_relative_to(PACKAGE / 'contracts')
            for name in imported(module):
                top = name.split('.')[0]
                # What only a checkout has is not in the package.
                self.assertNotIn(top, _CHECKOUT, module)
                if inside and top not in sys.stdlib_module_names:
                    self.assertRegex(name, rf'^{_OURS}\.contracts\b', module)
        self.assertTrue((PACKAGE / 'py.typed').is_file())


class EntryPointTest(unittest.TestCase):
    """The entry points as they are installed."""

    def test_they_are_those_of_the_source_and_load(self) -> None:
        for name, directory in _DISTRIBUTIONS.items():
            installed = importlib.metadata.distribution(name).entry_points
            for entry_point in installed:
                with self.subTest(entry_point):
                    entry_point.load()
            project = pyproject(directory)['project']
            groups = {
                **project['entry-points'],
                'console_scripts': project.get('scripts', {}),
            }
            declared = {
                (group, *one)
                for group, entries in groups.items()
                for one in entries.items()
            }
            self.assertEqual(
                declared, {(e.group, e.name, e.value) for e in installed}
            )


class ExampleTest(unittest.TestCase):
    """The configurations that the documentation shows."""

    def test_every_example_is_accepted_by_the_host_process(self) -> None:
        directory = ROOT / 'etc' / 'ironic_ownership' / 'examples'
        hosts = {
            path.stem: settings.read(
                new(['--config-file', str(path)], 'example')
            ).host
            for path in directory.glob('*.conf')
        }
        self.assertEqual(
            {
                'beside-nova': 'vm',
                'one-machine': 'rack1',
                'peers': 'compute1',
                'placement-health': 'rack1',
                'shard': 'rack1',
            },
            hosts,
        )
