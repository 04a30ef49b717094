"""Files for packagers: manual pages, the container file, Python versions.

What they name has to exist. An image is not built here.
"""

from __future__ import annotations

import re
import unittest

import yaml
from oslo_config import iniparser

from tests.unit.checkout import ROOT, pyproject

_ETC = ROOT / 'etc' / 'ironic_ownership'
_FILE = _ETC / 'container' / 'Containerfile'


class TestManualPages(unittest.TestCase):
    """``tools/genman`` writes them."""

    def page(self, program: str) -> str:
        (path,) = (ROOT / 'doc' / 'man').glob(f'{program}.[18]')
        return path.read_text().replace('\\-', '-').replace('\\', '')

    def test_every_program_has_a_page_that_is_installed(self) -> None:
        project = pyproject()
        programs = set(project['project']['scripts'])
        pages = {p.stem for p in (ROOT / 'doc' / 'man').iterdir()}
        self.assertEqual(programs, pages)
        data = project['tool']['setuptools']['data-files']
        for section in '18':
            self.assertEqual(
                [f'doc/man/*.{section}'], data[f'share/man/man{section}']
            )

    def test_every_command_and_its_options_are_described(self) -> None:
        page = ' '.join(self.page('ironic-ownership').split())
        for directory in ('.', 'nova_driver', 'plugin_kit'):
            entry_points = pyproject(directory)['project']['entry-points']
            for name in entry_points['ironic_ownership.cli']:
                self.assertIn(name, page.lower(), 'run tools/genman')
        for option in ('--new-services', '--skip-invalid', '--request-id'):
            self.assertTrue(option in page, f'{option}: run tools/genman')


class TestFilesForDeployments(unittest.TestCase):
    """Files that operators of kolla, Helm and packages copy."""

    def test_each_file_is_installed_and_has_its_format(self) -> None:
        data = pyproject()['tool']['setuptools']['data-files']
        listed = {name for names in data.values() for name in names}
        read = {'.conf': _sections, '.yml': yaml.safe_load}
        read['.yaml'] = read['.yml']
        seen = 0
        self.assertIn('etc/ironic_ownership/examples/*', listed)
        for name in ('kayobe', 'kolla', 'openstack-helm', 'packages'):
            self.assertIn(f'etc/ironic_ownership/{name}/*', listed)
            for path in (_ETC / name).iterdir():
                if path.suffix in read:
                    seen += 1
                    self.assertTrue(read[path.suffix](path.read_text()), path)
        self.assertEqual(7, seen)

    def test_files_of_all_ways_have_the_same_options(self) -> None:
        secret = yaml.safe_load(
            (_ETC / 'openstack-helm' / 'secret.yaml').read_text()
        )
        (helm,) = secret['stringData'].values()
        beside = _sections((_ETC / 'examples/beside-nova.conf').read_text())
        kolla = _sections(
            (_ETC / 'kolla/nova-compute-ironic.conf').read_text()
        )
        self.assertEqual(set(beside), set(_sections(helm)))
        self.assertLess(set(beside), set(kolla))

    def test_launcher_of_the_unit_is_a_program_of_the_driver(self) -> None:
        unit = (_ETC / 'packages/nova-compute.service.d.conf').read_text()
        (program,) = pyproject('nova_driver')['project']['scripts']
        self.assertIn(f'/bin/{program} ', unit)


def _sections(text: str) -> list[tuple[str, str]]:
    """Return the options of a configuration, as OpenStack reads it."""
    found: list[tuple[str, str]] = []
    sections = ['']
    parser = iniparser.BaseParser()
    parser.new_section = sections.append
    parser.assignment = lambda key, value: found.append((sections[-1], key))
    parser.parse(text.splitlines())
    return found


class TestContainerFile(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        text = _FILE.read_text().replace('\\\n', ' ')
        self.lines = [
            line
            for line in text.splitlines()
            if line and not line.startswith('#')
        ]

    def values(self, instruction: str) -> list[str]:
        return [
            line.partition(' ')[2].strip()
            for line in self.lines
            if line.startswith(f'{instruction} ')
        ]

    def test_services_do_not_run_as_root(self) -> None:
        (user,) = self.values('USER')
        uid, _, gid = user.partition(':')
        self.assertTrue(int(uid) > 0 and int(gid) > 0)
        made = ' '.join(self.values('RUN'))
        self.assertIn(f'--uid {uid} --gid {gid}', made)
        self.assertIn(f'--owner={uid} --group={gid}', made)
        # Nothing is installed or changed after it.
        names = [line.split()[0] for line in self.lines]
        self.assertEqual(
            ['USER', 'WORKDIR', 'STOPSIGNAL', 'CMD'],
            names[names.index('USER') :],
        )

    def test_what_it_names_exists(self) -> None:
        project = pyproject()['project']
        (command,) = self.values('CMD')
        program, *words = re.findall('"([^"]+)"', command)
        self.assertIn(program, project['scripts'])
        self.assertEqual('--config-file', words[0])
        (extras,) = re.findall(
            r'/source\[([^]]+)\]', ' '.join(self.values('RUN'))
        )
        known = set(project['optional-dependencies'])
        # Built against a library of the system, and for a command of users.
        self.assertEqual(
            known - {'journal', 'osc', 'tooz'}, set(extras.split(','))
        )
        self.assertIn(' /source/nova_driver', self.values('RUN')[1])
        self.assertTrue((ROOT / 'nova_driver' / 'pyproject.toml').is_file())
        (own, _) = self.values('COPY')
        self.assertEqual('. /source', own)

    def test_its_python_is_a_supported_one(self) -> None:
        versions = {
            re.findall(r'python:(3\.\d+)-', base)[0]
            for base in self.values('FROM')
        }
        self.assertEqual(1, len(versions))
        self.assertLessEqual(versions, _supported())


def _supported() -> set[str]:
    return {
        text.rpartition(' ')[2]
        for text in pyproject()['project']['classifiers']
        if re.search(r'Python :: 3\.\d+$', text)
    }


class TestPythonVersions(unittest.TestCase):
    def test_all_places_name_the_same_versions(self) -> None:
        found = sorted(_supported(), key=lambda v: int(v.split('.')[1]))
        self.assertEqual(['3.11', '3.12', '3.13'], found)
        project = pyproject()
        self.assertEqual(
            f'>={found[0]}', project['project']['requires-python']
        )
        ruff = project['tool']['ruff']['target-version']
        self.assertEqual(f'py{found[0].replace(".", "")}', ruff)
        self.assertEqual(found[0], project['tool']['mypy']['python_version'])
        environments = (ROOT / 'tox.ini').read_text()
        names = ','.join(f'py{v.replace(".", "")}' for v in found)
        self.assertIn(f'envlist = {names},', environments)
