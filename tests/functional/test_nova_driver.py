"""Real nova-computes with the driver of this repository."""

from __future__ import annotations

import os
import pathlib
import subprocess

import fixtures
import testtools

from lab import nova, nova_environment, process
from tests.functional.support import novas

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
                **nova_environment.THREADS,
                'PYTHONPATH': str(_DRIVER),
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(0, done.returncode, done.stderr[-8000:])
        self.assertRegex(done.stderr, r'Ran 1\d\d tests')
        self.assertNotIn('skipped', done.stderr)


class TestDriver(novas.NovaTestCase):
    """One service on the nodes of the golden vectors.

    Two that share them are in ``test_nova_ours``.
    """

    def ours(self, **options: object) -> nova.Compute:
        own = self.config_of_records(ownership={'policies': 'peer_list'})
        own = {'ironic_ownership': {**own['ironic_ownership'], **options}}
        logs = 'nova=INFO,nova.service=DEBUG,oslo_service=INFO'
        self.config = {'DEFAULT': {'default_log_levels': logs}, **own}
        return self.compute('host1', 'ours', self.config)

    def test_second_process_of_a_host_is_its_standby(self) -> None:
        self.enrol(list(novas.GOLDEN))
        active = self.ours()
        standby = self.compute('host1', 'ours', self.config)
        active.start()
        standby.begin()
        standby.process.wait_until(
            lambda: bool(standby.lines('waiting to become active: standby')),
            'standby',
            timeout=180,
        )
        self.assertFalse(standby.is_ready)
        servers = [self.boot()[0] for _ in range(4)]
        # Their power is on from then on, as on real hardware.
        self.reboot(servers)
        before, during, *after = servers
        self.api.reboot(before)
        active.freeze()
        self.api.reboot(during)
        standby.wait()
        # The first one shares its queue with the second one now, and each
        # of them receives one of two requests.
        for server in after:
            self.api.reboot(server)
        active.thaw()
        self.assertEqual(1, active.process.wait(timeout=180))
        self.assertTrue(active.lines('this process ends'))
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        # Each has succeeded, or has failed in Nova's own way.
        for server in servers:
            self.api.wait_for_server(server, 'ACTIVE')
        process.wait_for(lambda: not self.unfinished(), 'results of actions')
        self.reboot(servers)

    def reboot(self, servers: list[str]) -> None:
        for server in servers:
            self.api.reboot(server)
        for server in servers:
            self.api.wait_for_server(server, 'ACTIVE')

    def unfinished(self) -> list[dict[str, object]]:
        """Return the events of actions that have no result."""
        return self.cloud.rows(
            'event', 'instance_actions_events WHERE result IS NULL'
        )

    def test_service_without_message_bus_gives_up_its_nodes(self) -> None:
        self.enrol(list(novas.GOLDEN))
        one = self.ours(conductor_check_interval=2, conductor_failures=2)
        one.start()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        # Another time than one at which a busy conductor was late.
        before = len(one.lines('this service gives up its nodes'))
        self.cloud.bus.freeze()
        self.addCleanup(self.cloud.bus.thaw)
        one.process.wait_until(
            lambda: len(one.lines('this service gives up its nodes')) > before,
            'resignation',
            timeout=180,
        )
        active = len(one.lines('host1 is active'))
        self.cloud.bus.thaw()
        one.process.wait_until(
            lambda: len(one.lines('host1 is active')) > active,
            'return of the service',
            timeout=180,
        )
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))


class TestReleases(novas.NovaTestCase):
    """nova-computes of earlier releases, in the cell of the latest one."""

    def of(self, release: str, host: str) -> nova.Compute:
        config = self.config_of_records(ownership={'policies': 'peer_list'})
        program = nova_environment.with_driver(release) / 'bin/nova-compute'
        return self.compute(host, 'ours', config, executable=program)

    def test_life_on_nova_33_with_native_threads(self) -> None:
        self.enrol(list(novas.GOLDEN))
        for name, value in nova_environment.THREADS.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        one = self.of('33', 'host1').start()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        server, node = self.boot()
        process.wait_for(
            lambda: self.on_record() == {node: server}, 'instance on record'
        )
        self.delete_server(server, node)
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())
        # All internals of Nova that save work are there.
        self.assertEqual([], one.lines('each pass updates all nodes'))

    def on_record(self) -> dict[str, str]:
        return {
            row.uuid: row.instance_uuid
            for row in self.records.compute_nodes()
            if row.instance_uuid
        }

    def test_eventlet_and_earlier_releases_are_refused(self) -> None:
        refused = {
            self.of('33', 'host33'): 'Set OS_NOVA_DISABLE_EVENTLET_PATCHING',
            self.of('31', 'host31'): 'needs Nova 33 or later',
        }
        for one in refused:
            one.begin()
        for one, words in refused.items():
            self.assertNotEqual(0, one.process.wait(timeout=180))
            self.assertTrue(one.lines(words), one.lines())
