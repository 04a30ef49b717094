"""Records that go back in time under services: promotions and restores.

What the records lose are decisions of operators and of services. The former
have to be repeated, as ``check`` tells; the latter are taken again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import pathlib
import shutil
import signal
import sqlite3
from typing import Any

from lab import replication
from tests.functional.faults.support import incident
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import databases

DONE = 'refreshed: '
"""In the log of each refresh that succeeded."""


class _RewindCase(incident.IncidentTestCase):
    """Two services on a ring; then an operator takes one of them out.

    Lost commits tell nothing of lapses: the history alone has to keep the
    laws.
    """

    with_records = True
    patience = math.inf

    def begin(self) -> None:
        """Start both, and wait until the ring has shared the nodes."""
        self.processes = {
            n: self.deployment.start(n, DEFAULT={'host': n, 'debug': True})
            for n in BOTH
        }
        # A node with an instance stays with the first that owns it.
        self.deployment.wait_for_members(*BOTH)
        self.uuids = self.enrolment.enrol(12, instance_share=0.5)
        self.wait_for_ring(self.uuids, BOTH)

    def wait_until_seen(self) -> None:
        """Wait until host1 has read all that is on record now.

        Only changes that a service has seen can be missed by it.
        """
        refreshes = functools.partial(self.processes['host1'].lines, DONE)
        before = len(refreshes())
        # The next one may have begun before.
        self.deployment.wait_until(
            lambda: len(refreshes()) > before + 1, 'refreshes'
        )

    def succeed(self, *words: str) -> str:
        done = self.deployment.operate(*words)
        self.assertEqual(0, done.returncode, done)
        return done.stdout

    def take_out(self) -> str:
        """Disable host2 and move its nodes; return the id of the move.

        All of this will be lost.
        """
        self.succeed('service', 'set', 'host2', '--down', '--yes')
        self.succeed(
            *('compute', 'node', 'move', '--all', '--from', 'host2'),
            *('--service', 'host1', '--yes'),
        )
        self.wait_for_ring(self.uuids, ('host1',))
        (move,) = json.loads(self.succeed('move', 'list', '-f', 'json'))
        return str(move['request_id'])

    def findings(self) -> dict[str, Any]:
        done = self.deployment.operate('check', '--long', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done)
        return {one['code']: one for one in json.loads(done.stdout)}

    def epochs(self) -> dict[str, int]:
        return {s.host: s.epoch for s in self.deployment.records.services()}

    def repeat(self, move: str) -> None:
        """Do what the documentation and the hints tell."""
        done = self.deployment.operate('move', 'resume', move, '--yes')
        self.assertEqual(1, done.returncode, done)
        self.assertIn('run "compute node move" again', done.stderr)
        self.take_out()


class TestPromotion(_RewindCase):
    """The standby of an asynchronous replication lacks the last commits.

    The services run all the time, and notice the loss. Its clock is late, and
    still no epoch is given again.
    """

    def fresh_url(self) -> str:
        late = incident.clock()
        late.jump(-3600)
        self.servers = replication.Replication(
            databases.temporary_directory('replication')
        )
        self.servers.standby_env = late.env
        self.addCleanup(self.servers.stop)
        self.servers.start()
        assert self.servers.standby is not None
        self.servers.primary.create_database('rewind')
        self.servers.wait_until_streaming()
        ports = self.servers.primary.port, self.servers.standby.port
        return replication.url('rewind', *ports)

    def test_lost_commits_are_found_and_repeated(self) -> None:
        self.begin()
        self.servers.wait_until_streaming()
        self.servers.cut()
        move = self.take_out()
        self.wait_until_seen()
        before = self.epochs()
        self.servers.fail_over()
        # What the operator did is undone.
        self.wait_for_ring(self.uuids, BOTH)
        self.deployment.wait_until(
            lambda: 'records_rewound' in self.findings(), 'finding'
        )
        self.assertFalse(self.deployment.service('host2').forced_down)
        after = self.epochs()
        lost = {(h, e) for h, e in before.items() if after[h] < e}
        self.repeat(move)
        for host in self.findings()['records_rewound']['subjects']:
            self.processes[host].process.signal(signal.SIGHUP)
        self.deployment.wait_until(
            lambda: 'records_rewound' not in self.findings(),
            'end of the finding',
        )
        free = self.uuids[6:]
        self.wait_for_ring(free, ('host1',))
        self.succeed('service', 'set', 'host2', '--up', '--yes')
        self.wait_for_ring(free, BOTH)
        self.assertEqual(set(), lost & set(self.epochs().items()))
        for one in self.processes.values():
            self.assertEqual([], one.lines('unexpected error'))


class TestRestoreOnSqlite(_RewindCase):
    """A file that is copied back."""

    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()

    def test_replaced_file_is_not_used_by_running_services(self) -> None:
        self.begin()
        file = pathlib.Path(
            self.deployment.connection.removeprefix('sqlite:///')
        )
        backup = file.with_suffix('.backup')
        with (
            contextlib.closing(sqlite3.connect(file)) as source,
            contextlib.closing(sqlite3.connect(backup)) as copy,
        ):
            source.backup(copy)
        self.deployment.database.close()
        for suffix in ('-wal', '-shm'):
            pathlib.Path(f'{file}{suffix}').unlink(missing_ok=True)
        shutil.move(backup, file)
        for one in self.processes.values():
            self.deployment.wait_until(
                lambda one=one: one.lines('was replaced or deleted'),
                f'error of {one.name}',
            )
            self.assertEqual(0, one.terminate())
        for host in BOTH:
            self.deployment.start(host)
        self.wait_for_ring(self.uuids, BOTH)


del _RewindCase
