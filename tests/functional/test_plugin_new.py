"""``plugin new``, as the author of a plugin uses it."""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
import unittest

from ironic_ownership import plugins
from lab import process
from tests.functional.support import command_line, installations

_MADE = {
    'aisle_filter': ('policy',),
    'even_spread': ('policy', '--kind', 'assigner'),
    'one_file': ('backend',),
}
_CHECKED_WITH = {
    'aisle_filter': ('--option', 'values=a,b'),
    'even_spread': (),
    'one_file': ('--option', 'path={root}/checked.json'),
}
_KINDS = {
    'aisle_filter': 'filter',
    'even_spread': 'assigner',
    'one_file': 'backend',
}


def _files(directory: pathlib.Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob('*')
        if path.is_file()
    }


class FreshPluginTest(installations.InstalledCase):
    """One environment, with our wheels and a wheel of each kind of plugin.

    As a stranger has it: nothing in it comes from the checkout.
    """

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.bin = installations.fresh_environment(
            cls.root / 'venv',
            *installations.own_wheels(cls.root),
            *('stestr', 'pytest', 'pip'),
        )
        for name, (role, *options) in _MADE.items():
            cls.run_program(
                'ironic-ownership', 'plugin', 'new', role, name, *options
            )
            target = cls.root / f'wheel-{name}'
            target.mkdir()
            wheel = installations.wheel_of(cls.source(name), target)
            installations.pip(cls.root / 'venv', 'install', '--no-deps', wheel)
        cls.begin_check_of_backend()

    @classmethod
    def begin_check_of_backend(cls) -> None:
        """Begin what mostly waits; the other tests run meanwhile."""
        cls.long_check = process.Process(
            [str(word) for word in cls.check_of('one_file')],
            cls.root / 'check.log',
            cwd=cls.root,
        ).start()
        cls.addClassCleanup(cls.long_check.kill)

    @classmethod
    def check_of(cls, name: str) -> list[object]:
        options = [w.format(root=cls.root) for w in _CHECKED_WITH[name]]
        return [
            *(cls.bin / 'ironic-ownership', 'plugin', 'check', name),
            # Of the backend: time really passes, on a busy machine.
            *(*options, '--member-ttl', '12'),
            *('-f', 'csv', '-c', 'plugin', '-c', 'result'),
        ]

    @classmethod
    def source(cls, name: str) -> pathlib.Path:
        """Return the directory that was written."""
        return cls.root / f'ironic-ownership-{name.replace("_", "-")}'

    def without_source(self, name: str) -> pathlib.Path:
        """Return a directory with the tests, away from the source."""
        target = self.root / f'tests-of-{name}'
        if not target.exists():
            shutil.copytree(self.source(name), target)
            shutil.rmtree(target / f'ironic_ownership_{name}')
        return target

    def test_installed_package_passes_its_tests_under_stestr(self) -> None:
        for name in _MADE:
            said = self.run_program(
                'stestr', 'run', cwd=self.without_source(name)
            )
            self.assertRegex(said, r'(?m)^ - Passed: [2-9]\d$', name)
            self.assertRegex(said, r'(?m)^ - Failed: 0$', name)
            self.assertRegex(said, r'(?m)^ - Skipped: 0$', name)

    def test_installed_package_passes_its_tests_under_pytest(self) -> None:
        said = self.run_program(
            'pytest', cwd=self.without_source('aisle_filter')
        )
        self.assertRegex(said, r'\b[2-9]\d passed in')

    def test_installed_package_passes_its_tests_under_unittest(self) -> None:
        said = self.run_program(
            *('python', '-m', 'unittest'),
            cwd=self.without_source('even_spread'),
        )
        self.assertRegex(said, r'Ran [2-9]\d tests in')

    def test_next_steps_that_are_printed_work(self) -> None:
        said = self.run_program(
            *('ironic-ownership', 'plugin', 'new', 'policy', 'next_steps')
        )
        steps = said.partition('Next:\n')[2].splitlines()
        script = self.root / 'next-steps'
        script.write_text(
            '\n'.join(['set -e', *(s for s in steps if s.startswith('  '))])
        )
        installations.run('bash', script, cwd=self.root)
        (wheel,) = (self.root / 'ironic-ownership-next-steps').glob('*.whl')
        self.assertIn('ironic_ownership_next_steps-0.1.0', wheel.name)

    def test_plugin_is_listed_with_its_distribution(self) -> None:
        for name, (role, *_) in _MADE.items():
            listed = json.loads(
                self.run_program(
                    'ironic-ownership', role, 'list', '-f', 'json'
                )
            )
            (row,) = (row for row in listed if row['name'] == name)
            self.assertEqual(
                {
                    'kind': _KINDS[name],
                    'distribution': self.source(name).name,
                    'version': '0.1.0',
                    'status': 'ok',
                },
                {
                    key: row[key]
                    for key in ('kind', 'distribution', 'version', 'status')
                },
            )

    def test_plugin_passes_its_check_as_its_readme_says(self) -> None:
        for name, options in _CHECKED_WITH.items():
            readme = (self.source(name) / 'README.rst').read_text()
            for option in options[1:]:
                self.assertIn(f' --option {option.partition("=")[0]}=', readme)
            if name == 'one_file':
                status = self.long_check.wait(timeout=900)
                said = self.long_check.log.read_text()
                self.assertEqual(0, status, said)
            else:
                # Ends with 1, and so raises here, if a law is broken.
                said = installations.run(*self.check_of(name), cwd=self.root)
            passed = said.count(f'"{name}","pass"')
            self.assertGreater(passed, 15, said)

    def test_options_are_in_the_generated_sample(self) -> None:
        sample = self.run_program(
            'oslo-config-generator', '--namespace', 'ironic_ownership'
        )
        for line in (
            '[policy_aisle_filter]',
            '#values = <None>',
            '[backend_one_file]',
            '#path = /run/ironic-ownership/one_file.json',
        ):
            self.assertIn(f'\n{line}\n', sample)

    def test_plugins_work_once_the_configuration_names_them(self) -> None:
        config = self.root / 'service.conf'
        config.write_text(
            f'[DEFAULT]\nhost = rack1\nstate_path = {self.root}\n'
            '[ownership]\npolicies = aisle_filter, even_spread\n'
            'backend = one_file\n'
            '[policy_aisle_filter]\nvalues = b, a\n'
            f'[backend_one_file]\npath = {self.root}/members.json\n'
        )
        asked = ('ironic-ownership', '--config-file', config)
        self.run_program(
            *('ironic-ownership-dbsync', '--config-file', config, 'upgrade')
        )
        self.assertEqual(
            [],
            json.loads(
                self.run_program(*asked, 'member', 'list', '-f', 'json')
            ),
        )
        read = (
            'import sys; from ironic_ownership import conf, settings; '
            'read = settings.read(conf.new(sys.argv[1:], "x")); '
            'print(read.tuning.advertised)'
        )
        said = self.run_program(
            'python', '-c', read, f'--config-file={config}'
        )
        self.assertIn("('values', ('a', 'b'))", said)

    def test_name_of_an_installed_plugin_is_taken(self) -> None:
        before = _files(self.source('aisle_filter'))
        with self.assertRaisesRegex(AssertionError, 'is installed already'):
            self.run_program(
                *('ironic-ownership', 'plugin', 'new', 'policy'),
                *('aisle_filter', '--directory', self.root / 'again'),
            )
        self.assertFalse((self.root / 'again').exists())
        self.assertEqual(before, _files(self.source('aisle_filter')))


class RefusalTest(unittest.TestCase):
    """A refused request changes no file."""

    def setUp(self) -> None:
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def refuse(
        self, code: int, text: str, *words: str, directory: str = 'new'
    ) -> None:
        before = _files(self.root), sorted(self.root.rglob('*'))
        target = self.root / directory
        done = command_line.run(
            'plugin', 'new', *words, '--directory', str(target)
        )
        self.assertEqual((code, ''), (done.returncode, done.stdout), done)
        self.assertIn(text, done.stderr)
        self.assertNotIn('unexpected', done.stderr)
        self.assertEqual(
            before, (_files(self.root), sorted(self.root.rglob('*')))
        )

    def test_bad_name_is_wrong_use(self) -> None:
        for name in ('Rack', 'a-b', '../x', '', 'import x'):
            self.refuse(2, repr(name), 'policy', name)

    def test_kind_is_for_policies(self) -> None:
        self.refuse(2, '--kind', 'backend', 'x', '--kind', 'filter')

    def test_name_of_a_built_in_plugin_is_taken(self) -> None:
        for group, role in (
            (plugins.POLICIES, 'policy'),
            (plugins.BACKENDS, 'backend'),
        ):
            (name, *_) = (e.name for e in plugins.entry_points(group))
            self.refuse(1, 'installed already', role, name)

    def test_existing_directory_is_left_as_it_is(self) -> None:
        (self.root / 'full').mkdir()
        (self.root / 'full' / 'pyproject.toml').write_text('mine')
        (self.root / 'empty').mkdir()
        (self.root / 'file').write_text('mine')
        (self.root / 'link').symlink_to(self.root / 'nowhere')
        for name in ('full', 'empty', 'file', 'link'):
            self.refuse(1, 'exists', 'policy', 'x', directory=name)

    def test_directory_that_cannot_be_made_is_named(self) -> None:
        self.refuse(
            1, f'{self.root}/no/new', 'policy', 'x', directory='no/new'
        )

    def test_next_steps_are_told_to_a_person_only(self) -> None:
        done = command_line.run(
            *('plugin', 'new', 'backend', 'x'),
            *('--directory', str(self.root / 'one')),
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr), done)
        self.assertIn('Next:\n', done.stdout)
        self.assertIn(f'cd {self.root}/one\n', done.stdout)
        done = command_line.run(
            *('plugin', 'new', 'backend', 'x', '-f', 'json'),
            *('--directory', str(self.root / 'two')),
        )
        self.assertEqual(
            {
                'name': 'x',
                'kind': 'backend',
                'directory': f'{self.root}/two',
                'distribution': 'ironic-ownership-x',
                'module': 'ironic_ownership_x',
                'class': 'XBackend',
            },
            json.loads(done.stdout),
        )
        self.assertEqual(_files(self.root / 'one'), _files(self.root / 'two'))
