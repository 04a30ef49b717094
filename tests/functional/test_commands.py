"""Each family of commands in processes: on the database, and over HTTP.

Beside a real Ironic; ``tests/unit/cli/test_callers.py`` compares many more
commands in one process.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import Any

from ironic_ownership.contracts import model
from lab import process
from tests.functional.support import (
    api_process,
    command_line,
    hosts,
    ironics,
    member_expiry,
)

LOST = 'mysql+pymysql://u:hunter2@127.0.0.1:1/x'
GONE = '00000000-0000-4000-8000-0000000000a1'
SHORT = [
    *('uuid', 'name', 'service', 'state', 'instance_uuid'),
    *('shard', 'conductor_group', 'reason', 'unavailable'),
]
SERVICE = [
    *('host', 'alive', 'status', 'forced_down', 'epoch', 'nodes'),
    *('instances', 'conditions'),
]
READS: tuple[tuple[int, str, list[str]], ...] = (
    # exit code, words, the first keys of what is printed as JSON
    (0, 'compute node list', SHORT),
    (0, 'compute node list --long', [*SHORT, 'driver', 'provision_state']),
    (0, 'compute node list --shard rack9', []),
    (0, 'compute node list --conductor-group g1', []),
    (0, 'compute node list --state orphan', SHORT),
    (0, 'compute node list --recorded', []),
    (0, 'compute node show {contested}', [*SHORT, 'unavailable_detail']),
    (1, 'compute node show nonesuch', []),
    (
        0,
        'compute node explain {contested}',
        ['uuid', 'name', 'state', 'inputs'],
    ),
    (0, 'compute node check-action {owned}', ['uuid', 'name']),
    (3, 'compute node check-delete {owned}', ['uuid']),
    (0, 'service list', SERVICE),
    (0, 'service list --long', [*SERVICE, 'free', 'unavailable']),
    (0, 'service show RACK1', SERVICE),
    (1, 'service show rakc1', []),
    (0, 'member list', ['host', 'role', 'machine', 'pid']),
    (0, 'member list --long', []),
    (0, 'ring show', ['ring', 'host', 'live', 'assigner']),
    (0, 'ring preview --without rack2 --nodes', ['nodes', 'moves', 'share']),
    # It does not tell in which of the rings.
    (1, 'ring preview --with rack4', []),
    (0, 'policy compare all shard_key --option shard_key=x', ['nodes']),
    (0, 'move list', []),
    (0, 'event list --limit 3', ['at']),
    (0, 'reservation list', []),
    (4, 'check --long', ['severity', 'code', 'what', 'kind', 'count']),
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
        self.states = {
            self.enrol(state, **where): state
            for state, where in (
                ('owned', {'shard': 'rack1'}),
                ('filtered', {'shard': 'rack1', 'instance_share': 1.0}),
                ('orphan', {'shard': 'rack1'}),
                ('unowned', {'shard': 'rack9'}),
                ('contested', {'shard': 'rack2', 'conductor_group': 'g1'}),
            )
        }
        _, filtered, orphan, *_ = recorded = [*self.states][:3]
        found = [self.bare_metal.get(uuid) for uuid in recorded]
        self.lab.claim('rack1', epoch, *filter(None, found))
        self.enrolment.set_shard(filtered, 'rack9')
        self.enrolment.delete(orphan)

    def enrol(self, state: str, **where: Any) -> str:
        (uuid,) = self.enrolment.enrol(1, prefix=state, **where)
        return uuid

    def test_answers_are_the_same_and_every_list_names_a_shard(self) -> None:
        nodes = {state: uuid for uuid, state in self.states.items()}
        for code, words, keys in READS:
            with self.subTest(words):
                said = self.assert_same(code, *words.format(**nodes).split())
                first = said[0] if keys and isinstance(said, list) else said
                self.assertEqual(keys, [*first][: len(keys)])
        self.enrol('elsewhere')
        local, remote = self.both('ring', 'preview', '--without', 'rack1')
        self.assertEqual((4, 4), (local.returncode, remote.returncode))
        for done in (local, remote):
            self.assertIn('without a shard are left out', done.stderr)
        self.assertGreater(len(self.proxy.lists), 20)
        for query in self.proxy.lists:
            self.assertTrue(dict(query).get('shard'), query)

    def test_each_state_comes_about_and_is_shown_as_it_is_listed(
        self,
    ) -> None:
        rows = {
            row['uuid']: row
            for row in self.lab.json('compute', 'node', 'list')
        }
        self.assertEqual(
            self.states, {uuid: row['state'] for uuid, row in rows.items()}
        )
        self.proxy.requests.clear()
        for uuid, row in rows.items():
            shown = self.lab.json(
                *('compute', 'node', 'show', uuid), config=self.config
            )
            self.assertEqual(row, {key: shown[key] for key in SHORT})
        # A uuid is looked up without a filter.
        self.assertEqual([], self.proxy.lists)
        done = self.lab.run('check', '-f', 'json')
        self.assertLessEqual(
            {'orphan', 'filtered', 'unowned', 'contested'},
            {found['code'] for found in json.loads(done.stdout)},
        )

    def test_nodes_are_validated_before_they_are_enrolled(self) -> None:
        path = self.lab.directory / 'nodes.yaml'
        good = 'name: one, driver: fake-hardware, resource_class: x'
        for code, text in (
            (0, f'nodes: [{{{good}, shard: rack1}}]'),
            (3, '- {name: a b, driver: x, extra: {day: 2026-01-01}}'),
            (2, '{}'),
        ):
            path.write_text(text)
            self.assert_same(code, 'node', 'validate', str(path))

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
        records = self.lab.configure(
            'records', more=f'[database]\nconnection = {LOST}'
        )
        members = self.lab.configure(
            'members', more=f'[backend_db]\nconnection = {LOST}'
        )
        self.server.kill()
        self.addCleanup(self.server.start)
        for config, words, code, said in (
            (None, 'check', 4, 'ironic_unavailable'),
            (None, 'service list --long', 4, 'Ironic is unknown'),
            (None, 'compute node list', 1, 'Ironic'),
            (records, 'check', 4, 'records_unavailable'),
            (members, 'service list', 4, 'warning: liveness is unknown'),
            (members, 'service show rack1', 4, 'liveness is unknown'),
            (members, 'member list', 1, '127.0.0.1'),
        ):
            with self.subTest(words):
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
        self.lab.serve('spare', command_line.ALL, alive=False)
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
        first, second, *others = self.nodes
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
        self.assertEqual(2, len(others))
        (event, *_) = self.lab.json('event', 'list', '--service', 'new')
        self.assertIn('on fire', event['reason'])
        # The request is found in the log of the service.
        done = command_line.run(*config, 'event', 'list', '-v')
        request_id = done.stderr.split()[-1]
        self.assertIn(request_id, self.api.process.log.read_text())

    def test_terminal_is_asked_and_only_yes_is_yes(self) -> None:
        for answer, deleted in ((b'\n', 0), (b'no\n', 0), (b'y\n', 1)):
            ours, its = pty.openpty()
            os.write(ours, answer)
            done = subprocess.run(
                [
                    *(str(command_line.PROGRAM), '--config-file'),
                    *(str(self.lab.config), 'service', 'delete', 'spare'),
                ],
                stdin=its,
                capture_output=True,
                text=True,
                timeout=180,
            )
            os.close(ours)
            os.close(its)
            self.assertIn('Delete service spare? [y/N]', done.stderr)
            self.assertEqual(0 if deleted else 1, done.returncode, done)
            known = [row.host for row in self.lab.records.services()]
            self.assertEqual(not deleted, 'spare' in known)


class HostsTest(hosts.HostsTestCase):
    """Real host processes: what they report is what the check expects."""

    def check(self) -> dict[str, dict[str, Any]]:
        done = self.deployment.operate('check', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done)
        return {p['code']: p for p in json.loads(done.stdout)}

    def wait_for_check(self, *codes: str) -> None:
        self.deployment.wait_until(
            lambda: set(self.check()) == set(codes), f'check {codes}'
        )

    def test_services_at_rest_are_well_and_a_dead_one_is_missed(self) -> None:
        for name in ('host1', 'host2'):
            host = self.deployment.start(name)
        self.deployment.wait_for_members('host1', 'host2')
        # Only now: the first service would keep all nodes with an instance.
        uuids = self.enrolment.enrol(
            24, same_every_time=True, instance_share=0.5
        )
        self.deployment.wait_until(
            lambda: set(self.deployment.owners()) == set(uuids),
            'owner of each node',
        )
        self.wait_for_check()
        deployed = self.deployment.owned_by('host2') & set(uuids[:12])
        host.kill()
        member_expiry.bury(self.deployment, 'host2')
        # Free nodes follow the ring, deployed ones wait for an operator.
        self.wait_for_check('owner_dead_with_instance')
        found = self.check()['owner_dead_with_instance']
        self.assertEqual(len(deployed), found['count'])
        self.assertEqual(['host2'], found['services'])
