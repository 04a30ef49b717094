"""The command line on SQLite: operations on services."""

from __future__ import annotations

import os
import pty
import subprocess

from ironic_ownership.contracts import model
from tests.functional.support import command_line, command_line_case

NODE = '00000000-0000-4000-8000-00000000000{}'
INSTANCE = '00000000-0000-4000-8000-0000000000f1'


class _Case(command_line_case.CommandLineTestCase):
    """``rack1`` is alive with two nodes, ``old`` is dead and owns nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.lab.serve('rack1', command_line.shard('rack1'))
        self.lab.claim(
            'rack1',
            self.epoch,
            model.Node(NODE.format(1)),
            model.Node(NODE.format(2), instance_uuid=INSTANCE),
        )
        self.lab.serve('old', command_line.ALL, alive=False)

    def state(self) -> tuple[object, ...]:
        records = self.lab.records
        return records.services(), records.compute_nodes(), records.events()

    def service(self, host: str) -> model.Service:
        return next(s for s in self.lab.records.services() if s.host == host)

    def assert_changes_nothing(self, code: int, *words: str) -> str:
        """Run a command that must leave no trace; return its output."""
        before = self.state()
        done = self.lab.run(*words)
        self.assertEqual(code, done.returncode, done)
        self.assertNotIn('Traceback', done.stderr)
        self.assertEqual(before, self.state())
        return done.stdout + done.stderr


class SetServiceTest(_Case):
    def test_service_is_disabled_with_a_reason_and_enabled(self) -> None:
        shown = self.lab.json(
            *('service', 'set', 'RACK1', '--disable', '--yes'),
            *('--disable-reason', 'new fans'),
        )
        self.assertEqual(
            [
                'host',
                'status',
                'disabled_reason',
                'forced_down',
                'fenced',
                'epoch',
                'changed',
                'dry_run',
                'request_id',
            ],
            list(shown),
        )
        self.assertEqual(
            ('rack1', 'disabled', 'new fans', False),
            (
                shown['host'],
                shown['status'],
                shown['disabled_reason'],
                shown['dry_run'],
            ),
        )
        self.assertRegex(shown['request_id'], '^req-[0-9a-f-]{36}$')
        self.assertTrue(self.service('rack1').disabled)
        self.lab.json('service', 'set', 'rack1', '--enable', '--yes')
        self.assertEqual(
            (False, None),
            (
                self.service('rack1').disabled,
                self.service('rack1').disabled_reason,
            ),
        )


class DeleteServiceTest(_Case):
    def test_dead_and_empty_service_is_deleted(self) -> None:
        gates = self.lab.json('service', 'delete', 'OLD', '--yes')
        self.assertEqual(
            ['no_compute_nodes', 'no_instances', 'not_alive'],
            [gate['gate'] for gate in gates],
        )
        self.assertTrue(all(gate['passed'] for gate in gates))
        self.assertEqual(
            ['rack1'], [s.host for s in self.lab.records.services()]
        )

    def test_refusal_lists_everything_that_remains(self) -> None:
        said = self.assert_changes_nothing(
            3, 'service', 'delete', 'rack1', '--yes'
        )
        for word in (
            *(NODE.format(1), NODE.format(2), INSTANCE),
            'refused by: no_compute_nodes, no_instances, not_alive',
        ):
            self.assertIn(word, said)

    def test_terminal_is_asked_and_only_yes_is_yes(self) -> None:
        for answer, deleted in (
            (b'\n', False),
            (b'no\n', False),
            (b'y\n', True),
        ):
            code, said = self.on_terminal(answer, 'service', 'delete', 'old')
            self.assertIn('Delete service old? [y/N]', said)
            self.assertEqual(0 if deleted else 1, code, said)
            hosts = [s.host for s in self.lab.records.services()]
            self.assertEqual(deleted, 'old' not in hosts)

    def on_terminal(self, answer: bytes, *words: str) -> tuple[int, str]:
        """Run the program with a terminal as its standard input."""
        ours, its = pty.openpty()
        try:
            os.write(ours, answer)
            done = subprocess.run(
                [
                    *(str(command_line.PROGRAM), '--config-file'),
                    *(str(self.lab.config), *words),
                ],
                stdin=its,
                capture_output=True,
                text=True,
                timeout=180,
                cwd='/',
            )
        finally:
            os.close(ours)
            os.close(its)
        return done.returncode, done.stdout + done.stderr
