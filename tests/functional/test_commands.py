"""Families of commands in processes: on the database, and over HTTP.

Beside a real Ironic; ``tests/unit/cli/test_callers.py`` compares many more
commands in one process.
"""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts import model
from lab import process
from tests.functional.support import api_process, command_line, ironics

GONE = '00000000-0000-4000-8000-0000000000a1'
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


class _BothWays(api_process.ApiCase):
    """Commands on the database, and at an HTTP service without Keystone."""

    options: dict[str, str] = {}

    def setUp(self) -> None:
        super().setUp()
        self.config = self.configure(**self.options)
        self.api = self.run_server(api_process.program(self.config, self.log))

    def both(self, *words: str) -> tuple[command_line.Done, command_line.Done]:
        return (
            self.lab.run(*words, config=self.config),
            command_line.run('--os-endpoint-override', self.api.url, *words),
        )

    def assert_same(self, code: int, *words: str) -> Any:
        """Run a command both ways; return what it prints, read from JSON."""
        local, remote = self.both(*words, '-f', 'json')
        self.assertEqual(
            (code, local.stdout, local.stderr),
            (remote.returncode, remote.stdout, remote.stderr),
            words,
        )
        self.assertEqual(code, local.returncode, local)
        self.assertNotIn('Traceback', local.stderr)
        return json.loads(local.stdout) if local.stdout else []


class ReadingTest(_BothWays):
    """Two services on shards, one on a group; a node of each state."""

    options = {'policies': 'shard_key', 'ironic': 'shard_key = rack1'}

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

    def test_answers_are_the_same_and_every_list_names_a_shard(self) -> None:
        for code, words in READS:
            with self.subTest(words):
                self.assert_same(code, *words.format(**self.nodes).split())
        self.enrol('elsewhere')
        for done in self.both('ring', 'preview', '--without', 'rack1'):
            self.assertEqual(4, done.returncode)
            self.assertIn('without a shard are left out', done.stderr)
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

    def test_servers_that_do_not_answer_are_named(self) -> None:
        """Show what is known; exit code 4 means that the rest is unknown."""
        for url, said in (
            (f'http://127.0.0.1:{process.free_port()}', 'no answer'),
            (self.server.endpoint, 'is not the HTTP service'),
            ('127.0.0.1', 'cannot be used'),
        ):
            done = command_line.run('--os-endpoint', url, 'service', 'list')
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertIn(said, done.stderr)
            self.assertEqual(1, done.stderr.count('\n'), done.stderr)
        lost = 'connection = mysql+pymysql://u:hunter2@127.0.0.1:1/x'
        for section, words, code, said in (
            ('database', 'check', 4, 'records_unavailable'),
            ('backend_db', 'service list', 4, 'warning: liveness is unknown'),
            ('backend_db', 'member list', 1, '127.0.0.1'),
        ):
            with self.subTest(words, section=section):
                config = self.lab.configure(
                    'lost', more=f'[{section}]\n{lost}'
                )
                done = self.lab.run(*words.split(), config=config)
                self.assertEqual(code, done.returncode, done)
                self.assertIn(said, done.stdout + done.stderr)
                self.assertLess(done.stderr.count('\n'), 2, done.stderr)
                self.assertNotIn('hunter2', done.stdout + done.stderr)


class ChangingTest(_BothWays):
    """``old`` is stopped and owns five nodes, of which Ironic lost one."""

    def populate(self) -> None:
        super().populate()
        self.lab.serve('idle', command_line.ALL, alive=False)
        epoch = self.lab.serve('old', command_line.ALL, alive=False)
        gone = model.Node(
            GONE, name='gone', instance_uuid=GONE.replace('a1', 'b1')
        )
        self.lab.claim('old', epoch, gone)

    def moved(self, done: command_line.Done) -> list[dict[str, Any]]:
        """Return what a move says, without what differs in each."""
        self.assertEqual(0, done.returncode, done)
        differs = ('request_id', 'uuid', 'name')
        return [
            {k: v for k, v in row.items() if k not in differs}
            for row in json.loads(done.stdout)
        ]

    def test_deployment_is_changed_both_ways(self) -> None:
        config = ('--os-endpoint-override', self.api.url)
        to = ('--service', 'new', '--yes', '-f', 'json')
        first, second, *_ = self.nodes
        move = ('compute', 'node', 'move')
        self.assertEqual(
            self.moved(self.lab.run(*move, first, *to)),
            self.moved(command_line.run(*config, *move, second, *to)),
        )
        self.assertEqual(2, len(self.assert_same(0, 'move', 'list')))
        words = ('compute', 'node', 'delete', 'gone')
        self.assert_same(3, *words, '--dry-run')
        for change in (
            ('instance', 'forget', 'gone', '--reason', 'scrapped'),
            words,
            ('service', 'drain', 'OLD'),
            ('service', 'delete', 'IDLE'),
            ('service', 'set', 'NEW', '--disable', '--reason', 'on fire'),
        ):
            done = command_line.run(*config, *change, '--yes')
            self.assertEqual(0, done.returncode, done)
        self.assertEqual(dict.fromkeys(self.nodes, 'new'), self.owners())
        (event, *_) = self.lab.json('event', 'list', '--service', 'new')
        self.assertIn('on fire', event['reason'])
        # The request is found in the log of the service.
        done = command_line.run(*config, 'event', 'list', '-v')
        request_id = done.stderr.split()[-1]
        self.assertIn(request_id, self.api.process.log.read_text())
