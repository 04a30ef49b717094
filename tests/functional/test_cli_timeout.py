"""``--timeout``: the end of a command, while servers never answer."""

from __future__ import annotations

import contextlib
import socket
import unittest
from collections.abc import Iterator
from concurrent import futures

from ironic_ownership.contracts import model
from tests.functional.support import command_line

NODE = '00000000-0000-4000-8000-0000000000a1'
LIMIT = 20
"""Seconds: commands have to come as far as their first request."""


@contextlib.contextmanager
def silent_server() -> Iterator[str]:
    """Accept connections like a frozen server, and yield the URL."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield f'http://127.0.0.1:{server.getsockname()[1]}'


class TimeoutTest(unittest.TestCase):
    """Ironic, or the HTTP service, is frozen."""

    def setUp(self) -> None:
        super().setUp()
        self.silent = self.enterContext(silent_server())
        self.lab = command_line.Deployment(self.silent)
        self.addCleanup(self.lab.close)
        epoch = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.serve('new', command_line.ALL)
        self.lab.claim('old', epoch, model.Node(NODE, name='one'))

    def test_servers_that_do_not_answer_are_named(self) -> None:
        limit = ('--timeout', str(LIMIT))
        there = ('--os-endpoint-override', self.silent)
        move = ('compute', 'node', 'move', NODE, '--service', 'new', '--yes')
        with futures.ThreadPoolExecutor() as pool:
            check, remote, moving = pool.map(
                lambda run: run(),
                (
                    lambda: self.lab.run(*limit, 'check'),
                    lambda: command_line.run(*there, *limit, 'check'),
                    lambda: self.lab.run(*limit, *move),
                ),
            )
        for done in (check, remote, moving):
            self.assertEqual((4, ''), (done.returncode, done.stdout), done)
            self.assertEqual(1, done.stderr.count('\n'), done)
            self.assertIn(f'error: no result within {LIMIT} s', done.stderr)
        self.assertIn('No answer yet from: Ironic (', check.stderr)
        self.assertNotIn('event list', check.stderr)
        expected = f'from: the HTTP service at {self.silent} ('
        self.assertIn(expected, remote.stderr)
        # Nothing is lost, and nothing is claimed to be done.
        self.assertRegex(
            moving.stderr, 'event list --request-id req-[0-9a-f-]{36}"'
        )
        self.assertIn('"ironic-ownership move list --unf', moving.stderr)
        (record,) = self.lab.records.compute_nodes()
        self.assertEqual('old', record.host)
        self.assertEqual([], self.lab.json('move', 'list', '--unfinished'))
