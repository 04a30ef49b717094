"""The command line on SQLite: listings of services, members and plugins."""

from __future__ import annotations

import json

from ironic_ownership.contracts import model
from tests.functional.support import command_line, command_line_case

SERVICE_KEYS = [
    'host',
    'alive',
    'status',
    'forced_down',
    'epoch',
    'nodes',
    'instances',
    'conditions',
]
_REST = [
    'fenced',
    'standbys',
    'disabled_reason',
    'registered_at',
    'policies',
    'settings',
    'member_values',
]
SERVICE_LONG_KEYS = [
    *SERVICE_KEYS,
    *('free', 'unavailable', 'of_mean'),
    *_REST,
]
SERVICE_SHOW_KEYS = [
    *SERVICE_KEYS,
    *_REST,
    *('incarnation', 'joined_at', 'contract_version'),
    *('view_checksum', 'config_error', 'loops'),
]


class ServiceTest(command_line_case.CommandLineTestCase):
    def setUp(self) -> None:
        super().setUp()
        epoch = self.lab.serve('rack1', command_line.shard('rack1'))
        self.lab.claim(
            'rack1',
            epoch,
            model.Node('00000000-0000-4000-8000-000000000001', name='a'),
            model.Node(
                '00000000-0000-4000-8000-000000000002',
                name='b',
                instance_uuid='00000000-0000-4000-8000-0000000000f1',
            ),
        )
        other = self.lab.serve(
            'rack2', command_line.shard('rack2'), alive=False
        )
        self.epochs = epoch, other

    def test_list_says_who_is_alive_and_counts_nodes(self) -> None:
        one, two = self.lab.json('service', 'list')
        self.assertEqual(SERVICE_KEYS, list(one))
        self.assertEqual(
            ['rack1', 'up', 'enabled', False, self.epochs[0], 2, 1, 'unknown'],
            list(one.values()),
        )
        self.assertEqual(
            ['rack2', 'down', 'enabled', False, self.epochs[1], 0, 0, None],
            list(two.values()),
        )

    def test_long_list_shows_settings(self) -> None:
        # No Ironic here: what is unavailable is unknown.
        done = self.lab.run('service', 'list', '--long', '-f', 'json')
        self.assertEqual(4, done.returncode, done)
        one, _ = json.loads(done.stdout)
        self.assertEqual(SERVICE_LONG_KEYS, list(one))
        self.assertEqual((1, None), (one['free'], one['unavailable']))
        self.assertEqual(['shard_key'], one['policies'])
        self.assertEqual({'shard_key': 'rack1'}, one['settings'])
        self.assertEqual({}, one['member_values'])

    def test_show_finds_the_service_in_any_case(self) -> None:
        shown = self.lab.json('service', 'show', 'RACK1')
        self.assertEqual(SERVICE_SHOW_KEYS, list(shown))
        self.assertEqual('incarnation-of-rack1', shown['incarnation'])
        self.assertRegex(shown['joined_at'], r'^\d{4}-\d\d-\d\dT.*\+00:00$')

    def test_members_are_the_live_ones_with_their_settings(self) -> None:
        (member,) = self.lab.json('member', 'list')
        self.assertEqual(
            {
                'host': 'rack1',
                'role': 'active',
                # It says nothing about its process.
                'machine': None,
                'pid': None,
                'version': None,
                'last_heartbeat': member['last_heartbeat'],
                'incarnation': 'incarnation-of-rack1',
                'joined_at': member['joined_at'],
                'policies': ['shard_key'],
                'settings': {'shard_key': 'rack1'},
                'member_values': {},
                'contract_version': 1,
                'readable': True,
            },
            member,
        )
        for moment in ('joined_at', 'last_heartbeat'):
            self.assertRegex(member[moment], r'^\d{4}-\d\d-\d\dT.*\+00:00$')
        table = self.lab.run('member', 'list').stdout
        self.assertNotIn('shard_key=rack1', table)
        table = self.lab.run('member', 'list', '--long').stdout
        self.assertIn('| shard_key=rack1 |', table)

    def test_services_are_listed_while_the_membership_is_down(self) -> None:
        config = self.lab.configure(
            'split',
            more='[backend_db]\nconnection = '
            'mysql+pymysql://u:hunter2@127.0.0.1:1/x',
        )
        for words in (('service', 'list'), ('service', 'show', 'rack1')):
            done = self.lab.run(*words, '-f', 'json', config=config)
            self.assertEqual(4, done.returncode, done)
            found = json.loads(done.stdout)
            first = found[0] if isinstance(found, list) else found
            self.assertEqual('unknown', first['alive'])
            self.assertEqual(2, first['nodes'])
            self.assertIn('warning: liveness is unknown', done.stderr)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
            self.assertNotIn('hunter2', done.stderr)
        self.assert_refused(
            self.lab.run('member', 'list', config=config), 1, '127.0.0.1'
        )


class PluginTest(command_line_case.CommandLineTestCase):
    def test_listings_say_where_plugins_come_from(self) -> None:
        policies = {p['name']: p for p in self.lab.json('policy', 'list')}
        self.assertLessEqual(
            {'all', 'conductor_group', 'shard_key', 'peer_list'},
            set(policies),
        )
        self.assertEqual(
            [
                *('name', 'kind', 'distribution', 'version', 'selected'),
                *('options', 'capabilities', 'status', 'remark'),
            ],
            list(policies['all']),
        )
        self.assertEqual('ironic-ownership', policies['all']['distribution'])
        self.assertTrue(policies['all']['version'])
        self.assertTrue(policies['all']['selected'])
        self.assertEqual('assigner', policies['peer_list']['kind'])
        self.assertEqual('deprecated', policies['peer_list']['status'])
        backends = {b['name']: b for b in self.lab.json('backend', 'list')}
        self.assertTrue(backends['db']['selected'])
        self.assertIn('shared', backends['db']['capabilities'])

    def test_broken_plugin_is_a_row_with_its_error(self) -> None:
        path = self.lab.directory / 'site'
        info = path / 'broken_plugins-1.5.dist-info'
        info.mkdir(parents=True)
        (info / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: broken-plugins\nVersion: 1.5\n'
        )
        (info / 'entry_points.txt').write_text(
            '[ironic_ownership.policies]\nhalf = broken_plugins:Half\n'
            '[ironic_ownership.backends]\nnone = broken_plugins:None_\n'
            '[ironic_ownership.cli]\nbreak = nowhere_at_all:Break\n'
        )
        (path / 'broken_plugins.py').write_text('import nowhere_at_all\n')
        env = {'PYTHONPATH': str(path), 'HOME': str(self.lab.directory)}
        for kind, name in (('policy', 'half'), ('backend', 'none')):
            done = command_line.run(
                *('--config-file', str(self.lab.config), kind, 'list'),
                *('-f', 'json'),
                env=env,
            )
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            rows = {row['name']: row for row in json.loads(done.stdout)}
            self.assertEqual('broken', rows[name]['status'])
            self.assertEqual('broken-plugins', rows[name]['distribution'])
            self.assertEqual('1.5', rows[name]['version'])
            self.assertIn('nowhere_at_all', rows[name]['remark'])
        done = command_line.run('break', env=env)
        self.assertEqual((1, 1), (done.returncode, done.stderr.count('\n')))
        self.assertIn('nowhere_at_all', done.stderr)
        # A broken command of a stranger does not stop the others.
        done = command_line.run(
            '--config-file', str(self.lab.config), 'service', 'list', env=env
        )
        self.assertEqual(0, done.returncode, done.stderr)
