"""The packages of ``plugin new``, without writing them."""

import ast
import keyword
import pathlib
import subprocess
import sys
import tempfile
import tomllib
from typing import Any

import testtools
from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership import plugins
from ironic_ownership.contracts import backend, plugin_validation
from ironic_ownership_plugin_kit.templates import package

_NAMES = st.from_regex(package._NAME, fullmatch=True).filter(
    lambda name: package.fault_of(name) is None
)


class NameTest(testtools.TestCase):
    def test_good_name_has_no_fault(self) -> None:
        for name in ('a', 'rack_affinity', 'r2_d2', 'a' * 40):
            self.assertIsNone(package.fault_of(name), name)

    def test_bad_name_has_a_fault(self) -> None:
        for name in (
            *('', ' ', 'a b', 'a-b', 'Rack', '1a', '_a', 'a_', 'a__b'),
            *('a.b', 'ä', 'a/b', '../a', 'a\n', '$name', 'a' * 41),
        ):
            self.assertTrue(package.fault_of(name), name)

    @given(_NAMES, st.sampled_from(package.Kind))
    def test_names_that_follow_from_a_good_name_are_good(
        self, name: str, kind: package.Kind
    ) -> None:
        made = package.Package(kind, name)
        for text in (made.module, made.class_name, made.section):
            self.assertTrue(text.isidentifier(), text)
            self.assertFalse(keyword.iskeyword(text), text)
        self.assertRegex(made.distribution, r'^[a-z0-9]+(-[a-z0-9]+)*$')


class FilesTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.made = [
            package.Package(kind, 'some_thing') for kind in package.Kind
        ]

    def test_every_placeholder_is_filled_in(self) -> None:
        for made in self.made:
            for path, text in made.files().items():
                self.assertNotIn('$', path + text, path)
                self.assertNotIn('module/', path)
                self.assertFalse(path.endswith('.tmpl'), path)

    def test_package_is_complete(self) -> None:
        for made in self.made:
            self.assertEqual(
                {
                    *('pyproject.toml', 'README.rst', 'tox.ini'),
                    *('.stestr.conf', '.gitignore'),
                    *(
                        f'ironic_ownership_some_thing/{name}'
                        for name in (
                            *('__init__.py', 'py.typed'),
                            f'{made.role}.py',
                        )
                    ),
                    *('tests/__init__.py', f'tests/test_{made.role}.py'),
                },
                set(made.files()),
            )

    def test_entry_point_names_the_class(self) -> None:
        groups = {plugins.POLICIES, plugins.BACKENDS}
        for made in self.made:
            files = made.files()
            project = tomllib.loads(files['pyproject.toml'])['project']
            ((group, entries),) = project['entry-points'].items()
            self.assertIn(group, groups)
            self.assertEqual(made.group, group)
            ((name, value),) = entries.items()
            self.assertEqual('some_thing', name)
            module, _, class_name = value.partition(':')
            source = ast.parse(files[f'{module.replace(".", "/")}.py'])
            self.assertIn(
                class_name,
                [c.name for c in source.body if isinstance(c, ast.ClassDef)],
            )

    def test_contract_version_is_the_lowest_that_the_code_needs(self) -> None:
        for made in self.made:
            built = self.plugin_class(made)
            self.assertIsNone(self.fault(built), made.kind)
            lower = type('Lower', (built,), {'contract_version': 1})
            needs_more = self.fault(lower) is not None
            self.assertEqual(
                2 if needs_more else 1, built.contract_version, made.kind
            )

    def plugin_class(self, made: package.Package) -> Any:
        """Return the class of a package that is not installed."""
        found: dict[str, Any] = {'__name__': made.module}
        source = made.files()[f'{made.module}/{made.role}.py']
        exec(compile(source, made.module, 'exec'), found)
        return found[made.class_name]

    def fault(self, target: type) -> str | None:
        if issubclass(target, backend.MembershipBackend):
            return plugin_validation.backend_fault(target)
        return plugin_validation.policy_fault(target)

    def test_weighted_package_passes_its_own_tests(self) -> None:
        made = package.Package(package.Kind.WEIGHTED, 'some_thing')
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            for path, text in made.files().items():
                (directory / path).parent.mkdir(exist_ok=True)
                (directory / path).write_text(text)
            tests = 'tests.test_policy'
            done = subprocess.run(
                [
                    *(sys.executable, '-m', 'unittest'),
                    *('-k', 'TestPolicy.test_twice'),
                    *('-k', 'TestPolicy.test_service'),
                    *('-k', 'TestPolicy.test_weight'),
                    *('-k', 'test_class_is_one_that_a_host_loads'),
                    *('-k', 'test_members_differ_in_their_values'),
                    *('-k', 'test_every_node_gets_an_answer'),
                    *('-k', 'test_no_more_nodes_move_than_declared'),
                    tests,
                ],
                cwd=directory,
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('Ran 7 tests', done.stderr)
        self.assertIn('weight: 1, 2', done.stderr)

    def test_lines_are_short_and_end(self) -> None:
        for made in self.made:
            for path, text in made.files().items():
                for line in text.splitlines():
                    self.assertLessEqual(len(line), 79, f'{path}: {line}')
                    self.assertEqual(line.rstrip(), line, path)
                self.assertTrue(not text or text.endswith('\n'), path)
