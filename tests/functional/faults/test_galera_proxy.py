"""A Galera cluster behind a proxy: the writer fails, or the proxy itself.

Records and members are in the same database, as they are by default. One
deployment lives through all faults, one after the other.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

from ironic_ownership.contracts.moves import NodeState
from ironic_ownership.db import moves
from lab import galera, process
from tests.functional.faults.support import incident, stores
from tests.functional.support import command_line, databases, move_case

BOTH = ('host1', 'host2')
MOVED, PLANNED = NodeState.MOVED, NodeState.PLANNED


class _BehindHAProxy:
    """Faults of the node that gets all connections."""

    def writer(self, lost: galera.Node | None = None) -> galera.Node:
        """Return the node that gets all connections, as soon as one does.

        :param lost: a node that may not be it any more.
        """
        found: list[galera.Node] = []

        def answers() -> bool:
            # It gives up after two seconds, on a busy machine too.
            with contextlib.suppress(process.LabError):
                found.append(databases.HAPROXY.server.writer())
                return found[-1] is not lost
            return False

        process.wait_for(answers, 'another writer' if lost else 'writer')
        return found[-1]

    @contextlib.contextmanager
    def lost(
        self,
        fault: Callable[
            [galera.Node], contextlib.AbstractContextManager[None]
        ],
    ) -> Iterator[None]:
        """Let a fault happen to the writer, and wait for the next one."""
        writer = self.writer()
        with fault(writer):
            self.writer(lost=writer)
            yield


class TestHostsBehindHAProxy(_BehindHAProxy, incident.IncidentTestCase):
    """Nothing moves: there is another writer before a membership ends."""

    kind = databases.HAPROXY
    patience = incident.LONG
    faults_survived = 5

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def test_faults_of_writer_and_proxy_move_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        cluster = databases.GALERA.server
        with self.nothing_moves():
            for fault in (cluster.killed, cluster.frozen, cluster.isolated):
                with self.lost(fault):
                    self.assert_all_is_well()
            databases.HAPROXY.server.kill()
            databases.HAPROXY.server.start()
            self.assert_all_is_well()
            databases.HAPROXY.server.freeze()
            try:
                # A proxy that accepts connections and is silent: no call of a
                # service waits forever, and none acts without its right.
                self.wait_for_fences(running)
            finally:
                databases.HAPROXY.server.thaw()
            self.assert_all_is_well()
        for host in running:
            self.assertIsNone(host.process.returncode, host.troubles())

    def assert_all_is_well(self) -> None:
        """See new nodes get their owners."""
        more, _ = self.enrol(8)
        self.wait_for_ring(more, BOTH)


class TestMoveBehindHAProxy(_BehindHAProxy, move_case.MoveTestCase):
    """A move whose writer fails on the way is resumed on another one."""

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment(
            self.server.endpoint, databases.HAPROXY.fresh()
        )
        self.addCleanup(self.lab.close)
        epoch = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.serve('new', command_line.ALL)
        seen = [self.bare_metal.get(uuid) for uuid in self.nodes]
        self.lab.claim('old', epoch, *filter(None, seen))
        self.stop('old')

    def assert_resumable(
        self,
        fault: Callable[
            [galera.Node], contextlib.AbstractContextManager[None]
        ],
    ) -> None:
        """See a move lose its writer within its second batch."""
        child = self.drive(2, 'SIGSTOP', 'UPDATE reservations')
        self.wait_until_stopped(child)
        with self.lost(fault):
            child.send_signal(signal.SIGCONT)
            _, stderr = child.communicate()
            stored = moves.SqlMoves(self.lab._database)
            (move,) = stored.moves()
            self.assertEqual(1, child.returncode, stderr)
            self.assertIn(f'move resume {move.request_id}', stderr)
            self.assertNotIn('Traceback', stderr)
            self.assertEqual({MOVED: 2, PLANNED: 2}, move.counts)
            self.assert_whole()
            done = self.lab.run('move', 'resume', move.request_id, '--yes')
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual({'new'}, set(self.owners().values()))
            self.assert_whole()

    def test_writer_killed_within_a_batch(self) -> None:
        self.assert_resumable(databases.GALERA.server.killed)

    def test_writer_frozen_within_a_batch(self) -> None:
        self.assert_resumable(databases.GALERA.server.frozen)

    def test_writer_isolated_within_a_batch(self) -> None:
        self.assert_resumable(databases.GALERA.server.isolated)


del _BehindHAProxy
