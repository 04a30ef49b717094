"""The same command on the database and at the HTTP service.

In processes, with a real Ironic; ``tests/unit/cli/test_callers.py`` compares
many more in one process.
"""

from __future__ import annotations

import json

from ironic_ownership.contracts import model
from lab import process
from tests.functional.support import both_ways, command_line

GONE = '00000000-0000-4000-8000-0000000000a1'


class ReadingTest(both_ways.BothWaysCase):
    nodes_of_each = 2

    def test_compute_nodes(self) -> None:
        node = self.nodes[0]
        record, *_ = self.lab.records.compute_nodes_by_uuid([node])
        assert record.name is not None
        rows = self.same_in_all_formats(0, 'compute', 'node', 'list')
        self.assertEqual(len(self.nodes), len(rows))
        for words in (('show',), ('explain',)):
            self.same_in_all_formats(0, 'compute', 'node', *words, record.name)
        self.same(3, 'compute', 'node', 'check-action', node)
        self.lab.records.set_service('old', actor='test', disabled=False)
        self.lab.serve('old', command_line.ALL)
        self.same_in_all_formats(0, 'compute', 'node', 'check-action', node)

    def test_nodes_are_validated_before_they_are_enrolled(self) -> None:
        path = self.lab.directory / 'nodes.yaml'
        path.write_text(
            'nodes:\n- {name: one, driver: fake-hardware, resource_class: x}\n'
        )
        self.same_in_all_formats(0, 'node', 'validate', str(path))
        path.write_text('- {name: a b, driver: x, extra: {day: 2026-01-01}}')
        self.same_in_all_formats(3, 'node', 'validate', str(path))
        path.write_text('{}')
        self.same(2, 'node', 'validate', str(path))

    def test_service_that_does_not_answer(self) -> None:
        port = process.free_port()
        for url, said in (
            (f'http://127.0.0.1:{port}', 'no answer'),
            (self.server.endpoint, 'is not the HTTP service'),
            ('127.0.0.1', 'cannot be used'),
        ):
            done = command_line.run('--os-endpoint', url, 'service', 'list')
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertIn(said, done.stderr)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)

    def test_request_is_found_in_the_log_of_the_service(self) -> None:
        done = self.remote('event', 'list', '-v')
        (line,) = done.stderr.splitlines()
        request_id = line.rpartition(' ')[2]
        self.assertIn(request_id, self.api.process.log.read_text())


class MoveTest(both_ways.BothWaysCase):
    nodes_of_each = 2

    def rows(self, done: command_line.Done) -> list[dict[str, object]]:
        """Return the rows without the ids of requests."""
        rows = json.loads(done.stdout)
        return [
            {k: v for k, v in r.items() if k != 'request_id'} for r in rows
        ]

    def moving(self, *words: str) -> list[str]:
        return ['compute', 'node', 'move', *words, '-f', 'json']

    def test_nodes_are_moved_both_ways(self) -> None:
        results = []
        for run, node in ((self.local, 0), (self.remote, 1)):
            words = (self.nodes[node], '--service', 'new', '--yes')
            done = run(*self.moving(*words))
            self.assertEqual(0, done.returncode, done)
            results.append(done)
        (first,), (second,) = map(self.rows, results)
        names = ('uuid', 'name')
        self.assertEqual(
            {k: v for k, v in first.items() if k not in names},
            {k: v for k, v in second.items() if k not in names},
        )
        owners = self.owners()
        self.assertEqual(
            ['new', 'new', 'old', 'old'], [owners[n] for n in self.nodes]
        )
        self.assertEqual(2, len(self.same_in_all_formats(0, 'move', 'list')))


class ChangesTest(both_ways.BothWaysCase):
    """``idle`` is stopped and owns nothing; Ironic lost a node of ``old``."""

    nodes_of_each = 1

    def setUp(self) -> None:
        super().setUp()
        self.lab.serve('idle', command_line.ALL, alive=False)
        epoch = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.claim(
            'old',
            epoch,
            model.Node(
                GONE, name='gone', instance_uuid=GONE.replace('a1', 'b1')
            ),
        )

    def test_services_and_records_are_changed_over_http(self) -> None:
        words = ('compute', 'node', 'delete', 'gone')
        self.same_in_all_formats(3, *words, '--dry-run')
        for change in (
            ('instance', 'forget', 'gone', '--reason', 'scrapped'),
            words,
            ('service', 'delete', 'IDLE'),
            ('service', 'set', 'NEW', '--disable', '--reason', 'on fire'),
        ):
            done = self.remote(*change, '--yes')
            self.assertEqual(0, done.returncode, done)
        self.assertEqual(set(self.nodes), self.owners().keys())
        self.assertEqual(
            {'old': True, 'new': True},
            {row.host: row.disabled for row in self.lab.records.services()},
        )
        (event, *_) = self.lab.json('event', 'list', '--service', 'new')
        self.assertIn('on fire', event['reason'])
