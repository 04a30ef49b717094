"""The ``tooz`` backend on a real etcd."""

from __future__ import annotations

import subprocess
import threading
import unittest
import uuid

import etcd3gw
from tooz import coordination as tooz

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions, model
from ironic_ownership_plugin_kit import backend as suites
from ironic_ownership_plugin_kit import backend_case
from lab import etcd
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER


class TestEtcd(coordination.Swept, suites.BackendContract):
    kind = 'etcd'


class TestEtcdOutages(coordination.Interrupted, suites.OutageContract):
    kind = 'etcd'


class TestEtcdWatch(
    coordination.Interrupted, coordination.Swept, suites.WatchContract
):
    kind = 'etcd'
    # Only one test waits until a call gives up.
    call_timeout = 10


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

    def test_cost_of_an_unchanged_view_does_not_grow_with_the_members(
        self,
    ) -> None:
        self.joined('host', 'one')
        requests, sent = self.cost_of_reading()
        self.assertEqual(10, requests)
        for number in range(9):
            self.joined(f'host{number}', 'one')
        self.assertEqual(10, len(self.members()))
        requests, sent_now = self.cost_of_reading()
        self.assertEqual(10, requests)
        self.assertLess(sent_now, sent * 2)

    def test_beat_takes_two_requests(self) -> None:
        member = self.joined('host1', 'one')
        member.beat()
        before = self.requests()
        for _ in range(10):
            member.beat()
        # Keeping a lease is a stream, which is not counted as a request.
        self.assertLessEqual(self.requests() - before, 20)

    def test_change_is_seen_by_a_process_that_had_read_before(self) -> None:
        watcher = self.build()
        one = self.joined('host1', 'one')
        self.assertEqual({'host1'}, watcher.view().hosts)
        many = [self.joined(f'many{n}', 'one') for n in range(6)]
        self.assertEqual(7, len(watcher.view().members))
        one.leave()
        self.assertEqual(6, len(watcher.view().members))
        many[0].advertise(OTHER)
        self.assertEqual(self.build().view(), watcher.view())

    def test_emptied_store_with_the_same_revision_is_not_taken_for_the_old(
        self,
    ) -> None:
        watcher = self.build()
        self.server.lose_data()
        self.joined('host1', 'one')
        self.assertEqual({'host1'}, watcher.view().hosts)
        self.server.lose_data()
        # The same requests lead to the same revision.
        self.joined('host2', 'one')
        self.assertEqual({'host2'}, self.answered(watcher.view).hosts)

    def test_member_removed_by_hand_notices(self) -> None:
        member = self.joined('host1', 'one')
        client = etcd3gw.client(port=self.server.port)
        self.assertTrue(
            client.delete_prefix(f'tooz/groups/{self.group}/host1')
        )
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
        self.assertEqual([], self.members())
        member.join('host1', 'one', SETTINGS)
        member.beat()

    def test_foreign_member_is_ignored_and_logged_once(
        self,
    ) -> None:
        watcher = self.build()
        self.joined('host1', 'one')
        stranger = tooz.get_coordinator(self.server.url, b'stranger')
        stranger.start()
        self.addCleanup(stranger.stop)
        stranger.join_group(self.group.encode(), {'weight': 1}).get()
        with self.assertLogs('ironic_ownership', 'WARNING') as logs:
            self.assertEqual({'host1'}, watcher.view().hosts)
            self.joined('host2', 'two')
            self.assertEqual({'host1', 'host2'}, watcher.view().hosts)
        self.assertEqual(1, len(logs.output))
        self.assertIn('stranger', logs.output[0])

    def test_member_that_changes_its_settings_is_never_absent(self) -> None:
        member, watcher = self.joined('host1', 'one'), self.build()
        done, seen = threading.Event(), []

        def read() -> None:
            while not done.is_set():
                # And one that sees both memberships for the first time.
                for one in (watcher, self.build()):
                    seen.append(one.view().members)

        thread = threading.Thread(target=read)
        thread.start()
        for number in range(20):
            settings = model.MemberSettings(
                (model.PolicySettings.of('all', {'n': number}),)
            )
            member.advertise(settings)
        done.set()
        thread.join()
        self.assertEqual({1}, {len(members) for members in seen})
        # Nor does a process see old settings after new ones.
        numbers = [self.number_of(members[0].settings) for members in seen]
        self.assertEqual(sorted(numbers), numbers)
        (found,) = watcher.view().members
        self.assertEqual(settings, found.settings)
        self.assertEqual(1, len(self.keys()))

    def number_of(self, settings: model.MemberSettings) -> int:
        """Return the number that this test advertises; -1 before."""
        (_, number), *_ = settings.policies[0].options
        return number if isinstance(number, int) else -1

    def keys(self) -> list[bytes]:
        """Return the keys that the store has for the members."""
        client = etcd3gw.client(port=self.server.port)
        prefix = f'tooz/groups/{self.group}/'
        found = (row['key'] for _, row in client.get_prefix(prefix))
        return [key for key in found if key != prefix.encode()]

    def test_groups_of_one_store_do_not_see_each_other(self) -> None:
        self.joined('host1', 'one')
        other = coordination.build(self.server.url, f'{self.group}-b')
        self.addCleanup(other.close)
        self.assertEqual((), other.view().members)


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


class TestEtcdServers(unittest.TestCase):
    """Servers that are set up for one test."""

    def build(self, url: str, ttl: float = 60) -> ToozBackend:
        made = coordination.build(url, 'group', ttl, 10)
        self.addCleanup(made.close)
        return made

    def test_shortest_lease_of_a_server_is_in_the_error(self) -> None:
        server = etcd.Etcd(
            databases.temporary_directory('etcd'),
            ('--election-timeout=3000', '--heartbeat-interval=500'),
        )
        self.addCleanup(server.stop)
        server.start()
        short = self.build(server.url, ttl=3)
        with self.assertRaises(exceptions.MembershipError) as caught:
            short.join('host1', 'one', SETTINGS)
        self.assertNotIsInstance(
            caught.exception, exceptions.BackendUnavailableError
        )
        self.assertIn('member_ttl to 5', str(caught.exception))
        self.build(server.url, ttl=5).join('host1', 'one', SETTINGS)

    def test_members_stay_when_the_server_they_use_or_the_leader_dies(
        self,
    ) -> None:
        cluster = etcd.Cluster(databases.temporary_directory('etcd'))
        self.addCleanup(cluster.close)
        cluster.start()
        one, two = self.build(cluster.url), self.build(cluster.url)
        one.join('host1', 'one', SETTINGS)
        two.join('host2', 'two', SETTINGS)
        self.assertEqual({'host1', 'host2'}, one.view().hosts)
        victim = cluster.leader()
        victim.kill()
        until_answered(one.beat)
        until_answered(two.beat)
        self.assertEqual({'host1', 'host2'}, until_answered(one.view).hosts)
        until_answered(two.leave)
        self.assertEqual({'host1'}, until_answered(one.view).hosts)

    def test_tls_with_certificates_of_clients(self) -> None:
        directory = databases.temporary_directory('etcd')
        cert, key = directory / 'cert.pem', directory / 'key.pem'
        # Its own authority, for server and client alike.
        subprocess.run(
            [
                *('openssl', 'req', '-x509', '-nodes', '-days', '2'),
                *('-newkey', 'rsa:2048', '-subj', '/CN=lab'),
                *('-addext', 'subjectAltName=IP:127.0.0.1'),
                *('-keyout', str(key), '-out', str(cert)),
            ],
            check=True,
            capture_output=True,
        )
        server = etcd.Etcd(
            directory,
            (
                f'--cert-file={cert}',
                f'--key-file={key}',
                f'--trusted-ca-file={cert}',
                '--client-cert-auth',
            ),
            scheme='https',
        )
        self.addCleanup(server.stop)
        server.start()
        good = f'?ca_cert={cert}&cert_cert={cert}&cert_key={key}'
        member = self.build(server.url + good)
        member.join('host1', uuid.uuid4().hex, SETTINGS)
        member.beat()
        self.assertTrue(member.watch(60))
        self.assertEqual({'host1'}, member.view().hosts)
        for bad in ('', f'?ca_cert={cert}'):
            with self.assertRaises(exceptions.BackendUnavailableError):
                self.build(server.url + bad).view()
