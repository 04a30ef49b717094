"""Faults under real nova-computes with the driver of this project.

One deployment for many faults, because its start takes longer than each of
them. An observer reads Nova's tables, Placement and Ironic all the time.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from lab import nova, process, proxy
from tests.functional.support import cell_laws, novas

_PROGRAM = pathlib.Path(cell_laws.__file__).with_name('nova_interrupted.py')
_DEPLOYED = '00000000-0000-0000-0000-000000000001'
"""A node of host2."""
_MOVING = ' moving from '
"""Logged by Nova when it takes the row of another service."""


def _unlimited(config: nova.Sections) -> nova.Sections:
    """Return a configuration of a service that never gives up its nodes."""
    own = {**config['ironic_ownership'], 'conductor_failures': 0}
    return {**config, 'ironic_ownership': own}


class TestFaults(novas.NovaTestCase):
    """Two services with the driver of this project."""

    def observe(self) -> None:
        self.observer = cell_laws.CellObserver(self.cloud).start()
        self.addCleanup(self.observer.stop)

    def end_observation(self) -> None:
        self.observer.stop()
        self.assertGreater(self.observer.count, 0)
        self.assertEqual({}, self.observer.violations)

    def wait_until_served(self) -> None:
        process.wait_for(lambda: not self.observer.unserved(), 'live owners')

    def check(self) -> dict[str, dict[str, Any]]:
        _, text = self.run_cli('check', '-f', 'json', '--long')
        # Warnings come before it.
        (text,) = re.findall(r'^\[.*', text, re.M | re.S)
        return {found['code']: found for found in json.loads(text)}

    def test_faults_of_one_deployment(self) -> None:
        self.start()
        self.freeze_in_a_pass()
        self.kill_in_a_pass_without_conductor()
        self.cut_from_the_members_only()
        self.freeze_the_database()
        self.delete_the_service_of_a_live_process()
        self.move_behind_the_back_of_a_service()
        self.end_observation()
        self.assertEqual([], self.two.lines(_MOVING))

    def start(self) -> None:
        """Let both share six nodes by a ring; host2 has the instance."""
        self.enrol(list(novas.GOLDEN))
        config = self.config_of_records(ownership={'policies': 'peer_list'})
        port = self.cloud.database.port
        self.heartbeats = proxy.Proxy(port)
        self.addCleanup(self.heartbeats.close)
        text = self.own_config.read_text()
        [url] = re.findall(r'^connection = (.*)$', text, re.M)
        members = url.replace(f':{port}/', f':{self.heartbeats.port}/')
        behind = self.own_config.with_name('behind-proxy.conf')
        behind.write_text(f'{text}[backend_db]\nconnection = {members}\n')
        self.one = self.compute('host1', 'ours', _unlimited(config))
        self.two = self.compute(
            'host2',
            'ours',
            _unlimited({'ironic_ownership': {'config_file': behind}}),
            _PROGRAM,
        )
        for compute in (self.one, self.two):
            compute.start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        self.server, _ = self.boot(_DEPLOYED)
        self.observe()

    def interrupt(self) -> None:
        """Wait until host2 has stopped itself inside of a pass."""
        self.two.log.with_name('stop').touch()
        stat = pathlib.Path(f'/proc/{self.two.process.pid}/stat')
        process.wait_for(
            lambda: stat.read_text().rpartition(')')[2].split()[0] == 'T',
            'stop inside of a pass',
        )
        self.observer.died('host2')

    def returned(self) -> None:
        self.observer.returned('host2')
        self.cloud.wait_for_hosts(novas.GOLDEN)

    def freeze_in_a_pass(self) -> None:
        self.interrupt()
        self.wait_until_served()
        self.two.thaw()
        mark = self.two.log.with_name('continued')
        process.wait_for(mark.exists, 'end of the pass')
        self.returned()
        self.api.reboot(self.server)
        self.api.wait_for_server(self.server, 'ACTIVE')

    def kill_in_a_pass_without_conductor(self) -> None:
        self.interrupt()
        self.cloud.stop_service('nova-conductor')
        self.two.kill()
        # Rows do not need Nova to move.
        self.wait_until_served()
        self.cloud.start_service('nova-conductor')
        self.two.start()
        self.returned()

    def cut_from_the_members_only(self) -> None:
        """Of host2, whose records and rows in the cell can be written."""
        self.observer.died('host2')
        self.heartbeats.cut()
        self.wait_until_served()
        self.assertEqual('host2', self.rows()[_DEPLOYED])
        self.assertIsNone(self.two.process.returncode)
        self.heartbeats.forward()
        self.returned()
        self.api.reboot(self.server)
        self.api.wait_for_server(self.server, 'ACTIVE')

    def freeze_the_database(self) -> None:
        before = len(self.one.lines('heartbeat failed'))
        self.cloud.database.freeze()
        try:
            process.wait_for(
                lambda: len(self.one.lines('heartbeat failed')) > before,
                'failed heartbeat',
            )
        finally:
            self.cloud.database.thaw()
        self.returned()

    def delete_the_service_of_a_live_process(self) -> None:
        """Of host1, which has no instance: Nova refuses it for host2."""
        status, _ = self.api.send('DELETE', self.path_of('host2'))
        self.assertEqual(409, status)
        # Nova deletes its rows and its providers, and a restart brings them
        # back.
        mine = [u for u, host in novas.GOLDEN.items() if host == 'host1']
        self.observer.expect(mine)
        self.api.request('DELETE', self.path_of('host1'))
        self.assertEqual([], [u for u in mine if u in self.rows()])
        self.one.stop()
        self.one.start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        process.wait_for(
            lambda: self.cloud.placement.providers() == set(novas.GOLDEN),
            'providers',
        )

    def rows(self) -> dict[str, str]:
        return self.cloud.compute_nodes()

    def path_of(self, host: str) -> str:
        (uuid,) = [
            row['uuid'] for row in self.cloud.services() if row['host'] == host
        ]
        return f'/os-services/{uuid}'

    def move_behind_the_back_of_a_service(self) -> None:
        self.observer.died('host2')
        self.api.request('PUT', self.path_of('host2'), {'forced_down': True})
        # Without a restart, a claim or a command of ours.
        process.wait_for(
            lambda: getattr(self.records.service('host2'), 'fenced', False),
            'end of the right to write',
        )
        self.assertEqual(1, self.two.process.wait(timeout=180))
        self.wait_until_served()
        self.assertEqual('host2', self.rows()[_DEPLOYED])
        # Nova moves node and instance in two transactions.
        self.end_observation()
        moved = self.cloud.manage(
            *('db', 'ironic_compute_node_move', '--ironic-node-uuid'),
            *(_DEPLOYED, '--destination-host', 'host1'),
        )
        self.observe()
        self.observer.died('host2')
        self.assertEqual('host1', self.rows()[_DEPLOYED], moved.tail())
        found = self.check()['row_drifted_deployed']
        self.assertEqual([_DEPLOYED], found['subjects'])
        for command in re.findall(r'ironic-ownership ([^;)]+)', found['hint']):
            words = command.replace('UUID', _DEPLOYED).split()
            self.succeed(*words, '--yes')
        self.assertNotIn('row_drifted_deployed', self.check())
        self.two.start()
        self.observer.returned('host2')
        self.cloud.wait_for_hosts({**novas.GOLDEN, _DEPLOYED: 'host1'})
        self.delete_server(self.server, _DEPLOYED)


class TestOneService(novas.NovaTestCase):
    """One service on the nodes of the golden vectors."""

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
        process.wait_for(
            lambda: bool(standby.lines('waiting to become active: standby')),
            'standby',
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
        process.wait_for(
            lambda: len(one.lines('this service gives up its nodes')) > before,
            'resignation',
        )
        active = len(one.lines('host1 is active'))
        self.cloud.bus.thaw()
        process.wait_for(
            lambda: len(one.lines('host1 is active')) > active,
            'return of the service',
        )
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))
