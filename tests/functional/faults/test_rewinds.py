"""Records that go back in time under services: promotions and restores.

What the records lose are decisions of operators and of services. The former
have to be repeated, as ``check`` tells; the latter are taken again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import shutil
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

from lab import replication
from tests.functional.faults.support import incident
from tests.functional.support import databases

BOTH = ('host1', 'host2')
DONE = 'refreshed: '
"""In the log of each refresh that succeeded."""


class _RewindCase(incident.RecordsTestCase):
    """Two services on a ring; then an operator takes one of them out."""

    def begin(self) -> None:
        """Start both, and wait until the ring has shared the nodes."""
        self.processes = {
            n: self.deployment.start(n, DEFAULT={'host': n, 'debug': True})
            for n in BOTH
        }
        # A node with an instance stays with the first that owns it.
        self.deployment.wait_for_members(*BOTH)
        uuids = self.enrolment.enrol(12, instance_share=0.5)
        self.deployed, self.free = uuids[:6], uuids[6:]
        self.wait_for_ring(*BOTH)
        self.wait_for_owners(*BOTH)

    def wait_for_ring(self, *names: str) -> None:
        """Wait until each free node belongs to one of these."""
        self.deployment.wait_for_ring(self.free, names)

    def wait_for_owners(self, *names: str) -> None:
        """Wait until each node with an instance belongs to one of these."""
        self.deployment.wait_for_ring(self.deployed, names)

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

    def take_out(self) -> str:
        """Disable host2 and move its nodes; return the id of the move.

        All of this will be lost.
        """
        for words in (
            ('service', 'set', 'host2', '--down', '--yes'),
            (
                *('compute', 'node', 'move', '--all', '--from', 'host2'),
                *('--service', 'host1', '--yes'),
            ),
        ):
            done = self.deployment.operate(*words)
            self.assertEqual(0, done.returncode, done)
        self.wait_for_ring('host1')
        self.wait_for_owners('host1')
        (move,) = json.loads(
            self.deployment.operate('move', 'list', '-f', 'json').stdout
        )
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


class _RunningCase(_RewindCase):
    """The services run all the time, and notice the loss."""

    def lose(self, rewind: Callable[[], object]) -> None:
        """Let commits be lost by a function, and follow the hints."""
        move = self.take_out()
        self.wait_until_seen()
        before = self.epochs()
        rewind()
        # What the operator did is undone.
        self.wait_for_ring(*BOTH)
        self.wait_for_owners(*BOTH)
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
        self.wait_for_ring('host1')
        done = self.deployment.operate(
            'service', 'set', 'host2', '--up', '--yes'
        )
        self.assertEqual(0, done.returncode, done)
        self.wait_for_ring(*BOTH)
        self.assertEqual(set(), lost & set(self.epochs().items()))
        for one in self.processes.values():
            self.assertEqual([], one.lines('unexpected error'))


class TestPromotion(_RunningCase):
    """The standby of an asynchronous replication lacks the last commits."""

    def setUp(self) -> None:
        self.servers = replication.Replication(
            databases.temporary_directory('replication')
        )
        self.addCleanup(self.servers.stop)
        self.servers.start()
        super().setUp()

    def fresh_url(self) -> str:
        servers = self.servers
        assert servers.standby is not None
        servers.primary.create_database('rewind')
        servers.wait_until_streaming()
        ports = servers.primary.port, servers.standby.port
        return replication.url('rewind', *ports)

    def test_lost_commits_are_found_and_repeated(self) -> None:
        self.begin()
        self.servers.wait_until_streaming()
        self.servers.cut()
        self.lose(self.servers.fail_over)


class TestRestoreOnPostgreSQL(_RunningCase):
    """A restore in one transaction, while the services run."""

    def test_lost_commits_are_found_and_repeated(self) -> None:
        self.begin()
        server = databases.POSTGRESQL.server
        name = self.deployment.connection.rpartition('/')[2]
        backup = server.dump(name)
        self.lose(lambda: server.restore(name, backup))


class _StoppedCase(_RewindCase):
    """The services are stopped for the restore; one is frozen instead."""

    def lose(
        self, backup: Callable[[], object], restore: Callable[[], object]
    ) -> None:
        self.begin()
        backup()
        move = self.take_out()
        before = self.epochs()
        self.processes['host1'].terminate()
        self.processes['host2'].terminate()
        restore()
        for name in BOTH:
            self.processes[name] = self.deployment.start(name)
        self.wait_for_ring(*BOTH)
        self.wait_for_owners(*BOTH)
        self.deployment.wait_until(
            lambda: all(self.epochs()[h] > e for h, e in before.items()),
            'registrations after those that were lost',
        )
        self.assertNotIn('records_rewound', self.findings())
        self.repeat(move)


class TestRestoreOnMariaDB(_StoppedCase):
    """A restore drops one table after the other, and fills it again."""

    kind = databases.MARIADB

    def test_restored_records_serve_again(self) -> None:
        server = databases.MARIADB.server
        name = self.deployment.connection.rpartition('/')[2]
        kept: list[bytes] = []
        self.lose(
            lambda: kept.append(server.dump(name)),
            lambda: server.restore(name, kept[0]),
        )


class TestRestoreOnSqlite(_StoppedCase):
    """A file that is copied back."""

    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()

    @property
    def file(self) -> pathlib.Path:
        return pathlib.Path(
            self.deployment.connection.removeprefix('sqlite:///')
        )

    def backup(self) -> None:
        with (
            contextlib.closing(sqlite3.connect(self.file)) as source,
            contextlib.closing(sqlite3.connect(f'{self.file}.backup')) as copy,
        ):
            source.backup(copy)

    def restore(self) -> None:
        self.deployment.database.close()
        for suffix in ('-wal', '-shm'):
            pathlib.Path(f'{self.file}{suffix}').unlink(missing_ok=True)
        new = self.file.with_suffix('.new')
        shutil.copy(f'{self.file}.backup', new)
        new.replace(self.file)

    def test_restored_records_serve_again(self) -> None:
        self.lose(self.backup, self.restore)

    def test_replaced_file_is_not_used_by_running_services(self) -> None:
        self.begin()
        self.backup()
        self.restore()
        for one in self.processes.values():
            self.deployment.wait_until(
                lambda one=one: one.lines('was replaced or deleted'),
                f'error of {one.name}',
            )
            self.assertEqual(0, one.terminate())
        for name in BOTH:
            self.deployment.start(name)
        self.wait_for_ring(*BOTH)


del _RewindCase, _RunningCase, _StoppedCase
