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
_TIMEOUT = 180.0
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

    def observe(self, *, exclusive: bool) -> None:
        self.observer = cell_laws.CellObserver(self.cloud, exclusive=exclusive)
        self.observer.start()
        self.addCleanup(self.observer.stop)

    def end_observation(self) -> None:
        self.observer.stop()
        self.assertGreater(self.observer.count, 0)
        self.assertEqual({}, self.observer.violations)

    def wait_until_served(self) -> None:
        process.wait_for(
            lambda: not self.observer.unserved(),
            'live owners of the free nodes',
            timeout=_TIMEOUT,
        )

    def check(self) -> dict[str, dict[str, Any]]:
        _, text = self.run_cli('check', '-f', 'json', '--long')
        # Warnings come before it.
        (text,) = re.findall(r'^\[.*', text, re.M | re.S)
        problems = json.loads(text)
        return {found['code']: found for found in problems}

    def named(self, *codes: str) -> dict[str, list[str]]:
        """Return the nodes that some findings name."""
        found = self.check()
        return {c: found[c]['subjects'] for c in codes if c in found}

    def test_faults_of_one_deployment(self) -> None:
        self.start()
        self.freeze_in_a_pass()
        self.kill_in_a_pass_without_conductor()
        self.cut_from_the_records()
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
        self.network, self.heartbeats = proxy.Proxy(port), proxy.Proxy(port)
        self.addCleanup(self.network.close)
        self.addCleanup(self.heartbeats.close)
        text = self.own_config.read_text()
        [url] = re.findall(r'^connection = (.*)$', text, re.M)
        members = url.replace(f':{port}/', f':{self.heartbeats.port}/')
        behind = self.own_config.with_name('behind-proxy.conf')
        behind.write_text(
            text.replace(f':{port}/', f':{self.network.port}/')
            + f'[backend_db]\nconnection = {members}\n'
        )
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
        self.observe(exclusive=False)

    def interrupt(self) -> None:
        """Wait until host2 has stopped itself inside of a pass."""
        self.two.log.with_name('stop').touch()
        stat = pathlib.Path(f'/proc/{self.two.process.pid}/stat')
        process.wait_for(
            lambda: stat.read_text().rpartition(')')[2].split()[0] == 'T',
            'stop inside of a pass',
            timeout=_TIMEOUT,
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
        process.wait_for(mark.exists, 'end of the pass', timeout=_TIMEOUT)
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

    def cut_from_the_records(self) -> None:
        self.observer.died('host2')
        for connection in (self.network, self.heartbeats):
            connection.cut()
        self.wait_until_served()
        for connection in (self.network, self.heartbeats):
            connection.forward()
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
                timeout=_TIMEOUT,
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
            timeout=_TIMEOUT,
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
            timeout=_TIMEOUT,
        )
        self.assertEqual(1, self.two.process.wait(timeout=_TIMEOUT))
        self.wait_until_served()
        self.assertEqual('host2', self.rows()[_DEPLOYED])
        # Nova moves node and instance in two transactions.
        self.end_observation()
        moved = self.cloud.manage(
            *('db', 'ironic_compute_node_move', '--ironic-node-uuid'),
            *(_DEPLOYED, '--destination-host', 'host1'),
        )
        self.observe(exclusive=False)
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

    def test_changed_shard_changes_no_owner(self) -> None:
        free, deployed, other = list(novas.GOLDEN)[:3]
        self.enrol([free, deployed, other], {free: 'a', deployed: 'a'})
        self.enrolment.set_shard(other, 'b')
        config = self.config_of_records()
        one, two = (
            self.compute(host, 'ours', {**config, 'ironic': {'shard': shard}})
            for host, shard in (('host1', 'a'), ('host2', 'b'))
        )
        for compute in (one, two):
            compute.start()
        rows = {free: 'host1', deployed: 'host1', other: 'host2'}
        self.cloud.wait_for_hosts(rows)
        server, _ = self.boot(deployed)
        self.observe(exclusive=True)
        for uuid in (free, deployed):
            self.enrolment.set_shard(uuid, 'b')
        wanted = {'record_keeps': [free], 'filtered': [deployed]}
        process.wait_for(
            lambda: self.named(*wanted) == wanted,
            'nodes that no longer match',
            timeout=_TIMEOUT,
        )
        # Their service goes on to serve them.
        self.api.reboot(server)
        self.api.wait_for_server(server, 'ACTIVE')
        self.assertEqual(rows, self.cloud.compute_nodes())
        # The way out of it that the finding names.
        _, _, commands = self.check()['filtered']['hint'].partition('; or')
        down, move, _ = re.findall(r'ironic-ownership ([^;,]+)', commands)
        self.observer.died('host1')
        one.stop()
        self.succeed(*down.split(), '--yes')
        self.observer.expect([free, deployed])
        for uuid in (free, deployed):
            words = move.replace('UUID', uuid).replace('HOST', 'host2')
            self.succeed(*words.split(), '--yes')
        self.assertEqual({}, self.named(*wanted))
        self.cloud.wait_for_hosts(dict.fromkeys(rows, 'host2'))
        self.api.reboot(server)
        self.api.wait_for_server(server, 'ACTIVE')
        self.delete_server(server, deployed)
        self.end_observation()
        self.assertEqual(set(rows), self.cloud.placement.providers())


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
