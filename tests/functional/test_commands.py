"""Commands that read, in processes: on the database, and over HTTP.

Beside a real Ironic; ``tests/unit/cli/test_callers.py`` compares many more
commands in one process.
"""

from __future__ import annotations

from typing import Any

from lab import process
from tests.functional.support import api_process, command_line, ironics

READS = (
    # exit code, words
    (0, 'compute node list'),
    (0, 'compute node list --long'),
    (0, 'compute node list --shard rack9'),
    (0, 'compute node list --state orphan'),
    (0, 'compute node show {contested}'),
    (0, 'compute node explain {contested}'),
    (3, 'compute node check-delete {owned}'),
    (0, 'service list --long'),
    (1, 'service show rakc1'),
    (0, 'member list'),
    (0, 'ring preview --without rack2 --nodes'),
    (0, 'policy compare all shard_key --option shard_key=x'),
    (0, 'event list --limit 3'),
    (4, 'check --long'),
)


class ReadingTest(api_process.ApiCase):
    """Two services on shards, one on a group; a node of each state."""

    def setUp(self) -> None:
        super().setUp()
        self.config = self.configure(
            policies='shard_key', ironic='shard_key = rack1'
        )
        self.api = self.run_server(api_process.program(self.config, self.log))

    def populate(self) -> None:
        self.proxy = ironics.RecordingProxy(self.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        epoch = self.lab.serve('rack1', command_line.shard('rack1'))
        self.lab.serve('rack2', command_line.shard('rack2'))
        self.lab.serve('group1', command_line.group('g1'))
        self.nodes = {
            state: self.enrol(state, **where)
            for state, where in (
                ('owned', {'shard': 'rack1'}),
                ('filtered', {'shard': 'rack1', 'instance_share': 1.0}),
                ('orphan', {'shard': 'rack1'}),
                ('unowned', {'shard': 'rack9'}),
                ('contested', {'shard': 'rack2', 'conductor_group': 'g1'}),
            )
        }
        _, filtered, orphan, *_ = recorded = [*self.nodes.values()][:3]
        found = [self.bare_metal.get(uuid) for uuid in recorded]
        self.lab.claim('rack1', epoch, *filter(None, found))
        self.enrolment.set_shard(filtered, 'rack9')
        self.enrolment.delete(orphan)

    def enrol(self, state: str, **where: Any) -> str:
        (uuid,) = self.enrolment.enrol(1, prefix=state, **where)
        return uuid

    def both(self, *words: str) -> tuple[command_line.Done, command_line.Done]:
        """Run a command on the database, and at the HTTP service."""
        return (
            self.lab.run(*words, config=self.config),
            command_line.run('--os-endpoint-override', self.api.url, *words),
        )

    def test_answers_are_the_same_and_every_list_names_a_shard(self) -> None:
        for code, words in READS:
            given = words.format(**self.nodes).split()
            local, remote = self.both(*given, '-f', 'json')
            self.assertEqual(
                (code, local.stdout, local.stderr),
                (remote.returncode, remote.stdout, remote.stderr),
                words,
            )
            self.assertEqual(code, local.returncode, local)
            self.assertNotIn('Traceback', local.stderr)
        self.enrol('elsewhere')
        for done in self.both('ring', 'preview', '--without', 'rack1'):
            self.assertEqual(4, done.returncode)
            self.assertIn('without a shard left out', done.stderr)
        self.assertGreater(len(self.proxy.lists), 10)
        for query in self.proxy.lists:
            self.assertTrue(dict(query).get('shard'), query)
        # All of them without a shard key.
        states = {
            row['uuid']: row['state']
            for row in self.lab.json('compute', 'node', 'list')
        }
        for state, uuid in self.nodes.items():
            self.assertEqual(state, states[uuid])

    def test_what_is_not_the_http_service_is_named(self) -> None:
        for url, said in (
            (f'http://127.0.0.1:{process.free_port()}', 'no answer'),
            (self.server.endpoint, 'is not the HTTP service'),
            ('127.0.0.1', 'cannot be used'),
        ):
            done = command_line.run('--os-endpoint', url, 'service', 'list')
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertIn(said, done.stderr)
            self.assertEqual(1, done.stderr.count('\n'), done.stderr)
