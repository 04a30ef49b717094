"""The ``tooz`` backend on a real ZooKeeper."""

from __future__ import annotations

import socket
import time
import unittest

from tooz import coordination as tooz

from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend, backend_case
from lab import zookeeper
from tests.functional.support import coordination, databases

SETTINGS = backend_case.SETTINGS


class TestZooKeeper(coordination.Swept, backend.BackendContract):
    kind = 'zookeeper'


class TestZooKeeperOutages(coordination.Interrupted, backend.OutageContract):
    kind = 'zookeeper'


class TestZooKeeperWatch(
    coordination.Interrupted, coordination.Swept, backend.WatchContract
):
    kind = 'zookeeper'
    # Only one test waits until a call gives up.
    call_timeout = 10


class TestZooKeeperMembers(coordination.OnStore, backend_case.BackendCase):
    kind = 'zookeeper'
    ttl = 60.0
    short = coordination.OnStore.ttl

    def test_lock_of_an_election_is_no_member_and_not_logged(self) -> None:
        stranger = tooz.get_coordinator(self.server.url, b'stranger')
        stranger.start()
        self.addCleanup(stranger.stop)
        group = self.group.encode()
        stranger.create_group(group).get()
        stranger.watch_elected_as_leader(group, lambda _: None)
        stranger.run_watchers()
        self.assertEqual({b'leader'}, stranger.get_members(group).get())
        self.joined('host1', 'one')
        watcher = self.build()
        with self.assertNoLogs('ironic_ownership', 'WARNING'):
            self.assertEqual({'host1'}, watcher.view().hosts)

    def test_process_whose_heartbeat_hangs_expires(self) -> None:
        # The client's own threads keep the session in the meantime.
        self.joined('host1', 'one', ttl=self.short)
        watcher = self.build()
        self.assertEqual({'host1'}, watcher.view().hosts)
        gives_up = time.monotonic() + 180
        while watcher.view().members:
            self.assertLess(time.monotonic(), gives_up)
            time.sleep(0.05)

    def test_members_survive_a_restart_of_the_server(self) -> None:
        member = self.joined('host1', 'one')
        watcher = self.build()
        self.assertEqual({'host1'}, watcher.view().hosts)
        self.server.restart()
        self.answered(member.beat)
        self.assertEqual({'host1'}, self.answered(watcher.view).hosts)

    def test_member_survives_a_server_that_accepts_and_does_not_answer(
        self,
    ) -> None:
        # As a server that is starting, or a network that drops packets.
        member = coordination.build(self.server.url, self.group, 20, 2)
        self.addCleanup(member.close)
        self.answered(lambda: member.join('host1', 'one', SETTINGS))
        self.server.stop()
        with socket.socket() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            silent.bind(('127.0.0.1', self.server.port))
            silent.listen()
            silent.settimeout(60)
            taken, _ = silent.accept()
        with taken:
            self.server.start()
            self.answered(member.beat)

    def test_credentials_give_access_to_a_closed_namespace(self) -> None:
        # A closed namespace stays closed, so this one is its own.
        closed = f'{self.server.url}?namespace=closed'
        url = closed.replace('://', '://user:hunter2@')
        member = coordination.build(url, self.group, 60)
        self.addCleanup(member.close)
        with self.assertLogs(level='DEBUG') as logs:
            member.join('host1', 'one', SETTINGS)
            member.beat()
            self.assertEqual({'host1'}, member.view().hosts)
        self.assertNotIn('hunter2', ''.join(logs.output))
        stranger = coordination.build(closed, self.group, 60)
        self.addCleanup(stranger.close)
        with self.assertRaises(exceptions.BackendUnavailableError) as caught:
            stranger.view()
        self.assertIn('NoAuth', str(caught.exception))


class TestZooKeeperSessions(unittest.TestCase):
    def test_sessions_that_the_server_does_not_grant_are_refused(self) -> None:
        server = zookeeper.ZooKeeper(
            databases.temporary_directory('zookeeper'), shortest=5, longest=9
        )
        self.addCleanup(server.stop)
        server.start()
        for asked, granted in ((3, 5), (30, 9)):
            member = coordination.build(server.url, 'group', asked)
            self.addCleanup(member.close)
            with self.assertRaises(exceptions.MembershipError) as caught:
                member.join('host1', 'one', SETTINGS)
            self.assertNotIsInstance(
                caught.exception, exceptions.BackendUnavailableError
            )
            self.assertIn(f'member_ttl to {granted}', str(caught.exception))
        good = coordination.build(server.url, 'group', 6.5)
        self.addCleanup(good.close)
        good.join('host1', 'one', SETTINGS)
