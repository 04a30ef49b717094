"""Alerts: each fires in its fault, and goes out afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import unittest
from typing import Any

import yaml

from lab import process, prometheus
from tests.functional.support import (
    api_process,
    databases,
    hosts,
    installations,
)

_PAGES = installations.CHECKOUT / 'doc' / 'source'
_DASHBOARD = prometheus.RULES.parents[1] / 'grafana' / 'dashboard.json'
_QUICK = {'> 600': '> 15', '[15m]': '[30s]'}
"""Limits of the rules, and those of services that refresh every second."""


def _rules() -> dict[str, dict]:
    groups = yaml.safe_load(prometheus.RULES.read_text())['groups']
    return {rule['alert']: rule for group in groups for rule in group['rules']}


def _panels() -> list[dict[str, Any]]:
    return list(json.loads(_DASHBOARD.read_text())['panels'])


def _query(panel: dict[str, Any]) -> str:
    return str(panel['targets'][0]['expr'])


class TestAlerts(hosts.HostsTestCase):
    """Two services, the HTTP service, and a Prometheus that scrapes them."""

    def setUp(self) -> None:
        super().setUp()
        self.uuids = self.enrolment.enrol(12, conductor_group='main')
        self.deployment.more = {
            'ownership': {
                'refresh_interval': 1,
                'recheck_interval': 1,
                'mass_loss_minimum': 2,
            }
        }
        self.ports = [process.free_port() for _ in range(3)]
        self.services = [self.start_host(number) for number in (0, 1)]
        self.api = self.start_api()
        self.prometheus = prometheus.Prometheus(
            databases.temporary_directory('prometheus'),
            {
                'ironic-ownership-host': self.ports[:2],
                'ironic-ownership-api': self.ports[2:],
            },
            _QUICK,
        )
        self.addCleanup(self.prometheus.stop)
        self.prometheus.start()
        self.seen: set[str] = set()

    def start_host(self, number: int) -> hosts.Host:
        return self.deployment.start(
            f'host{number + 1}',
            'conductor_group,peer_list',
            health={'listen': f'127.0.0.1:{self.ports[number]}'},
            ironic={'conductor_group': 'main'},
        )

    def start_api(self) -> api_process.Api:
        options = {
            'auth_strategy': 'noauth',
            'port': self.ports[2],
            'public_metrics': True,
            'metrics_interval': 2,
        }
        config = self.deployment.directory / 'api.conf'
        config.write_text(
            hosts.text_of(
                hosts.FAST, self.deployment._shared(), {'api': options}
            )
        )
        log = self.deployment.directory / 'api.log'
        api = api_process.Api(api_process.program(config, log), self.ports[2])
        self.addCleanup(api.process.kill)
        return api.start()

    def wait_for(self, *alerts: str) -> None:
        """Wait until each of these has fired; others may.

        One that tells of an event goes out while others are waited for.
        """
        fired: set[str] = set()

        def all_fired() -> bool:
            fired.update(self.prometheus.firing())
            return fired >= set(alerts)

        self.deployment.wait_until(all_fired, f'{alerts}')
        self.seen |= set(alerts)

    def wait_for_peace(self) -> None:
        """Wait until all targets are up, and no alert fires."""
        self.deployment.wait_until(
            lambda: (
                not self.prometheus.firing()
                and set(self.prometheus.up().values()) == {'up'}
            ),
            'end of the alerts',
        )

    def wait_for_states(self, **states: str) -> None:
        """Wait until the time line shows these services in these states."""
        (panel,) = [
            one for one in _panels() if one['type'] == 'state-timeline'
        ]
        (mapping,) = panel['fieldConfig']['defaults']['mappings']

        def shown() -> dict[str, str]:
            return {
                one['metric']['service']: mapping['options'][one['value'][1]][
                    'text'
                ]
                for one in self.prometheus.query(_query(panel))
            }

        self.deployment.wait_until(lambda: shown() == states, f'{states}')

    def wait_for_number(self, title: str, *numbers: str) -> None:
        """Wait until a panel shows this number, or none."""
        (query,) = [_query(one) for one in _panels() if one['title'] == title]

        def shown() -> list[str]:
            return [one['value'][1] for one in self.prometheus.query(query)]

        self.deployment.wait_until(
            lambda: shown() == [*numbers], f'{numbers} in {title}'
        )

    def test_each_alert_fires_in_its_fault_and_goes_out(self) -> None:
        self.deployment.wait_for_ring(self.uuids, ('host1', 'host2'))
        self.wait_for_peace()
        for panel in _panels():
            self.deployment.wait_until(
                lambda panel=panel: self.prometheus.query(_query(panel)),
                panel['title'],
            )
        self.wait_for_states(host1='up', host2='up')
        for step in (
            self.dead_service,
            self.ironic_outage,
            self.unowned_node,
            self.dead_api,
            self.lost_nodes,
        ):
            step()
            self.wait_for_peace()
        self.assertEqual(_rules().keys(), self.seen)

    def dead_service(self) -> None:
        self.services[1].kill()
        self.wait_for(
            'OwnershipHostDown',
            'OwnershipServiceDead',
            'OwnershipServiceFenced',
        )
        self.wait_for_states(host1='up', host2='down')
        self.wait_for_number('Unhealthy services', '1')
        self.set_host2('--disable', '--disable-reason', 'repair')
        self.wait_for_states(host1='up', host2='disabled, down')
        self.services[1] = self.start_host(1)
        self.wait_for_states(host1='up', host2='disabled, up')
        self.set_host2('--enable')

    def set_host2(self, *words: str) -> None:
        done = self.deployment.operate(
            *('service', 'set', 'host2', *words, '--yes')
        )
        self.assertEqual(0, done.returncode, done)

    def ironic_outage(self) -> None:
        self.server.stop()
        self.wait_for(
            'OwnershipRefreshStalled',
            'OwnershipHostUnhealthy',
            'OwnershipPartDown',
        )
        self.server.start()

    def unowned_node(self) -> None:
        (uuid,) = self.enrolment.enrol(1, conductor_group='elsewhere')
        self.wait_for('OwnershipNodesUnowned')
        self.enrolment.delete(uuid)

    def dead_api(self) -> None:
        self.api.process.kill()
        self.wait_for('OwnershipApiDown')
        # Nothing is known, so that nothing looks well.
        for title in ('Nodes without an owner', 'Findings of the check'):
            self.wait_for_number(title)
        self.api = self.start_api()

    def lost_nodes(self) -> None:
        # At once: one by one, each of them might be believed.
        self.enrolment.delete_all(self.uuids[:11])
        self.wait_for('OwnershipMassLoss', 'OwnershipProblem')
        for service in self.services:
            text = service.config.read_text()
            many = text.replace('_minimum = 2', '_minimum = 1000')
            service.config.write_text(many)
            service.process.signal(signal.SIGHUP)


class TestFile(unittest.TestCase):
    def test_rules_are_valid_and_name_pages_that_exist(self) -> None:
        subprocess.run(
            ['promtool', 'check', 'rules', str(prometheus.RULES)],
            check=True,
            capture_output=True,
        )
        for name, rule in _rules().items():
            path, _, anchor = rule['annotations']['page'].partition('#')
            page = _PAGES / f'{path}.rst'
            self.assertTrue(page.exists(), name)
            code = anchor.removeprefix('finding-')
            if '{{' not in code:
                self.assertIn(code, page.read_text(), name)
            self.assertTrue(rule['annotations']['description'], name)

    def test_panels_of_the_dashboard_do_not_overlap(self) -> None:
        places = [
            (x, y)
            for at in (panel['gridPos'] for panel in _panels())
            for x in range(at['x'], at['x'] + at['w'])
            for y in range(at['y'], at['y'] + at['h'])
        ]
        self.assertEqual(len(set(places)), len(places))
        self.assertEqual(23, max(x for x, _ in places))
        ids = [panel['id'] for panel in _panels()]
        self.assertEqual(len(set(ids)), len(ids))
