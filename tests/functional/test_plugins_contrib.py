"""The packages in ``plugins_contrib``, as a third party has them.

Each is built as a wheel and installed beside our wheel into an environment of
its own; nothing here runs in the checkout.
"""

from __future__ import annotations

import collections
import json
import pathlib
import shutil
import tempfile
import tomllib

from lab import process
from lab.zookeeper import ZooKeeper
from tests.functional.support import hosts, installations

_SOURCES = installations.CHECKOUT / 'plugins_contrib'
_NAMES = sorted(path.parent.name for path in _SOURCES.glob('*/pyproject.toml'))
_KINDS = {
    'bounded_ring': 'assigner',
    'kazoo_membership': 'backend',
    'postgresql_membership': 'backend',
    'rack_affinity': 'filter',
    'resource_class': 'filter',
    'weighted_ring': 'assigner',
    'zone_spread': 'assigner',
}
_OPTIONS = {
    'bounded_ring': (),
    'rack_affinity': ('--option', 'places=rack=rack1, building=b1'),
    'resource_class': ('--option', 'resource_classes=gpu'),
}
_SECTIONS = """
[DEFAULT]
host = service1
state_path = {root}
[ownership]
policies = resource_class, rack_affinity, bounded_ring
backend = kazoo_membership
[policy_rack_affinity]
places = building=north, rack=r1, rack=r2
source = {source}
[policy_resource_class]
resource_classes = gold, silver
[backend_kazoo_membership]
servers = 127.0.0.1:{port}
path = /validated
username = zookeeper
password = secret
"""


def _metadata(name: str) -> dict[str, str]:
    text = (_SOURCES / name / 'pyproject.toml').read_text()
    project: dict[str, str] = tomllib.loads(text)['project']
    return project


class ContribTest(installations.InstalledCase, hosts.HostsTestCase):
    """One environment with all of them, one ZooKeeper, one Ironic."""

    rings = frozenset({'bounded_ring'})
    zookeeper: ZooKeeper
    long_check: process.Process
    postgresql: process.Process

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        wheels = installations.own_wheels(cls.root)
        for name in _NAMES:
            # setuptools leaves its files beside what it builds.
            source, target = cls.root / name, cls.root / f'wheel-{name}'
            shutil.copytree(_SOURCES / name, source)
            target.mkdir()
            wheels.append(installations.wheel_of(source, target))
        cls.bin = installations.fresh_environment(
            cls.root / 'venv', *wheels, 'hypothesis', 'pytest', 'stestr'
        )
        (cls.root / 'zookeeper').mkdir()
        cls.zookeeper = ZooKeeper(cls.root / 'zookeeper')
        cls.addClassCleanup(cls.zookeeper.stop)
        cls.zookeeper.start()
        cls.begin_long_check()
        cls.begin_postgresql()

    @classmethod
    def begin_long_check(cls) -> None:
        """Begin what mostly waits; the other tests run meanwhile."""
        cls.long_check = process.Process(
            [
                *(str(cls.bin / 'ironic-ownership'), 'plugin', 'check'),
                *('kazoo_membership', '-f', 'csv'),
                # Time really passes, and the other tests run meanwhile.
                *('--member-ttl', '15'),
                *('--option', f'servers=127.0.0.1:{cls.zookeeper.port}'),
                *('--option', 'path=/checked'),
                *('-c', 'plugin', '-c', 'law', '-c', 'result', '-c', 'detail'),
            ],
            cls.root / 'check.log',
            cwd=cls.root,
        ).start()
        cls.addClassCleanup(cls.long_check.kill)

    @classmethod
    def begin_postgresql(cls) -> None:
        """Begin the tests of a backend, which mostly wait as well."""
        cls.postgresql = process.Process(
            [str(cls.bin / 'stestr'), 'run', '--concurrency', '2'],
            cls.root / 'postgresql.log',
            cwd=cls.only_tests('postgresql_membership'),
        ).start()
        cls.addClassCleanup(cls.postgresql.kill)

    @classmethod
    def only_tests(cls, name: str) -> pathlib.Path:
        """Return a directory with the tests of a package and nothing else."""
        target = pathlib.Path(tempfile.mkdtemp(dir=cls.root))
        shutil.copytree(_SOURCES / name / 'tests', target / 'tests')
        shutil.copy(_SOURCES / name / 'pyproject.toml', target)
        return target

    def configuration(self, source: str = 'extra') -> pathlib.Path:
        """Return a file that selects all four."""
        config = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / 'all.conf'
        config.write_text(
            _SECTIONS.format(
                root=self.root, source=source, port=self.zookeeper.port
            )
        )
        return config

    def passes_under_stestr(self, name: str) -> None:
        self.check_passed(
            name,
            self.run_program(
                *('stestr', 'run', '--concurrency', '2'),
                cwd=self.only_tests(name),
            ),
        )

    def check_passed(self, name: str, said: str) -> None:
        self.assertRegex(said, r'(?m)^ - Passed: [2-9]\d$', name)
        for other in ('Failed', 'Skipped', 'Unexpected Success'):
            self.assertRegex(said, rf'(?m)^ - {other}: 0$', name)

    def test_assigners_pass_their_tests_under_stestr(self) -> None:
        for name, kind in _KINDS.items():
            if kind == 'assigner':
                self.passes_under_stestr(name)

    def test_backend_passes_its_tests_under_stestr(self) -> None:
        self.passes_under_stestr('kazoo_membership')

    def test_backend_in_postgresql_passes_its_tests(self) -> None:
        self.assertEqual(0, self.postgresql.wait(timeout=900))
        self.check_passed(
            'postgresql_membership', self.postgresql.log.read_text()
        )

    def test_filters_pass_their_tests_under_pytest(self) -> None:
        for name in ('rack_affinity', 'resource_class'):
            said = self.run_program('pytest', cwd=self.only_tests(name))
            self.assertRegex(said, r'\b[2-9]\d passed', name)
            self.assertNotRegex(said, r'failed|skipped|error', name)

    def test_policies_pass_the_check_of_plugins(self) -> None:
        for name, options in _OPTIONS.items():
            # Ends with 1, and so raises here, if a law is broken.
            said = self.run_program(
                *('ironic-ownership', 'plugin', 'check', name, *options),
                *('-f', 'csv', '-c', 'plugin', '-c', 'result'),
            )
            self.assertGreater(said.count(f'"{name}","pass"'), 15, said)

    def test_waiting_check_of_plugins_passes_the_backend(self) -> None:
        status = self.long_check.wait(timeout=900)
        said = self.long_check.log.read_text()
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
        self.assertEqual(set(_NAMES), set(_KINDS))
        for name in _NAMES:
            metadata = _metadata(name)
            self.assertEqual(
                (
                    *(_KINDS[name], 'ok'),
                    *(metadata['name'], metadata['version']),
                ),
                tuple(
                    listed[name][key]
                    for key in ('kind', 'status', 'distribution', 'version')
                ),
            )

    def test_options_are_in_the_generated_sample(self) -> None:
        sample = self.run_program(
            'oslo-config-generator', '--namespace', 'ironic_ownership'
        )
        for lines in (
            '[policy_rack_affinity]',
            '#places = <None>',
            '#source = properties',
            '[policy_resource_class]',
            '#resource_classes = <None>',
            '[backend_kazoo_membership]',
            '#servers = <None>',
            '#path = /ironic-ownership',
            '#password = <None>',
        ):
            self.assertIn(f'\n{lines}\n', sample)

    def test_validator_takes_what_is_right_and_refuses_the_rest(self) -> None:
        validate = (
            *('oslo-config-validator', '--fatal-warnings'),
            *('--namespace', 'ironic_ownership', '--input-file'),
        )
        config = self.configuration()
        self.run_program(*validate, config)
        with config.open('a') as file:
            file.write('[policy_rack_affinity]\nplace = rack=r1\n')
        with self.assertRaisesRegex(AssertionError, 'rack_affinity/place '):
            self.run_program(*validate, config)

    def test_faults_of_their_options_are_told_all_at_once(self) -> None:
        config = self.configuration(source='nowhere')
        with config.open('a') as file:
            file.write('[policy_resource_class]\nresource_classes =\n')
        with self.assertRaises(AssertionError) as caught:
            self.run_program('ironic-ownership-host', '--config-file', config)
        for word in ('nowhere', 'resource_classes names no class'):
            self.assertIn(word, str(caught.exception))

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
