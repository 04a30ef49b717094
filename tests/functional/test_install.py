"""Building and installing, from everything that a user may have at hand."""

import pathlib
import shutil
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from importlib import metadata

import testtools

from tests.functional.support import installations

_OTHERS = ('console', 'ironic_middleware', 'plugin_kit')


class InstallTest(testtools.TestCase):
    """One clone is built once; each test looks at what came of it."""

    root: pathlib.Path
    clone: pathlib.Path
    sdist: pathlib.Path
    wheel: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix='ironic-ownership-'))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        cls.clone = cls.root / 'clone'
        installations.clone(cls.clone)
        cls.sdist, cls.wheel = cls._dist(
            cls.clone, 'build', '--installer', 'uv', '--outdir'
        )

    @classmethod
    def _dist(
        cls, source: pathlib.Path, *program: str
    ) -> tuple[pathlib.Path, pathlib.Path]:
        """Build the sdist of a source tree, and the wheel from that sdist.

        :param program: what builds them, by default the fastest.
        """
        target = pathlib.Path(tempfile.mkdtemp(dir=cls.root))
        installations.run(
            *(sys.executable, '-m'),
            *(program or ('uv', 'build', '--quiet', '--out-dir')),
            *(target, source),
            cwd=cls.root,
        )
        (sdist,), (wheel,) = target.glob('*.tar.gz'), target.glob('*.whl')
        return sdist, wheel

    def _built_from(self, source: pathlib.Path) -> pathlib.Path:
        target = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        return installations.wheel_of(source, target)

    def test_clone_without_tags_installs_as_the_sdist_does(self) -> None:
        wheel = self._built_from(self.clone)
        self.assertEqual(self.wheel.name, wheel.name)
        self.assertEqual(self._files(self.wheel), self._files(wheel))
        self.assertEqual(self._metadata(self.wheel), self._metadata(wheel))

    def test_archive_without_git_installs_with_the_next_version(self) -> None:
        source = self.root / 'archive'
        shutil.copytree(
            self.clone, source, ignore=shutil.ignore_patterns('.git')
        )
        wheel = self._built_from(source)
        # Of both, up to the number of commits since the last release.
        name, _, _ = self.wheel.name.partition('.dev')
        self.assertEqual(f'{name}.dev0', wheel.name.partition('-py3')[0])
        self.assertFalse(name.startswith('ironic_ownership-0.0'), name)
        self.assertEqual(self._code(self.wheel), self._code(wheel))
        driver = self._built_from(source / 'nova_driver')
        self.assertEqual(self._version(wheel), self._version(driver))

    def test_all_have_one_version_and_what_an_index_requires(self) -> None:
        with tarfile.open(self.sdist) as archive:
            archive.extractall(self.root / 'sdist', filter='data')
        (unpacked,) = (self.root / 'sdist').iterdir()
        driver = self._dist(self.clone / 'nova_driver')
        wheels = [self._built_from(unpacked / 'nova_driver'), driver[1]]
        wheels += map(installations.own_wheel, _OTHERS)
        self.assertEqual(
            {self._version(self.wheel)}, set(map(self._version, wheels))
        )
        installations.run(
            *(sys.executable, '-m', 'twine', 'check', '--strict'),
            *(self.sdist, *driver, self.wheel, *wheels[2:]),
            cwd=self.root,
        )

    def test_sdist_has_every_tracked_file(self) -> None:
        tracked = installations.run('git', 'ls-files', cwd=self.clone).split()
        with tarfile.open(self.sdist) as archive:
            packed = {name.partition('/')[2] for name in archive.getnames()}
        self.assertEqual(set(), set(tracked) - packed - {'.gitignore'})

    def test_wheel_has_the_package_and_what_operators_copy(self) -> None:
        files = self._files(self.wheel)
        tracked = installations.run(
            'git', 'ls-files', 'ironic_ownership', cwd=self.clone
        )
        self.assertEqual(set(), set(tracked.split()) - files)
        self.assertIn('ironic_ownership/py.typed', files)
        tops = {name.split('/')[0] for name in files}
        self.assertEqual(
            {'ironic_ownership'},
            {top for top in tops if not top.startswith('ironic_ownership-')},
        )
        shared = {name.partition('/share/')[2] for name in files}
        expected = {
            'ironic-ownership/ironic-ownership.conf.sample',
            'ironic-ownership/logrotate/ironic-ownership',
            'ironic-ownership/policy.yaml.sample',
            'ironic-ownership/systemd/ironic-ownership-api.service',
            'ironic-ownership/systemd/ironic-ownership-host.service',
            'ironic-ownership/sysusers/ironic-ownership.conf',
            'man/man1/ironic-ownership.1',
            'man/man8/ironic-ownership-host.8',
        }
        self.assertEqual(set(), expected - shared)

    def test_fresh_installation_runs_and_has_the_entry_points(self) -> None:
        programs = installations.fresh_environment(
            self.root / 'venv', self.wheel
        )
        project = tomllib.loads((self.clone / 'pyproject.toml').read_text())
        for program in project['project']['scripts']:
            said = installations.run(
                programs / program, '--help', cwd=self.root
            )
            self.assertIn('--config-file', said, program)
        said = installations.run(
            programs / 'ironic-ownership', '--version', cwd=self.root
        )
        self.assertIn(self._version(self.wheel), said)
        (installed,) = (self.root / 'venv').glob(
            'lib/*/site-packages/ironic_ownership-*.dist-info'
        )
        self.assertEqual(
            {
                (group, name)
                for group, entries in project['project'][
                    'entry-points'
                ].items()
                for name in entries
            },
            {
                (one.group, one.name)
                for one in metadata.Distribution.at(installed).entry_points
                if one.group != 'console_scripts'
            },
        )
        installations.pip(self.root / 'venv', 'check')

    @staticmethod
    def _version(wheel: pathlib.Path) -> str:
        return wheel.name.split('-')[1]

    @staticmethod
    def _metadata(wheel: pathlib.Path) -> str:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (
                name
                for name in archive.namelist()
                if name.endswith('.dist-info/METADATA')
            )
            return archive.read(name).decode()

    def _code(self, wheel: pathlib.Path) -> set[str]:
        files = self._files(wheel)
        return {f for f in files if f.startswith('ironic_ownership/')}

    @staticmethod
    def _files(wheel: pathlib.Path) -> set[str]:
        with zipfile.ZipFile(wheel) as archive:
            return {
                name
                for name in archive.namelist()
                # The record of the build itself.
                if not name.endswith(('/RECORD', '/direct_url.json'))
            }
