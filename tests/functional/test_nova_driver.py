"""Real nova-computes with the driver of this repository."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import testtools

from lab import nova, nova_environment, nova_schema
from tests.functional.support import novas

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_DRIVER = _CHECKOUT / 'nova_driver'
_RECORDS = 'ironic_ownership'
_OWN = """\
[database]
connection = {connection}?charset=utf8mb4
[ownership]
refresh_interval = 2
[membership]
heartbeat_interval = 1
member_ttl = 6
[nova]
cell_schema = {cell}
"""


class TestOfTheDriver(testtools.TestCase):
    def test_its_own_tests_pass_with_the_real_nova(self) -> None:
        python = nova_environment.with_driver() / 'bin' / 'python'
        done = subprocess.run(
            [
                *(str(python), '-W', 'ignore', '-m', 'unittest', 'discover'),
                *('--top-level-directory', '.', 'tests'),
            ],
            cwd=_DRIVER,
            env={**os.environ, 'PYTHONPATH': str(_DRIVER)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(0, done.returncode, done.stderr[-8000:])
        self.assertRegex(done.stderr, r'Ran 1\d\d tests')
        self.assertNotIn('skipped', done.stderr)


class DriverCase(novas.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.records = self.cloud.database
        self.records.query(f'DROP DATABASE IF EXISTS {_RECORDS}')
        self.records.create_database(_RECORDS)
        self.own = self.cloud.directory / 'ironic-ownership.conf'
        self.own.write_text(
            _OWN.format(
                connection=self.records.url(_RECORDS), cell=nova_schema.CELL1
            )
        )
        subprocess.run(
            [
                *(sys.executable, '-m', 'ironic_ownership.cmd.dbsync'),
                *('--config-file', str(self.own), 'upgrade'),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )

    def ours(self, host: str, **options: object) -> nova.Compute:
        return self.compute(
            host,
            'ours',
            {
                'DEFAULT': {
                    'default_log_levels': 'nova=INFO,nova.service=DEBUG,'
                    'oslo_service=INFO,keystoneauth=WARN,urllib3=WARN'
                },
                'ironic_ownership': {'config_file': self.own, **options},
            },
        )

    def owners(self) -> dict[str, str]:
        return dict(
            self.records.query(
                f'SELECT uuid, host FROM {_RECORDS}.compute_nodes'
            )
        )


class TestDriver(DriverCase):
    def test_services_share_nodes_and_take_over_those_of_a_dead_one(
        self,
    ) -> None:
        self.enrol(list(novas.GOLDEN))
        one, two = self.ours('host1'), self.ours('host2')
        one.start()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        two.start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        self.assertEqual(novas.GOLDEN, self.owners())
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())
        two.kill()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())

    def test_second_process_of_a_host_is_its_standby(self) -> None:
        self.enrol(list(novas.GOLDEN))
        active, standby = self.ours('host1'), self.ours('host1')
        active.start()
        standby.begin()
        standby.process.wait_until(
            lambda: bool(standby.lines('waiting to become active: standby')),
            'standby',
            timeout=180,
        )
        self.assertFalse(standby.is_ready)
        active.freeze()
        standby.wait()
        # The first one shares its queue with the second one now.
        active.thaw()
        self.assertEqual(1, active.process.wait(timeout=60))
        self.assertTrue(active.lines('this process ends'))
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))

    def test_service_without_message_bus_gives_up_its_nodes(self) -> None:
        self.enrol(list(novas.GOLDEN))
        one = self.ours(
            'host1', conductor_check_interval=2, conductor_failures=2
        )
        one.start()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
        self.cloud.bus.freeze()
        self.addCleanup(self.cloud.bus.thaw)
        one.process.wait_until(
            lambda: bool(one.lines('this service gives up its nodes')),
            'resignation',
            timeout=180,
        )
        self.cloud.bus.thaw()
        one.process.wait_until(
            lambda: len(one.lines('host1 is active')) == 2,
            'return of the service',
            timeout=180,
        )
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
