"""The package as a whole: its guarantees to importers."""

import ast
import graphlib
import importlib.metadata
import importlib.resources
import pathlib
import sys
import tomllib
from typing import Any

import grimp
import testtools

import ironic_ownership
from ironic_ownership import settings
from ironic_ownership.conf.configuration import new

_PACKAGE = pathlib.Path(ironic_ownership.__file__).parent
_OURS = 'ironic_ownership'
_KIT = 'ironic_ownership_plugin_kit'
_CHECKOUT = 'tests', 'benchmarks', 'lab', 'tools', _KIT


def _imported(module: pathlib.Path) -> set[str]:
    """Return the names of what a module imports, at any depth."""
    names: set[str] = set()
    for statement in ast.walk(ast.parse(module.read_text())):
        if isinstance(statement, ast.Import):
            names.update(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            names.add(statement.module or '')
    return names


class PackageTest(testtools.TestCase):
    """Laws of the package as a whole."""

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

    def test_contracts_import_the_standard_library_alone(self) -> None:
        allowed = sys.stdlib_module_names
        foreign = {
            f'{module.name}: {name}'
            for module in (_PACKAGE / 'contracts').rglob('*.py')
            for name in _imported(module)
            if name.split('.')[0] not in allowed
            and not name.startswith(f'{_OURS}.contracts')
        }
        self.assertEqual(set(), foreign)

    def test_package_imports_nothing_that_only_a_checkout_has(self) -> None:
        found = {
            f'{module.relative_to(_PACKAGE)}: {name}'
            for module in _PACKAGE.rglob('*.py')
            for name in _imported(module)
            if name.split('.')[0] in _CHECKOUT
        }
        self.assertEqual(set(), found)

    def test_package_is_marked_as_typed(self) -> None:
        marker = importlib.resources.files(ironic_ownership) / 'py.typed'
        self.assertTrue(marker.is_file())

    def test_every_directory_with_modules_is_a_package(self) -> None:
        bare = {
            str(module.parent.relative_to(_PACKAGE))
            for module in _PACKAGE.rglob('*.py')
            if not (module.parent / '__init__.py').exists()
        }
        self.assertEqual(set(), bare)


def _project(directory: str) -> dict[str, Any]:
    source = _PACKAGE.parent / directory / 'pyproject.toml'
    found: dict[str, Any] = tomllib.loads(source.read_text())['project']
    return found


class EntryPointTest(testtools.TestCase):
    """The entry points as they are installed."""

    def setUp(self) -> None:
        super().setUp()
        self.installed = [
            entry_point
            for name in (
                'ironic-ownership',
                'ironic-ownership-middleware',
                'ironic-ownership-nova',
            )
            for entry_point in importlib.metadata.distribution(
                name
            ).entry_points
        ]

    def test_every_entry_point_loads(self) -> None:
        broken = {}
        for entry_point in self.installed:
            try:
                entry_point.load()
            except (ImportError, AttributeError) as exc:
                broken[f'{entry_point.group}: {entry_point.name}'] = str(exc)
        self.assertEqual({}, broken)

    def test_installed_entry_points_are_those_of_the_source(self) -> None:
        declared = {
            (group, name, value)
            for directory in ('.', 'ironic_middleware', 'nova_driver')
            for project in [_project(directory)]
            for group, entries in {
                **project['entry-points'],
                'console_scripts': project.get('scripts', {}),
            }.items()
            for name, value in entries.items()
        }
        self.assertEqual(
            declared, {(e.group, e.name, e.value) for e in self.installed}
        )


class ExampleTest(testtools.TestCase):
    """The configurations that the documentation shows."""

    def test_every_example_is_accepted_by_the_host_process(self) -> None:
        directory = _PACKAGE.parent / 'etc' / 'ironic_ownership' / 'examples'
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
