"""Plugins of third parties in real processes, in good order and in bad."""

from __future__ import annotations

import json
import signal
import unittest
from typing import Any

from tests.functional.support import (
    command_line,
    databases,
    hosts,
    ironics,
    plugin_packages,
    programs,
)

_CHECK = 900.0
"""Seconds for one check, which computes for some on a machine at rest."""

MOODS = """
    import pathlib
    import sys
    import threading

    from ironic_ownership.db.heartbeats import DatabaseBackend
    from ironic_ownership.contracts import Source

    def act(where):
        how = mood().removesuffix(where) if mood().endswith(where) else ''
        if how == 'exit ':
            sys.exit(0)
        while how == 'hang ' and mood() == how + where:
            time.sleep(0.05)
        return how == 'garbage '

    def read(options):
        act('source')
        return 'a table'

    class Moody(AssignerPolicy):
        contract_version = 2
        rebalancing = True
        sources = (Source('table', read, 'A table.', interval=1, timeout=1),)

        def __init__(self, settings):
            super().__init__(settings)
            act('constructor')
            if 'HAS_MOODS' in os.environ:
                threading.Thread(
                    target=time.sleep,
                    args=(600,),
                    name='stubborn',
                    daemon=False,
                ).start()

        def choose(self, request):
            act('choose')
            return [request.hosts[0] for _ in request.nodes]

    class Picky(FilterPolicy):
        contract_version = 1

        def scope(self):
            return Scope(conductor_group='g2')

        def admits(self, node):
            return None if act('admits') else node.conductor_group == 'g2'

    class Store(DatabaseBackend):
        contract_version = 1

        def view(self):
            act('view')
            return super().view()
"""
# Each kind of call, and each end of it; errors and answers of every kind are
# those of the guards in unit/engine.
FAULTS = (
    # mood, loop that tells of it, words, whether "check" names the package
    ('exit choose', 'refresh', 'SystemExit', True),
    ('garbage admits', 'refresh', 'Picky.admits', False),
    ('hang choose', 'refresh', 'takes longer than 10 s', True),
    ('exit constructor', 'refresh', 'moody', False),
    ('exit source', 'sources', 'SystemExit', False),
    ('hang source', 'sources', 'has not been read after 1 s', False),
    ('exit view', 'heartbeat', 'view() failed: SystemExit', False),
    ('hang view', 'heartbeat', 'view() has not returned', False),
)
UNUSED = {
    'exits': 'raise SystemExit(0)',
    'ends': 'import os; os._exit(0)',
    'collides': """
        class P(FilterPolicy):
            contract_version = 1
            options = (
                Option('page_size', OptionType.STRING, 'Taken.',
                       group='ironic'),
            )
        """,
    'invalid': """
        class P(FilterPolicy):
            contract_version = 1
            options = (Option('a b', 'text', 'No option.'),)
        """,
}
COLOURS = """
    class Colour(FilterPolicy):
        '''Nodes of one colour.'''

        contract_version = 1
        options = (
            Option('colour', OptionType.STRING, 'The colour.', required=True),
        )

        def admits(self, node):
            return node.properties.get('colour') == self._settings['colour']

    class Hangs(FilterPolicy):
        contract_version = 1

        def admits(self, node):
            # The suite makes nodes of the texts that it finds here.
            while str(node.name)[::-1] == 'sseldne':
                time.sleep(60)
            return True
"""


class RunningTest(hosts.HostsTestCase):
    """A fault stays with the service that chose the plugin, and ends."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.MoodySite()
        self.site.install(
            'their-moods',
            MOODS,
            {'moody': 'Moody', 'picky': 'Picky'},
            {'store': 'Store'},
        )
        self.deployment.environment = self.site.moody
        self.owners: dict[str, str] = {}
        self.innocent = self.deployment.start(
            'host1', 'conductor_group', ironic={'conductor_group': 'g1'}
        )
        self.host = self.deployment.start(
            'host2',
            'picky,moody',
            ownership={'backend': 'store', 'refresh_interval': 1},
        )
        self.deployment.wait_for_members('host1', 'host2')
        self.enrol('g1', 'host1')
        self.enrol('g2', 'host2')
        self.deployment.wait_for_owners(self.owners)

    def enrol(self, group: str, owner: str) -> None:
        uuids = self.enrolment.enrol(1, conductor_group=group)
        self.owners |= dict.fromkeys(uuids, owner)

    def error(self, loop: str) -> str:
        """Return the error of a loop of the service, as stored."""
        report = self.deployment.records.condition_reports()['host2']
        return ' '.join(c.error for c in report.failing if c.loop == loop)

    def codes(self) -> set[str]:
        """Return what ``check`` finds where the packages are in no mood."""
        done = command_line.run(
            *('--config-file', str(self.host.config)),
            *('check', '-f', 'json'),
            env=self.site.environment,
        )
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return {found['code'] for found in json.loads(done.stdout)}

    def test_fault_hurts_its_own_service_only_and_ends(self) -> None:
        for mood, loop, words, named in FAULTS:
            with self.subTest(mood):
                self.site.feel(mood)
                self.deployment.wait_until(
                    lambda loop=loop, words=words: words in self.error(loop),
                    f'error of {mood}',
                )
                if 'constructor' not in mood:
                    self.assertIn('their-moods 1.5', self.error(loop))
                if named:
                    self.assertIn('plugin_fault', self.codes())
                self.enrol('g1', 'host1')
                self.deployment.wait_until(
                    lambda: (
                        self.deployment.owned_by('host1')
                        == {u for u, h in self.owners.items() if h == 'host1'}
                    ),
                    'work of the other service',
                )
                self.site.feel('')
                self.enrol('g2', 'host2')
                self.deployment.wait_for_owners(self.owners)
                self.deployment.wait_until(
                    lambda loop=loop: not self.error(loop), 'good mood'
                )
        # At a reload, the configuration is kept.
        for mood, said in (
            ('exit constructor', 'configuration not reloaded'),
            ('', 'configuration reloaded'),
        ):
            self.site.feel(mood)
            self.host.process.signal(signal.SIGHUP)
            self.deployment.wait_until(
                lambda said=said: self.host.lines(said), said
            )
        # Neither a call nor a thread keeps the process from its end.
        self.site.feel('hang choose')
        self.enrol('g2', 'host2')
        self.deployment.wait_until(
            lambda: 'takes longer' in self.error('refresh'), 'hanging call'
        )
        self.assertEqual(0, self.host.terminate())
        self.assertTrue(
            [x for x in self.host.lines('did not stop') if 'stubborn' in x],
            self.host.troubles(),
        )
        self.assertEqual({'host1'}, self.deployment.members())


class UnusedTest(hosts.HostsTestCase):
    def test_what_is_merely_installed_stops_nothing(self) -> None:
        site = plugin_packages.Site()
        for name, source in UNUSED.items():
            site.install(f'their-{name}', source, {name: 'P'})
        self.deployment.environment = site.environment
        host = self.deployment.start('host1', 'all')
        owners = dict.fromkeys(self.enrolment.enrol(2), 'host1')
        self.deployment.wait_for_owners(owners)
        host.process.signal(signal.SIGHUP)
        self.deployment.wait_until(
            lambda: host.lines('configuration reloaded'), 'reload'
        )
        for words in ('check', 'compute node list', 'policy list'):
            done = command_line.run(
                *('--config-file', str(host.config), *words.split()),
                *('-f', 'json'),
                env=site.environment,
            )
            self.assertIn(done.returncode, (0, 4), done.stderr)
        states = {
            row['name']: (row['status'], row['distribution'])
            for row in json.loads(done.stdout)
        }
        self.assertEqual('ok', states['all'][0])
        for name in ('exits', 'ends', 'invalid'):
            self.assertEqual(('broken', f'their-{name}'), states[name])
        self.assertEqual(0, host.terminate())
        # One that is named refuses the start.
        file = databases.temporary_directory('bad') / 'host.conf'
        text = host.config.read_text()
        for name, cause in (('exits', 'SystemExit'), ('ends', 'os._exit')):
            file.write_text(f'{text}\n[ownership]\npolicies = {name}\n')
            refused = programs.run(
                ['ironic-ownership-host', '--config-file', str(file)],
                hosts.TIMEOUT,
                programs.HOST,
                env=site.environment,
            )
            self.assertEqual(1, refused.returncode, refused.stderr)
            (line,) = refused.stderr.splitlines()
            for part in (repr(name), f'their-{name} 1.5', cause):
                self.assertIn(part, line)


class CommandsTest(unittest.TestCase):
    """``plugin check``, ``plugin new`` and ``policy show``."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.Site()
        self.site.install(
            'their-colours',
            COLOURS,
            {'colour': 'Colour', 'loop': 'Hangs'},
        )

    def json(self, *words: str, code: int = 0) -> Any:
        done = programs.run(
            [str(command_line.PROGRAM), *words, '-f', 'json'],
            _CHECK,
            env=self.site.environment,
        )
        self.assertEqual(code, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_policy_is_shown_with_all_that_it_declares(self) -> None:
        found = self.json('policy', 'show', 'colour')
        self.assertEqual(
            ('filter', 'their-colours', '1.5', 'Nodes of one colour.', 'ok'),
            tuple(
                found[key]
                for key in (
                    *('kind', 'distribution', 'version', 'summary'),
                    'status',
                )
            ),
        )
        (option,) = found['options']
        self.assertEqual(
            ('colour', 'policy_colour', True),
            (option['name'], option['group'], option['required']),
        )

    def test_check_names_a_law_that_never_ends_and_checks_the_others(
        self,
    ) -> None:
        nodes = self.site.file('nodes.json')
        # One law asks about each of so many, the others about every other.
        nodes.write_text(
            json.dumps(
                [
                    {
                        'UUID': f'6f1c0c4e-8f0a-4b3f-9a53-{number:012}',
                        'Name': 'endless' if number == 1 else None,
                    }
                    for number in range(600)
                ]
            )
        )
        found = {
            row['law']: (row['result'], row['detail'])
            for row in self.json(
                *('plugin', 'check', 'loop', '--time-limit', '10'),
                *('--nodes', str(nodes)),
                code=1,
            )
        }
        result, detail = found['every node gets an answer']
        self.assertEqual('fail', result)
        self.assertIn('Hangs still runs after 10 s, in Hangs.admits', detail)
        self.assertEqual('pass', found['remarks are lines'][0])

    def test_what_cannot_be_checked_is_refused(self) -> None:
        lab = command_line.Deployment()
        self.addCleanup(lab.close)
        lab.serve('rack1', command_line.ALL)
        (row,) = self.json(
            *('plugin', 'check', 'db', '--option', f'connection={lab.url}'),
            code=1,
        )
        self.assertEqual('its store can be used', row['law'])
        self.assertIn('rack1', row['detail'])
        for words, part in (
            (('check', 'shard_kye'), 'shard_key'),
            (('check', 'colour', '--option', 'size=1'), 'size'),
            (('check', 'colour', '--member-ttl', '0'), '0'),
            (('new', 'policy', 'a-b'), "'a-b'"),
            (('new', 'backend', 'x', '--kind', 'filter'), '--kind'),
        ):
            done = command_line.run(
                'plugin', *words, env=self.site.environment
            )
            self.assertEqual((2, ''), (done.returncode, done.stdout), words)
            self.assertIn(part, done.stderr)

    def test_package_is_written_once(self) -> None:
        target = self.site.file('new')
        words = ('plugin', 'new', 'backend', 'x', '--directory', str(target))
        done = command_line.run(*words)
        self.assertEqual((0, ''), (done.returncode, done.stderr), done)
        self.assertIn(f'Next:\n  cd {target}\n', done.stdout)
        before = {path: path.stat().st_mtime_ns for path in target.rglob('*')}
        elsewhere = str(self.site.file('no/new'))
        for again, said in (
            (words, 'exists'),
            ((*words, '--directory', elsewhere), 'no/new'),
            ((*words[:3], 'db', *words[4:]), 'installed already'),
        ):
            done = command_line.run(*again)
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertIn(said, done.stderr)
        self.assertEqual(
            before, {path: path.stat().st_mtime_ns for path in before}
        )


class FleetTest(ironics.IronicTestCase):
    def test_nodes_are_never_listed_without_the_configured_shard(self) -> None:
        proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        lab = command_line.Deployment(proxy.url)
        self.addCleanup(lab.close)
        self.enrolment.enrol(3, shard='rack1')
        self.enrolment.enrol(2, shard='rack2')
        config = lab.configure(
            'sharded', policies='shard_key', ironic='shard_key = rack1'
        )
        done = lab.run(
            *('plugin', 'check', 'shard_key', '--option', 'shard_key=rack2'),
            *('--from-ironic', '-f', 'json'),
            config=config,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        found = {row['law']: row for row in json.loads(done.stdout)}
        self.assertGreater(len(found), 10)
        self.assertNotIn('fail', {row['result'] for row in found.values()})
        self.assertEqual(
            'admits 122 of 245 sample nodes',
            found['admitted nodes are in the scope']['detail'],
        )
        self.assertTrue(proxy.lists)
        for query in proxy.lists:
            self.assertIn(('shard', 'rack1'), query)
