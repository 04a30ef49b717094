"""The command line on SQLite: services, members, plugins, and bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
from collections.abc import Iterator
from typing import IO

import yaml

from ironic_ownership.contracts import model
from ironic_ownership.db import connection
from tests.contract import newer_schema
from tests.functional.support import command_line

# root reads every file, unless it gives up the right to do so.
_WITHOUT_PRIVILEGES = (
    ('setpriv', '--bounding-set=-dac_override,-dac_read_search')
    if os.geteuid() == 0
    else ()
)
QUESTIONS = (
    'compute node list',
    'compute node show',
    'compute node explain',
    'ring show',
    'ring preview',
    'policy compare',
    'check',
)
LISTINGS = ('service list', 'member list', 'policy list', 'backend list')
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


class _Case(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment()
        self.addCleanup(self.lab.close)

    def assert_refused(
        self, done: command_line.Done, code: int, *words: str
    ) -> None:
        self.assertEqual((code, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertTrue(
            done.stderr.startswith('ironic-ownership: error: '), done.stderr
        )
        self.assertNotIn('unexpected', done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class ServiceTest(_Case):
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

    def test_unknown_service_is_answered_with_similar_names(self) -> None:
        self.assert_refused(
            self.lab.run('service', 'show', 'rakc1'), 1, "'rakc1'", 'rack1'
        )

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

    def test_member_with_an_unknown_policy_is_not_readable(self) -> None:
        self.lab.serve(
            'odd', model.MemberSettings((model.PolicySettings('nosuch'),))
        )
        members = {m['host']: m for m in self.lab.json('member', 'list')}
        self.assertFalse(members['odd']['readable'])
        self.assertTrue(members['rack1']['readable'])

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

    def test_every_formatter_shows_every_listing(self) -> None:
        for listing in LISTINGS:
            words = listing.split()
            if listing == 'member list':
                # Its table has some of the columns only.
                words.append('--long')
            rows = self.lab.json(*words)
            self.assertTrue(rows, listing)
            keys = list(rows[0])
            for key in keys:
                self.assertRegex(key, '^[a-z_]+$')
            made = {
                name: self.lab.run(*words, '-f', name).stdout
                for name in ('table', 'yaml', 'csv', 'value')
            }
            self.assertEqual(rows, yaml.safe_load(made['yaml']))
            read = list(csv.DictReader(io.StringIO(made['csv'])))
            self.assertEqual(keys, list(read[0]))
            self.assertEqual(len(rows), len(made['value'].splitlines()))
            heading = made['table'].splitlines()[1]
            self.assertEqual(
                keys,
                [
                    cell.strip().lower().replace(' ', '_')
                    for cell in heading.strip('|').split('|')
                ],
            )

    def test_every_formatter_shows_one_service(self) -> None:
        shown = self.lab.json('service', 'show', 'rack1')
        made = {
            name: self.lab.run('service', 'show', 'rack1', '-f', name)
            for name in ('table', 'yaml', 'shell', 'value')
        }
        for name, done in made.items():
            self.assertEqual((0, ''), (done.returncode, done.stderr), name)
        self.assertEqual(shown, yaml.safe_load(made['yaml'].stdout))
        self.assertIn('shard_key=rack1', made['shell'].stdout)
        self.assertIn('| rack1', made['table'].stdout)
        self.assertEqual(len(shown), len(made['value'].stdout.splitlines()))

    def test_columns_are_chosen_by_key_or_heading(self) -> None:
        for name in ('forced_down', 'Forced Down'):
            done = self.lab.run('service', 'list', '-f', 'value', '-c', name)
            self.assertEqual('False\nFalse\n', done.stdout)

    def test_rows_are_sorted_as_asked(self) -> None:
        words = [
            'service',
            'list',
            '-f',
            'value',
            '-c',
            'host',
            '--sort-column',
            'nodes',
        ]
        self.assertEqual('rack2\nrack1\n', self.lab.run(*words).stdout)


class PluginTest(_Case):
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


class HelpTest(_Case):
    def test_help_teaches(self) -> None:
        done = command_line.run('--help')
        self.assertEqual(0, done.returncode)
        for word in ('examples:', 'exit codes:', '--config-file', *LISTINGS):
            self.assertIn(word, done.stdout)
        self.assertIn('  4  degraded or unknown', done.stdout)

    def test_help_of_every_command_has_an_example(self) -> None:
        for name in (*LISTINGS, *QUESTIONS):
            for words in (('help', *name.split()), (*name.split(), '--help')):
                done = command_line.run(*words)
                self.assertEqual((0, ''), (done.returncode, done.stderr))
                self.assertIn(f'  ironic-ownership {name}', done.stdout)

    def test_version_needs_no_library(self) -> None:
        done = subprocess.run(
            [
                *(sys.executable, '-X', 'importtime', '-m'),
                *('ironic_ownership.cmd.cli', '--version'),
            ],
            capture_output=True,
            text=True,
        )
        self.assertRegex(done.stdout, r'^ironic-ownership \S+\n$')
        for library in ('cliff', 'stevedore', 'oslo_config', 'sqlalchemy'):
            self.assertIsNone(
                re.search(rf'\| +{library}\b', done.stderr), library
            )

    def test_list_of_services_imports_only_what_it_needs(self) -> None:
        self.lab.run('service', 'list')
        done = subprocess.run(
            [
                *(sys.executable, '-X', 'importtime', '-m'),
                *('ironic_ownership.cmd.cli', 'service', 'list'),
                *('--config-file', str(self.lab.config)),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode)
        self.assertIn('sqlalchemy', done.stderr)
        for library in (
            *('alembic', 'cmd2', 'openstack', 'keystoneauth1', 'yaml'),
            *('oslo_log.log', 'ironic_ownership.cli.compute_node'),
        ):
            self.assertIsNone(
                re.search(rf'\| +{re.escape(library)}\n', done.stderr),
                library,
            )

    def test_complete_knows_the_commands(self) -> None:
        done = command_line.run('complete')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertIn('compute', done.stdout)
        self.assertIn('--conductor-group', done.stdout)
        checked = subprocess.run(
            ['bash', '-n'], input=done.stdout, text=True, capture_output=True
        )
        self.assertEqual((0, ''), (checked.returncode, checked.stderr))

    def test_options_of_the_program_stand_before_or_after(self) -> None:
        config = ('--config-file', str(self.lab.config))
        for words in (
            (*config, 'backend', 'list'),
            ('backend', 'list', *config),
        ):
            self.assertEqual(0, command_line.run(*words).returncode)


class UsageTest(_Case):
    def test_unknown_command_proposes_others(self) -> None:
        self.assert_refused(
            command_line.run('service', 'lst'), 2, 'service list'
        )
        self.assert_refused(command_line.run('compute'), 2, 'compute node')

    def test_help_of_an_unknown_command_proposes_others(self) -> None:
        self.assert_refused(
            command_line.run('help', 'servise'), 2, 'service list'
        )

    def test_no_command_is_wrong_usage(self) -> None:
        self.assert_refused(command_line.run(), 2, '--help')

    def test_unknown_options_and_values_exit_with_2(self) -> None:
        for words in (
            ('service', 'list', '--nosuch'),
            ('service', 'list', '-f', 'nosuch'),
            ('compute', 'node', 'list', '--state', 'nosuch'),
            ('compute', 'node', 'list', '--shard', ''),
            ('compute', 'node', 'show'),
            ('compute', 'node', 'show', 'x', '--events', '-1'),
            ('service', 'show'),
            ('--config-file',),
        ):
            done = self.lab.run(*words)
            self.assertEqual((2, ''), (done.returncode, done.stdout), words)
            self.assertNotIn('Traceback', done.stderr)
        self.assertIn('nosuch', self.lab.run('service', 'nosuch').stderr)

    def test_unknown_column_is_refused_with_its_neighbours(self) -> None:
        for option in ('-c', '--sort-column'):
            self.assert_refused(
                self.lab.run('service', 'list', option, 'instnces'),
                *(2, "'instnces'", 'instances'),
            )


class BadInputTest(_Case):
    def configured(self, text: str) -> pathlib.Path:
        path = self.lab.directory / 'odd.conf'
        path.write_text(text)
        return path

    def test_missing_configuration_file(self) -> None:
        self.assert_refused(
            command_line.run(
                '--config-file', '/nonexistent', 'service', 'list'
            ),
            *(1, '/nonexistent'),
        )

    def test_malformed_configuration_file(self) -> None:
        config = self.configured('[DEFAULT\nhost = a\n')
        self.assert_refused(
            self.lab.run('service', 'list', config=config), 1, 'odd.conf'
        )

    def test_configuration_that_is_a_directory_or_binary(self) -> None:
        self.assert_refused(
            self.lab.run('service', 'list', config=self.lab.directory), 1
        )
        path = self.lab.directory / 'binary.conf'
        path.write_bytes(b'\xff\xfe\x00\x01')
        self.assert_refused(
            self.lab.run('service', 'list', config=path), 1, 'binary.conf'
        )

    def test_missing_database_directory(self) -> None:
        config = self.configured('[DEFAULT]\nstate_path = /nonexistent/dir\n')
        self.assert_refused(
            self.lab.run('service', 'list', config=config),
            *(1, '/nonexistent/dir'),
        )
        self.assertFalse(pathlib.Path('/nonexistent').exists())

    def test_database_of_another_kind(self) -> None:
        path = self.lab.directory / 'notes'
        path.write_text('another program wrote this')
        config = self.configured(
            f'[database]\nconnection = sqlite:///{path}\n'
        )
        self.assert_refused(
            self.lab.run('service', 'list', config=config), 1, str(path)
        )
        self.assertEqual('another program wrote this', path.read_text())

    def test_database_of_a_newer_release(self) -> None:
        database = connection.open_database(self.lab.url)
        self.addCleanup(database.close)
        newer_schema.mark(database, 'f00')
        for words in (('service', 'list'), ('member', 'list')):
            self.assert_refused(self.lab.run(*words), 1, 'newer release')

    def test_database_server_that_is_not_there(self) -> None:
        config = self.configured(
            '[database]\n'
            'connection = postgresql+psycopg2://u:hunter2@127.0.0.1:1/x\n'
        )
        done = self.lab.run('service', 'list', config=config)
        self.assert_refused(done, 1, '127.0.0.1')
        self.assertNotIn('hunter2', done.stderr)

    def test_unknown_plugins_and_settings_are_listed_at_once(self) -> None:
        config = self.configured(
            f'[DEFAULT]\nstate_path = {self.lab.directory}\n'
            '[ownership]\npolicies = nosuch\nbackend = neither\n'
            '[ironic]\nshard_key = a b\n'
        )
        self.assert_refused(
            self.lab.run('compute', 'node', 'list', config=config),
            *(1, "'nosuch'", "'neither'", 'shard_key'),
        )
        self.assert_refused(
            self.lab.run('service', 'list', config=config), 1, "'neither'"
        )

    def test_log_file_that_cannot_be_written(self) -> None:
        self.assert_refused(
            self.lab.run('--log-file', '/nonexistent/x', 'service', 'list'),
            *(1, '--log-file', '/nonexistent/x'),
        )

    def test_unreadable_file(self) -> None:
        self.lab.config.chmod(0)
        done = subprocess.run(
            [
                *_WITHOUT_PRIVILEGES,
                *(str(command_line.PROGRAM), 'service', 'list'),
                *('--config-file', str(self.lab.config)),
            ],
            capture_output=True,
            text=True,
        )
        self.assert_refused(done, 1, str(self.lab.config))

    def test_wrong_ironic_endpoint(self) -> None:
        for words in (
            ('compute', 'node', 'list'),
            ('compute', 'node', 'show', 'x'),
        ):
            self.assert_refused(self.lab.run(*words), 1, 'http://127.0.0.1:1')
        self.lab.ironic = 'not a url'
        self.assert_refused(
            self.lab.run(
                *('compute', 'node', 'list'), config=self.lab.configure('odd')
            ),
            *(1, 'endpoint_override'),
        )

    def test_debug_shows_the_traceback(self) -> None:
        done = self.lab.run('--debug', 'service', 'show', 'nosuch')
        self.assertEqual(1, done.returncode)
        self.assertIn('Traceback', done.stderr)
        self.assertIn("'nosuch'", done.stderr)

    def test_unwritable_output_is_an_error(self) -> None:
        with pathlib.Path('/dev/full').open('w') as full:
            for done in self.each_way_of_writing_to(full):
                self.assertEqual(1, done.returncode, done)
                self.assertEqual(1, len(done.stderr.splitlines()), done)
                self.assertIn('No space left', done.stderr)

    def test_broken_pipe_is_silent(self) -> None:
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, 'w') as pipe:
            for done in self.each_way_of_writing_to(pipe):
                # The pager of the help takes it for a reader who has enough.
                expected = 0 if '--help' in done.args else 141
                self.assertEqual(
                    (expected, ''), (done.returncode, done.stderr), done.args
                )

    def each_way_of_writing_to(
        self, output: IO[str]
    ) -> Iterator[command_line.Done]:
        """Run commands that meet the error at once, and others at the end."""
        for words in (('backend', 'list'), ('--help',), ('--version',)):
            for unbuffered in ('', '1'):
                yield subprocess.run(
                    [
                        str(command_line.PROGRAM),
                        *(
                            ('--config-file', str(self.lab.config))
                            if len(words) > 1
                            else ()
                        ),
                        *words,
                    ],
                    stdout=output,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, 'PYTHONUNBUFFERED': unbuffered},
                )

    def test_interrupted_command_is_silent(self) -> None:
        # The FIFO holds the program in the reading of its configuration.
        fifo = self.lab.directory / 'fifo.conf'
        os.mkfifo(fifo)
        child = subprocess.Popen(
            [
                *(str(command_line.PROGRAM), '--config-file', str(fifo)),
                *('service', 'list'),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        with fifo.open('w'):  # opens when the program reads it
            child.send_signal(signal.SIGINT)
            output = child.communicate(timeout=180)
        self.assertEqual((130, ('', '')), (child.returncode, output))
