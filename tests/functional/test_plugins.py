"""Plugins of third parties in real processes, in good order and in bad."""

from __future__ import annotations

import json
import unittest

from tests.functional.support import (
    command_line,
    databases,
    hosts,
    ironics,
    plugin_packages,
)

MOODS = """
    from ironic_ownership.db.heartbeats import DatabaseBackend

    def act(where):
        if mood() == f'exit {where}':
            sys.exit(0)
        while mood() == f'hang {where}':
            time.sleep(0.05)

    def read(options):
        act('source')
        return 'a table'

    class Moody(AssignerPolicy):
        contract_version = 2
        rebalancing = True
        sources = (Source('table', read, 'A table.', interval=1, timeout=1),)

        def __init__(self, settings):
            super().__init__(settings)
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

    class Store(DatabaseBackend):
        contract_version = 1

        def view(self):
            act('view')
            return super().view()
"""
# A call that ends it, and two that do not return; each kind of call and each
# end of it are those of the guards in unit/engine.
FAULTS = (
    # mood, loop that tells of it, words
    ('exit choose', 'refresh', 'SystemExit'),
    ('hang source', 'sources', 'has not been read after 1 s'),
    ('hang view', 'heartbeat', 'view() has not returned'),
)


class RunningTest(hosts.HostsTestCase):
    """A fault stays with the service that chose the plugin, and ends."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.MoodySite()
        self.site.install(
            'their-moods',
            MOODS,
            {'moody': 'Moody'},
            {'store': 'Store'},
        )
        self.deployment.environment = self.site.moody
        self.owners: dict[str, str] = {}
        self.innocent = self.deployment.start(
            'host1', 'conductor_group', ironic={'conductor_group': 'g1'}
        )
        self.host = self.deployment.start(
            'host2',
            'conductor_group,moody',
            ironic={'conductor_group': 'g2'},
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

    def wait_for_error(self, loop: str, words: str) -> None:
        self.deployment.wait_until(
            lambda: words in self.error(loop), f'{words} of {loop}'
        )

    def test_fault_hurts_its_own_service_only_and_ends(self) -> None:
        for mood, loop, words in FAULTS:
            with self.subTest(mood):
                self.site.feel(mood)
                self.wait_for_error(loop, words)
                self.assertIn('their-moods 1.5', self.error(loop))
                if loop == 'refresh':
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
        # Neither a call nor a thread keeps the process from its end.
        self.site.feel('hang choose')
        self.enrol('g2', 'host2')
        self.wait_for_error('refresh', 'takes longer than 10 s')
        self.assertEqual(0, self.host.terminate())
        self.assertTrue(
            [x for x in self.host.lines('did not stop') if 'stubborn' in x],
            self.host.troubles(),
        )
        self.assertEqual({'host1'}, self.deployment.members())


class CommandsTest(unittest.TestCase):
    """``plugin check`` and ``plugin new``."""

    def test_what_cannot_be_checked_is_refused(self) -> None:
        lab = command_line.Deployment()
        self.addCleanup(lab.close)
        lab.serve('rack1', command_line.ALL)
        done = command_line.run(
            *('plugin', 'check', 'db', '--option', f'connection={lab.url}'),
            *('--time-limit', '60', '-f', 'json'),
        )
        self.assertEqual(1, done.returncode, done.stderr)
        (row,) = json.loads(done.stdout)
        self.assertEqual('its store can be used', row['law'])
        self.assertIn('rack1', row['detail'])
        for words, part in (
            (('check', 'shard_kye'), 'shard_key'),
            (('check', 'shard_key', '--option', 'size=1'), 'size'),
            (('check', 'shard_key', '--member-ttl', '0'), '0'),
            (('new', 'policy', 'a-b'), "'a-b'"),
            (('new', 'backend', 'x', '--kind', 'filter'), '--kind'),
        ):
            done = command_line.run('plugin', *words)
            self.assertEqual((2, ''), (done.returncode, done.stdout), words)
            self.assertIn(part, done.stderr)

    def test_package_is_written_once(self) -> None:
        target = databases.temporary_directory('plugin') / 'new'
        words = ('plugin', 'new', 'backend', 'x', '--directory', str(target))
        done = command_line.run(*words)
        self.assertEqual((0, ''), (done.returncode, done.stderr), done)
        self.assertIn(f'Next:\n  cd {target}\n', done.stdout)
        before = {path: path.stat().st_mtime_ns for path in target.rglob('*')}
        elsewhere = str(target.parent / 'no' / 'new')
        for again, said in (
            (words, 'exists'),
            ((*words, '--directory', elsewhere), 'no/new'),
            ((*words[:3], 'db', *words[4:]), 'installed already'),
            ((*words[:3], 'plugin_kit', *words[4:]), 'installed already'),
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
