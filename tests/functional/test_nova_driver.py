"""The driver with a real Nova: its own tests, and earlier releases."""

from __future__ import annotations

import os
import pathlib
import subprocess

import fixtures
import testtools

from lab import nova, nova_environment, process, venvs
from tests.functional.support import databases, novas

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_DRIVER = _CHECKOUT / 'nova_driver'
_TRIED = ('34', '33')


class TestOfTheDriver(testtools.TestCase):
    def test_its_own_tests_pass_with_the_real_nova(self) -> None:
        for release in _TRIED:
            with self.subTest(release):
                self.run_own_tests(release)

    def run_own_tests(self, release: str) -> None:
        python = nova_environment.with_driver(release) / 'bin' / 'python'
        done = subprocess.run(
            [
                *(str(python), '-W', 'ignore', '-m', 'unittest', 'discover'),
                *('--top-level-directory', '.', 'tests'),
            ],
            cwd=_DRIVER,
            env={
                **os.environ,
                **dict([nova_environment.THREADS]),
                'PYTHONPATH': str(_DRIVER),
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(0, done.returncode, done.stderr[-8000:])
        self.assertRegex(done.stderr, r'Ran (9\d|1\d\d) tests')
        self.assertNotIn('skipped', done.stderr)


class TestReleases(novas.NovaTestCase):
    """nova-computes of earlier releases, in the cell of the latest one."""

    def of(self, release: str, host: str) -> nova.Compute:
        program = nova_environment.with_driver(release) / 'bin/nova-compute'
        return self.compute(host, 'ours', self.config, executable=program)

    def test_life_on_nova_33_with_native_threads_and_with_eventlet(
        self,
    ) -> None:
        """Two services share the nodes and boot; one takes over."""
        self.enrol(list(novas.GOLDEN))
        self.config = self.config_of_records(
            ownership={'policies': 'peer_list', 'recovery_delay': 1}
        )
        with fixtures.EnvironmentVariable(*nova_environment.THREADS):
            threads = self.of('33', 'host1').start()
        eventlet = self.of('33', 'host2').start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        served = {}
        for host in ('host1', 'host2'):
            node = min(n for n, h in novas.GOLDEN.items() if h == host)
            server, _ = self.boot(node)
            served[node] = server
        process.wait_for(
            lambda: self.on_record() == served, 'instances on record'
        )
        for node, server in served.items():
            self.delete_server(server, node)
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())
        # A service that is dead keeps the nodes that it knows as deployed.
        process.wait_for(lambda: not self.on_record(), 'ends on record')
        eventlet.freeze()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        eventlet.thaw()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        for one, warned in ((threads, False), (eventlet, True)):
            # All internals of Nova that save work are there.
            self.assertEqual([], one.lines('each pass updates all nodes'))
            self.assertEqual(warned, bool(one.lines('runs on eventlet')))

    def on_record(self) -> dict[str, str]:
        return {
            row.uuid: row.instance_uuid
            for row in self.records.compute_nodes()
            if row.instance_uuid
        }

    def test_earlier_releases_are_refused(self) -> None:
        """Its modules, with the libraries of a later one."""
        venv = nova_environment.with_driver('33')
        modules = databases.temporary_directory('nova-refused')
        venvs.install(
            *(venv, '--no-deps', '--target', str(modules)),
            f'nova=={nova_environment.REFUSED}',
        )
        one = self.compute(
            *('host31', 'ours', self.config_of_records()),
            executable=venv / 'bin' / 'ironic-ownership-nova-compute',
        )
        with fixtures.EnvironmentVariable('PYTHONPATH', str(modules)):
            one.begin()
        self.assertNotEqual(0, one.process.wait(timeout=180))
        refusal = (
            'needs Nova 33 or later, where nova-compute can run with native '
            f'threads; this is {nova_environment.REFUSED}'
        )
        self.assertTrue(one.lines(refusal), one.lines())
