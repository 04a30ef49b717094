"""Packages of plugins, as a third party has them.

Those of ``plugins_contrib`` and those that ``plugin new`` writes are installed
with our own packages into one environment; nothing here runs in the checkout.
One of the new ones is installed, tested and checked by the steps that are
printed with it.
"""

from __future__ import annotations

import collections
import json
import pathlib
import shutil
import tempfile
import tomllib

from lab import process, venvs
from lab.zookeeper import ZooKeeper
from tests.functional.support import hosts, installations

_STEPS = 'aisle_filter'
"""Made by ``plugin new``, and installed as its author does it."""

_MADE = {
    _STEPS: ('policy',),
    'even_spread': ('policy', '--kind', 'assigner'),
    'one_file': ('backend',),
}
"""What ``plugin new`` is asked for, by name."""

_CONTRIB = installations.CHECKOUT / 'plugins_contrib'
_KINDS = {
    'aisle_filter': 'filter',
    'bounded_ring': 'assigner',
    'even_spread': 'assigner',
    'kazoo_membership': 'backend',
    'one_file': 'backend',
    'postgresql_membership': 'backend',
    'rack_affinity': 'filter',
    'resource_class': 'filter',
    'weighted_ring': 'assigner',
    'zone_spread': 'assigner',
}
_STESTR = 'stestr', 'run', '--serial'
_UNITTEST = 'python', '-m', 'unittest'
_RUNNERS = {
    'bounded_ring': _UNITTEST,
    'even_spread': _UNITTEST,
    'rack_affinity': ('pytest',),
    'resource_class': ('pytest',),
    'weighted_ring': _UNITTEST,
    'zone_spread': _UNITTEST,
}
"""How the tests of policies are run. Those of backends mostly wait, and those
of :data:`_STEPS` are one of its steps."""

_SECTIONS = """
[DEFAULT]
host = service1
state_path = {root}
[ownership]
policies = resource_class, rack_affinity, bounded_ring
backend = kazoo_membership
[policy_rack_affinity]
places = building=north, rack=r1, rack=r2
source = extra
[policy_resource_class]
resource_classes = gold, silver
[backend_kazoo_membership]
servers = 127.0.0.1:{port}
path = /validated
username = zookeeper
password = secret
"""


class PackagesTest(installations.InstalledCase, hosts.HostsTestCase):
    """One environment with all of them, one ZooKeeper, one Ironic."""

    rings = frozenset({'bounded_ring'})
    zookeeper: ZooKeeper
    waiting: dict[str, process.Process]
    check: process.Process
    stepped: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        shutil.copytree(
            _CONTRIB,
            cls.root / _CONTRIB.name,
            ignore=shutil.ignore_patterns('*.egg-info', 'build'),
        )
        cls.bin = installations.fresh_environment(
            cls.root / 'venv',
            *map(installations.own_wheel, ('.', 'plugin_kit')),
            *('hypothesis', 'pip', 'pytest', 'setuptools>=77', 'stestr'),
        )
        said = {
            name: cls.run_program(
                'ironic-ownership', 'plugin', 'new', words[0], name, *words[1:]
            )
            for name, words in _MADE.items()
        }
        venvs.install(
            cls.root / 'venv',
            '--no-build-isolation',
            *(str(cls.source(name)) for name in _KINDS if name != _STEPS),
        )
        cls.carry_out(said[_STEPS])
        (cls.root / 'zookeeper').mkdir()
        cls.zookeeper = ZooKeeper(cls.root / 'zookeeper')
        cls.addClassCleanup(cls.zookeeper.stop)
        cls.zookeeper.start()
        # What mostly waits begins now; the tests before its own run meanwhile.
        cls.waiting = {
            name: cls.begin(name, cls.only_tests(name), *_STESTR)
            for name in _KINDS
            if name not in (*_RUNNERS, _STEPS)
        }
        cls.check = cls.begin(
            *('check', cls.root, 'ironic-ownership', 'plugin', 'check'),
            *('one_file', '--option', f'path={cls.root}/checked.json'),
            # Time really passes, on a busy machine.
            *('-f', 'csv', '--member-ttl', '8'),
            *('-c', 'plugin', '-c', 'result', '-c', 'law', '-c', 'detail'),
        )

    @classmethod
    def begin(
        cls, name: str, cwd: pathlib.Path, program: str, *words: str
    ) -> process.Process:
        started = process.Process(
            [str(cls.bin / program), *words], cls.root / f'{name}.log', cwd=cwd
        ).start()
        cls.addClassCleanup(started.kill)
        return started

    @classmethod
    def carry_out(cls, said: str) -> None:
        """Carry out the steps that are printed with a new package."""
        steps = said.partition('Next:\n')[2].splitlines()
        script = cls.root / 'next-steps'
        script.write_text(
            '\n'.join(['set -e', *(s for s in steps if s.startswith('  '))])
        )
        cls.stepped = installations.run('bash', script, cwd=cls.root)

    @classmethod
    def source(cls, name: str) -> pathlib.Path:
        """Return the directory of a package."""
        if name in _MADE:
            return cls.root / f'ironic-ownership-{name.replace("_", "-")}'
        return cls.root / _CONTRIB.name / name

    @classmethod
    def only_tests(cls, name: str) -> pathlib.Path:
        """Return a directory with the tests of a package, and no source."""
        target = pathlib.Path(tempfile.mkdtemp(dir=cls.root))
        shutil.copytree(cls.source(name) / 'tests', target / 'tests')
        for file in ('pyproject.toml', '.stestr.conf'):
            if (cls.source(name) / file).exists():
                shutil.copy(cls.source(name) / file, target)
        return target

    def check_passed(self, name: str, said: str) -> None:
        self.assertRegex(
            said,
            r'(?m)^ - Passed: [2-9]\d$|\b[2-9]\d passed in|'
            r'Ran [2-9]\d tests in',
            name,
        )
        self.assertNotRegex(
            said, r'(Failed|Skipped|Unexpected Success): [1-9]', name
        )
        self.assertNotRegex(said, r'\d (failed|skipped|error)|skipped=', name)

    def test_each_passes_its_tests_without_its_source(self) -> None:
        for name, runner in _RUNNERS.items():
            self.check_passed(
                name, self.run_program(*runner, cwd=self.only_tests(name))
            )
        # And the one that was made by the steps that are printed.
        self.check_passed(_STEPS, self.stepped)
        (wheel,) = self.source(_STEPS).glob('*.whl')
        self.assertIn('ironic_ownership_aisle_filter-0.1.0', wheel.name)

    def test_tests_of_backends_pass_and_so_does_the_check(self) -> None:
        for name, tests in self.waiting.items():
            self.assertEqual(0, tests.wait(timeout=900), tests.log.read_text())
            self.check_passed(name, tests.log.read_text())
        status, said = self.check.wait(timeout=900), self.check.log.read_text()
        self.assertEqual(0, status, said)
        self.assertGreater(said.count('"pass"'), 25, said)

    def test_plugins_are_listed_with_distribution_and_version(self) -> None:
        listed = {
            row['name']: row
            for role in ('policy', 'backend')
            for row in json.loads(
                self.run_program(
                    'ironic-ownership', role, 'list', '-f', 'json'
                )
            )
        }
        contrib = {p.parent.name for p in _CONTRIB.glob('*/pyproject.toml')}
        self.assertEqual(contrib | {*_MADE}, {*_KINDS})
        for name, kind in _KINDS.items():
            text = (self.source(name) / 'pyproject.toml').read_text()
            project = tomllib.loads(text)['project']
            self.assertEqual(
                (kind, 'ok', project['name'], project['version']),
                tuple(
                    listed[name][key]
                    for key in ('kind', 'status', 'distribution', 'version')
                ),
            )

    def test_new_plugins_work_once_the_configuration_names_them(self) -> None:
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
        said = self.run_program(*asked, 'member', 'list', '-f', 'json')
        self.assertEqual([], json.loads(said))
        read = (
            'import sys; from ironic_ownership import settings; '
            'from ironic_ownership.conf.configuration import new; '
            'read = settings.read(new(sys.argv[1:], "x")); '
            'print(read.tuning.advertised)'
        )
        said = self.run_program(
            'python', '-c', read, f'--config-file={config}'
        )
        self.assertIn("('values', ('a', 'b'))", said)

    def test_validator_takes_what_is_right_and_refuses_the_rest(self) -> None:
        validate = (
            *('oslo-config-validator', '--fatal-warnings'),
            *('--namespace', 'ironic_ownership', '--input-file'),
        )
        config = self.root / 'validated.conf'
        config.write_text(
            _SECTIONS.format(root=self.root, port=self.zookeeper.port)
        )
        self.run_program(*validate, config)
        with config.open('a') as file:
            file.write('[policy_rack_affinity]\nplace = rack=r1\n')
        with self.assertRaisesRegex(AssertionError, 'rack_affinity/place '):
            self.run_program(*validate, config)

    def test_hosts_decide_with_all_of_them_on_a_real_ironic(self) -> None:
        north = self.enrol_in('north', 20)
        south = self.enrol_in('south', 3)
        deployment = self.deployment
        deployment.command = (str(self.bin / 'ironic-ownership-host'),)
        for name in ('service1', 'service2'):
            deployment.start(
                name,
                'rack_affinity, bounded_ring',
                policy_rack_affinity={
                    'places': 'building=north, rack=r1, rack=r2',
                    'source': 'extra',
                },
                ownership={'backend': 'kazoo_membership'},
                backend_kazoo_membership={
                    'servers': f'127.0.0.1:{self.zookeeper.port}',
                    'path': f'/{deployment.directory.name}',
                },
            )

        def shared() -> bool:
            owners = deployment.owners()
            loads = collections.Counter(owners.get(uuid) for uuid in north)
            return (
                set(loads) == {'service1', 'service2'}
                and max(loads.values()) <= 11  # 1.05 times 10, rounded up
            )

        deployment.wait_until(shared, 'sharing of the nodes in the north')
        self.assertEqual(
            {None}, {deployment.owners().get(uuid) for uuid in south}
        )

    def enrol_in(self, building: str, count: int) -> list[str]:
        """Enrol nodes that stand in a building."""
        uuids = self.enrolment.enrol(
            count, same_every_time=True, prefix=building
        )
        for number, uuid in enumerate(uuids):
            self.server.request(
                'PATCH',
                f'/nodes/{uuid}',
                json=[
                    {'op': 'add', 'path': f'/extra/{key}', 'value': value}
                    for key, value in (
                        ('building', building),
                        ('rack', f'r{number % 2 + 1}'),
                    )
                ],
            )
        return uuids
