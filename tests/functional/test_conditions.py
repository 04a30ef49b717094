"""A service that does nothing is never green: real hosts, a real Ironic."""

from __future__ import annotations

import json
import signal
from typing import Any

from lab import proxy
from tests.functional.support import command_line, hosts, plugin_packages

EXITS = """
    import sys
    import threading

    def act(method):
        how, _, where = mood().partition(' ')
        if where != method:
            return
        if how == 'exit':
            sys.exit(0)
        if how == 'base':
            raise BaseException('all of it')
        while mood() == f'hang {where}':
            time.sleep(0.05)

    class Exiting(FilterPolicy):
        contract_version = 1

        def __init__(self, settings):
            super().__init__(settings)
            act('constructor')

        def admits(self, node):
            act('admits')
            return node.conductor_group == 'g2'

    class Threading(FilterPolicy):
        contract_version = 1

        def __init__(self, settings):
            super().__init__(settings)
            if 'HAS_MOODS' in os.environ:
                threading.Thread(
                    target=time.sleep,
                    args=(600,),
                    name='stubborn',
                    daemon=False,
                ).start()

    from ironic_ownership.backends.db import DatabaseBackend

    class Store(DatabaseBackend):
        contract_version = 1

        def beat(self):
            act('beat')
            super().beat()

        def view(self):
            act('view')
            return 5 if mood() == 'garbage view' else super().view()
"""


class ConditionsCase(hosts.HostsTestCase):
    """Hosts, and the commands that show their conditions."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.MoodySite()
        self.feel = self.site.feel
        self.site.install(
            'their-exits',
            EXITS,
            {'exiting': 'Exiting', 'threading': 'Threading'},
            {'store': 'Store'},
        )
        self.deployment.environment = self.site.moody

    def run_cli(self, *words: str, mood: bool = False) -> command_line.Done:
        file = self.deployment.directory / 'operator.conf'
        file.write_text(
            hosts.text_of(
                {
                    'ownership': {
                        'policies': 'all',
                        'importable_policies': 'exiting' if mood else '',
                    },
                    'database': {'connection': self.deployment.connection},
                    'ironic': {
                        'auth_type': 'none',
                        'endpoint_override': self.server.endpoint,
                    },
                }
            )
        )
        return command_line.run(
            *('--config-file', str(file), *words),
            env=self.site.moody if mood else self.site.environment,
        )

    def problems(self) -> dict[str, dict[str, Any]]:
        """Return what ``check`` finds, by code."""
        done = self.run_cli('check', '--long', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done.stderr)
        found = {p['code']: p for p in json.loads(done.stdout)}
        self.assertEqual(4 if found else 0, done.returncode)
        return found

    def conditions(self) -> dict[str, str | None]:
        """Return the conditions of each service, as listed."""
        done = self.run_cli('service', 'list', '-f', 'json')
        self.assertEqual(0, done.returncode, done.stderr)
        return {
            row['host']: row['conditions'] for row in json.loads(done.stdout)
        }

    def error(self, host: str, loop: str) -> str:
        """Return the error of a loop, as stored."""
        report = self.deployment.records.condition_reports().get(host)
        return next(
            (c.error for c in report.failing if c.loop == loop)
            if report
            else iter(()),
            '',
        )

    def wait_for_error(self, host: str, loop: str, *words: str) -> str:
        self.deployment.wait_until(
            lambda: all(word in self.error(host, loop) for word in words),
            f'error of the {loop} loop with {words}',
        )
        return self.error(host, loop)

    def wait_for_calm(self, host: str, loop: str) -> None:
        self.deployment.wait_until(
            lambda: not self.error(host, loop), f'the {loop} loop again'
        )

    def wait_for_problem(self, code: str) -> dict[str, Any]:
        self.deployment.wait_until(lambda: code in self.problems(), code)
        return self.problems()[code]


class TestIronicGone(ConditionsCase):
    """A host whose Ironic does not answer."""

    def test_service_that_cannot_refresh_is_shown_until_it_can(self) -> None:
        between = proxy.Proxy(self.server.port)
        self.addCleanup(between.close)
        self.deployment.endpoint = f'http://127.0.0.1:{between.port}'
        self.deployment.start('host1', 'all')
        (uuid,) = self.enrolment.enrol(1)
        self.deployment.wait_for_owners({uuid: 'host1'})
        self.deployment.wait_until(
            lambda: self.conditions() == {'host1': 'ok'}, 'conditions'
        )
        between.cut()
        self.wait_for_error('host1', 'refresh', 'refresh failed')
        found = self.wait_for_problem('refresh_stalled')
        self.assertEqual('error', found['severity'])
        self.assertEqual(['host1'], found['subjects'])
        self.assertEqual({'host1': 'refresh'}, self.conditions())
        between.forward()
        self.wait_for_calm('host1', 'refresh')
        self.assertNotIn('refresh_stalled', self.problems())
        self.assertEqual({'host1': 'ok'}, self.conditions())

    def test_service_that_cannot_start_is_shown(self) -> None:
        self.deployment.endpoint = 'http://127.0.0.1:1'
        self.deployment.start('host1', 'all')
        self.wait_for_error('host1', 'start', 'waiting to start')
        found = self.wait_for_problem('start_stalled')
        self.assertEqual(['host1'], found['subjects'])
        self.assertEqual({'host1': 'start'}, self.conditions())

    def test_service_that_cannot_store_its_conditions_is_shown(self) -> None:
        self.deployment.start('host1', 'all')
        self.wait_for_calm('host1', 'refresh')
        self.deployment.wait_until(
            lambda: self.conditions() == {'host1': 'ok'}, 'conditions'
        )
        # As of a process that stopped to store them and still beats.
        with self.deployment.database.engine.begin() as conn:
            conn.exec_driver_sql(
                'CREATE TRIGGER mute BEFORE UPDATE ON condition_reports '
                'BEGIN SELECT RAISE(IGNORE); END'
            )
            conn.exec_driver_sql('DROP TRIGGER mute')
            conn.exec_driver_sql(
                'UPDATE condition_reports SET reported_at = reported_at - 60'
            )
            conn.exec_driver_sql(
                'CREATE TRIGGER mute BEFORE UPDATE ON condition_reports '
                'BEGIN SELECT RAISE(IGNORE); END'
            )
        self.assertIn('conditions_outdated', self.problems())
        self.assertEqual({'host1': 'unknown'}, self.conditions())


class TestExits(ConditionsCase):
    """Exits and worse, out of calls of a policy."""

    def test_exit_of_a_policy_stays_with_the_service_that_chose_it(
        self,
    ) -> None:
        self.deployment.start(
            'host1',
            'conductor_group',
            ironic={
                'auth_type': 'none',
                'endpoint_override': self.server.endpoint,
                'conductor_group': 'g1',
            },
        )
        host2 = self.deployment.start('host2', 'exiting')
        self.deployment.wait_for_members('host1', 'host2')
        (one,) = self.enrolment.enrol(1, conductor_group='g1')
        (two,) = self.enrolment.enrol(1, conductor_group='g2')
        owners = {one: 'host1', two: 'host2'}
        self.deployment.wait_for_owners(owners)
        moods = (
            ('exit admits', 'SystemExit'),
            ('base admits', 'all of it'),
            ('exit constructor', 'exiting'),
        )
        for number, (mood, words) in enumerate(moods):
            self.feel(mood)
            self.wait_for_error('host2', 'refresh', words)
            if 'constructor' not in mood:
                found = self.problems()['plugin_fault']
                self.assertIn('their-exits 1.5', found['what'])
                self.assertEqual(['host2'], found['subjects'])
            # host1 did not choose it, and goes on.
            instance = f'00000000-0000-0000-0000-{number:012d}'
            self.enrolment.set_instance(one, instance)
            self.deployment.wait_until(
                lambda instance=instance: any(
                    node.instance_uuid == instance
                    for node in self.deployment.records.compute_nodes()
                ),
                'instance on record',
            )
            self.enrolment.set_instance(one, None)
            self.assertEqual('', self.error('host1', 'refresh'))
            self.feel('')
            self.wait_for_calm('host2', 'refresh')
        self.deployment.wait_for_owners(owners)
        # A constructor that exits at a reload keeps the configuration.
        self.feel('exit constructor')
        host2.process.signal(signal.SIGHUP)
        self.deployment.wait_until(
            lambda: host2.lines('configuration not reloaded'), 'refusal'
        )
        self.feel('')
        host2.process.signal(signal.SIGHUP)
        self.deployment.wait_until(
            lambda: host2.lines('configuration reloaded'), 'reload'
        )
        self.assertEqual(0, host2.terminate())

    def test_thread_of_a_plugin_does_not_keep_a_stopped_process(self) -> None:
        host = self.deployment.start('host3', 'threading')
        self.deployment.wait_for_members('host3')
        self.assertEqual(0, host.terminate())
        (line,) = host.lines('a plugin did not stop')
        self.assertIn('stubborn', line)


class TestBackends(ConditionsCase):
    """Exits and worse, out of calls of a backend."""

    def test_fault_of_a_backend_names_it_and_heals(self) -> None:
        host = self.deployment.start(
            'host1',
            'all',
            ownership={'backend': 'store', 'refresh_interval': 1},
        )
        (uuid,) = self.enrolment.enrol(1)
        self.deployment.wait_for_owners({uuid: 'host1'})
        named = "backend 'store' from their-exits 1.5"
        for mood, words in (
            ('exit view', 'view() failed: SystemExit'),
            ('garbage view', 'a int, not a View'),
            ('hang view', 'view() has not returned'),
        ):
            self.feel(mood)
            self.wait_for_error('host1', 'heartbeat', named, words)
            self.feel('')
            self.wait_for_calm('host1', 'heartbeat')
        self.deployment.wait_until(
            lambda: self.deployment.members() == {'host1'}, 'member again'
        )
        self.assertLess(len(host.lines('Traceback')), 2)
        self.assertEqual(0, host.terminate())
