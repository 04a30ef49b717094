"""The ``tooz`` backend on a real etcd, Redis and ZooKeeper."""

from __future__ import annotations

import threading
import time
import unittest
from typing import Any

import etcd3gw
from tooz import coordination as tooz

from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend as suites
from ironic_ownership_plugin_kit import backend_case
from lab import etcd, redis, zookeeper
from tests.functional.support import coordination, databases

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER


class TestEtcd(coordination.Swept, suites.BackendContract):
    kind = 'etcd'


class TestRedis(coordination.OnStore, suites.BackendContract):
    kind = 'redis'


class TestZooKeeper(coordination.Swept, suites.BackendContract):
    kind = 'zookeeper'


class TestEtcdOutages(coordination.Interrupted, suites.OutageContract):
    kind = 'etcd'


class TestRedisOutages(coordination.Interrupted, suites.OutageContract):
    kind = 'redis'


class TestZooKeeperOutages(coordination.Interrupted, suites.OutageContract):
    kind = 'zookeeper'


class TestEtcdWatch(
    coordination.Interrupted, coordination.Swept, suites.WatchContract
):
    kind = 'etcd'
    # Only one test waits until a call gives up.
    call_timeout = 10


class TestZooKeeperWatch(TestEtcdWatch):
    kind = 'zookeeper'


class TestEtcdMembers(coordination.OnStore, backend_case.BackendCase):
    kind = 'etcd'
    ttl = 60.0

    def requests(self) -> float:
        """Return how many requests the server has answered."""
        return self.counted('grpc_server_handled_total{', 'etcdserverpb')

    def sent(self) -> float:
        """Return how many bytes the server has sent to clients."""
        return self.counted('etcd_network_client_grpc_sent_bytes_total')

    def counted(self, *words: str) -> float:
        return sum(
            float(line.rpartition(' ')[2])
            for line in self.server.metrics().splitlines()
            if not line.startswith('#') and all(w in line for w in words)
        )

    def cost_of_reading(self) -> tuple[float, float]:
        """Return requests and bytes of ten reads of an unchanged view."""
        watcher = self.build()
        seen = watcher.view()
        requests, sent = self.requests(), self.sent()
        for _ in range(10):
            self.assertEqual(seen, watcher.view())
        return self.requests() - requests, self.sent() - sent

    def test_cost_of_a_member_does_not_grow_with_the_others(self) -> None:
        member = self.joined('host', 'one')
        requests, sent = self.cost_of_reading()
        self.assertEqual(10, requests)
        for number in range(9):
            self.joined(f'host{number}', 'one')
        self.assertEqual(10, len(self.members()))
        requests, sent_now = self.cost_of_reading()
        self.assertEqual(10, requests)
        self.assertLess(sent_now, sent * 2)
        before = self.requests()
        for _ in range(10):
            member.beat()
        # Keeping a lease is a stream, which is not counted as a request.
        self.assertLessEqual(self.requests() - before, 20)

    def test_emptied_store_with_the_same_revision_is_not_taken_for_the_old(
        self,
    ) -> None:
        watcher = self.build()
        # The same requests lead to the same revision.
        for host in ('host1', 'host2'):
            self.server.lose_data()
            self.joined(host, 'one')
            self.assertEqual({host}, self.answered(watcher.view).hosts)

    def test_member_removed_by_hand_notices(self) -> None:
        """Its lease is still there."""
        member = self.joined('host1', 'one')
        client = etcd3gw.client(port=self.server.port)
        self.assertTrue(
            client.delete_prefix(f'tooz/groups/{self.group}/host1')
        )
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
        self.assertEqual([], self.members())

    def test_foreign_member_is_ignored_and_logged_once(self) -> None:
        watcher = self.build()
        self.joined('host1', 'one')
        stranger = tooz.get_coordinator(self.server.url, b'stranger')
        stranger.start()
        self.addCleanup(stranger.stop)
        stranger.join_group(self.group.encode(), {'weight': 1}).get()
        with self.assertLogs('ironic_ownership', 'WARNING') as logs:
            self.assertEqual({'host1'}, watcher.view().hosts)
            # A process that had read before sees the change.
            self.joined('host2', 'two')
            self.assertEqual({'host1', 'host2'}, watcher.view().hosts)
        self.assertEqual(1, len(logs.output))
        self.assertIn('stranger', logs.output[0])


class TestEtcdFreezes(coordination.Interrupted, backend_case.BackendCase):
    kind = 'etcd'
    ttl = 60.0
    call_timeout = 1

    def test_abandoned_calls_do_not_pile_up(self) -> None:
        member = self.build()
        self.answered(lambda: member.join('host1', 'one', SETTINGS))
        self.answered(member.view)
        before = threading.active_count()
        self.interrupted()
        for _ in range(8):
            self.assert_unavailable(member, member.beat)
            self.assert_unavailable(member, member.view)
        self.assertLessEqual(threading.active_count() - before, 8)
        self.resume()
        self.answered(member.beat)


class TestRedisOverdue(coordination.OnStore, backend_case.BackendCase):
    kind = 'redis'

    def test_overdue_member_does_not_come_back_without_a_read(
        self,
    ) -> None:
        # Long enough for a join on a busy machine.
        member = self.joined('host1', 'one', ttl=5)
        time.sleep(5.5)
        # Nothing was read since, so its entry still exists.
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()


class TestZooKeeperMembers(coordination.OnStore, backend_case.BackendCase):
    kind = 'zookeeper'
    ttl = 60.0

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
        encoded = url.replace('hunter2', 'hunter%32')
        other = coordination.build(encoded, self.group, 60)
        self.addCleanup(other.close)
        self.assertEqual({'host1'}, other.view().hosts)
        stranger = coordination.build(closed, self.group, 60)
        self.addCleanup(stranger.close)
        with self.assertRaises(exceptions.BackendUnavailableError) as caught:
            stranger.view()
        self.assertIn('NoAuth', str(caught.exception))


class TestServers(unittest.TestCase):
    """Servers that are set up for one test."""

    def start(self, server: Any) -> str:
        self.addCleanup(server.stop)
        server.start()
        return server.url

    def build(self, url: str, ttl: float = 60) -> Any:
        made = coordination.build(url, 'group', ttl)
        self.addCleanup(made.close)
        return made

    def test_time_to_live_that_is_not_granted_is_refused(self) -> None:
        strict_etcd = self.start(
            etcd.Etcd(
                databases.temporary_directory('etcd'),
                ('--election-timeout=3000', '--heartbeat-interval=500'),
            )
        )
        strict_zookeeper = self.start(
            zookeeper.ZooKeeper(
                databases.temporary_directory('zookeeper'),
                shortest=5,
                longest=9,
            )
        )
        for url, asked, granted in (
            (strict_etcd, 3, 5),
            (strict_etcd, 5, None),
            (strict_zookeeper, 3, 5),
            (strict_zookeeper, 30, 9),
            (strict_zookeeper, 6.5, None),
        ):
            with self.subTest(url, asked=asked):
                member = self.build(url, asked)
                if granted is None:
                    member.join('host1', 'one', SETTINGS)
                    continue
                with self.assertRaises(exceptions.MembershipError) as caught:
                    member.join('host1', 'one', SETTINGS)
                self.assertNotIsInstance(
                    caught.exception, exceptions.BackendUnavailableError
                )
                self.assertIn(
                    f'member_ttl to {granted}', str(caught.exception)
                )

    def test_password_opens_and_a_wrong_one_is_not_shown(self) -> None:
        url = self.start(
            redis.Redis(databases.temporary_directory('redis'), 'p4ss')
        )
        member = self.build(url)
        member.join('host1', 'one', SETTINGS)
        self.assertEqual({'host1'}, member.view().hosts)
        encoded = self.build(url.replace('p4ss', 'p%34ss'))
        self.assertEqual({'host1'}, encoded.view().hosts)
        wrong = self.build(url.replace('p4ss', 'hunter2'))
        with self.assertRaises(exceptions.BackendUnavailableError) as caught:
            wrong.view()
        message = str(caught.exception)
        self.assertIn('redis://:***@127.0.0.1', message)
        self.assertNotIn('hunter2', message)
