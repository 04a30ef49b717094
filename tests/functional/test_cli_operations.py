"""Operations on services and deletions: on the database, and over HTTP."""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Update
from tests.functional.support import both_ways, command_line

GONE = '00000000-0000-4000-8000-0000000000a1'


class OperationsTest(both_ways.BothWaysCase):
    """``idle`` is stopped and owns nothing; Ironic lost a node of ``old``."""

    nodes_of_each = 1

    def setUp(self) -> None:
        super().setUp()
        self.lab.serve('idle', command_line.ALL, alive=False)
        epoch = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.claim('old', epoch, model.Node(GONE, name='gone'))

    def hosts(self) -> set[str]:
        return {row.host for row in self.lab.records.services()}

    def json_of_both(self, *words: str) -> list[Any]:
        """Return both outputs without their request ids."""
        found = []
        for run in (self.local, self.remote):
            done = run(*words, '-f', 'json')
            self.assertEqual(0, done.returncode, done)
            shown = json.loads(done.stdout)
            self.assertRegex(shown.pop('request_id'), '^req-[0-9a-f-]{36}$')
            found.append(shown)
        return found

    def test_service_set(self) -> None:
        words = ('service', 'set', 'NEW', '--disable', '--down')
        local, remote = self.json_of_both(*words, '--dry-run')
        self.assertEqual(local, remote)
        self.same(2, *words)
        why = ('--disable-reason', 'fans', '--reason', 'on fire')
        done = self.remote(*words, *why, '--yes')
        self.assertEqual(0, done.returncode, done)
        event = self.lab.json('event', 'list', '--service', 'new')[0]
        self.assertEqual('service_forced_down', event['kind'])
        self.assertIn('on fire', event['reason'])
        (row,) = [s for s in self.lab.records.services() if s.host == 'new']
        self.assertEqual(
            ('fans', True, True),
            (row.disabled_reason, row.forced_down, row.fenced),
        )
        local, remote = self.json_of_both(*words, '--yes')
        self.assertEqual(local, remote)
        self.assertEqual([], local['changed'])
        self.same(1, 'service', 'set', 'nwe', '--down', '--yes')

    def test_service_delete(self) -> None:
        for host in ('old', 'new'):
            for option in ('--dry-run', '--yes'):
                self.same_in_all_formats(3, 'service', 'delete', host, option)
        words = ('service', 'delete', 'IDLE')
        expected = self.same(0, *words, '--dry-run')
        self.same(2, *words)
        done = self.remote(*words, '--yes')
        self.assertEqual((0, expected), (done.returncode, done.stdout), done)
        self.assertEqual({'new', 'old'}, self.hosts())

    def test_service_failover_is_refused(self) -> None:
        words = ('service', 'failover', 'new', '--to', 'x')
        lines = [
            [line for line in done.stdout.splitlines() if 'req-' not in line]
            + done.stderr.splitlines()
            for done in (self.local(*words), self.remote(*words))
        ]
        self.assertEqual(*lines)
        self.assertIn('refused by standby_alive', lines[0][-1])

    def test_instance_forget(self) -> None:
        instance = GONE.replace('a1', 'b1')
        (old,) = (s for s in self.lab.records.services() if s.host == 'old')
        node = model.Node(GONE, name='gone', instance_uuid=instance)
        self.lab.records.apply('old', old.epoch, [Update(node)])
        why = ('--reason', 'scrapped')
        for command in ('check-delete', 'delete --dry-run'):
            self.same_in_all_formats(
                3, 'compute', 'node', *command.split(), GONE
            )
        words = ('instance', 'forget', 'gone', *why)
        (row,) = self.same_in_all_formats(0, *words, '--dry-run')
        self.assertEqual(
            (instance, GONE, 'would_forget'),
            (row['instance_uuid'], row['node'], row['result']),
        )
        self.same(1, 'instance', 'forget', self.nodes[0], *why, '--yes')
        self.same(2, *words)
        done = self.remote(*words, '--yes')
        self.assertEqual(0, done.returncode, done)
        self.same(1, 'instance', 'forget', instance, *why, '--yes')
        event = self.lab.json('event', 'list', '--limit', '1')[0]
        self.assertEqual(
            ('instance_forgotten', 'scrapped'),
            (event['kind'], event['reason']),
        )
        self.same_in_all_formats(0, 'compute', 'node', 'check-delete', GONE)

    def test_compute_node_delete(self) -> None:
        there = self.nodes[0]
        for words in (
            ('check-delete', there, 'gone'),
            ('delete', 'gone', there, '--dry-run'),
            ('delete', there, '--yes'),
        ):
            self.same_in_all_formats(3, 'compute', 'node', *words)
        self.same_in_all_formats(0, 'compute', 'node', 'check-delete', GONE)
        self.same(2, 'compute', 'node', 'delete', 'gone')
        self.same(1, 'compute', 'node', 'delete', 'gnoe', '--yes')
        done = self.remote('compute', 'node', 'delete', 'gone', '--yes')
        self.assertEqual(0, done.returncode, done)
        self.assertIn('deleted', done.stdout)
        self.assertEqual(set(self.nodes), self.owners().keys())

    def test_compute_node_import(self) -> None:
        there = self.nodes[0]
        (record,) = self.lab.records.compute_nodes_by_uuid([there])
        path = self.lab.directory / 'owners.csv'
        path.write_text(f'uuid,owner\n{there},{record.host}\n{GONE},rack1\n')
        words = ('compute', 'node', 'import', str(path))
        (row,) = self.same_in_all_formats(3, *words, '--dry-run')
        self.assertEqual(
            ['not_owned', 'service_known'], row['failed_gates'][-2:]
        )
        path.write_text(f'{{"{there}": "{record.host}", "x": "y"}}')
        self.same(2, *words)
        rows = self.same_in_all_formats(
            3, *words, '--skip-invalid', '--all', '--yes'
        )
        self.assertEqual(['unchanged'], [row['state'] for row in rows])
