"""Properties of ZooKeeper itself, on a real one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from kazoo import client as kazoo
from kazoo import exceptions as errors

from ironic_ownership import (
    contracts,
)
from ironic_ownership_kazoo_membership import (
    backend,
    node,
)
from tests import (
    server,
    store,
)

SETTINGS = contracts.MemberSettings((contracts.PolicySettings.of('all', {}),))
OTHER = contracts.MemberSettings(
    (contracts.PolicySettings.of('all', {'n': 1}),)
)
PATIENCE = 60.0
TTL = 4.0

MEMBER = """
import sys, time
from ironic_ownership import contracts
from ironic_ownership_kazoo_membership import backend

member = backend.KazooBackend(
    {{'servers': ('{servers}',), 'path': '{path}'}},
    member_ttl={ttl}, call_timeout=60,
)
member.join('host1', 'one', contracts.MemberSettings())
print('joined', flush=True)
time.sleep(600)
"""


def wait_until(ready: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            raise AssertionError(f'not within {PATIENCE:g} s')
        time.sleep(0.05)


class TestProcesses(store.ZooKeeperCase):
    def start(self, ttl: float) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, '-c'),
                MEMBER.format(
                    servers=self.zookeeper.address, path=self.path, ttl=ttl
                ),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.stdout.close)  # type: ignore[union-attr]
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual('joined\n', process.stdout.readline())  # type: ignore[union-attr]
        return process

    def test_process_that_does_not_beat_is_no_member_any_more(self) -> None:
        # It lives, and kazoo goes on pinging: the lease runs out, in earnest.
        observer = self.make_backend(TTL)
        process = self.start(ttl=TTL)
        wait_until(lambda: not observer.view().members)
        self.assertIsNone(process.poll())

    def test_process_that_is_killed_is_no_member_and_the_others_stay(
        self,
    ) -> None:
        observer = self.make_backend(600)
        observer.join('host2', 'two', SETTINGS)
        process = self.start(ttl=TTL)
        self.assertEqual({'host1', 'host2'}, observer.view().hosts)
        process.kill()
        wait_until(lambda: observer.view().hosts == {'host2'})
        observer.beat()


class TestSessions(store.ZooKeeperCase):
    def test_member_survives_a_restart_of_the_server(self) -> None:
        one, two = self.make_backend(300), self.make_backend(300)
        one.join('host1', 'one', SETTINGS)
        two.join('host2', 'two', SETTINGS)
        self.zookeeper.restart()
        self.answered(one.beat)
        self.answered(two.beat)
        self.assertEqual({'host1', 'host2'}, one.view().hosts)

    def test_node_of_a_session_before_is_taken_over(self) -> None:
        # The process lost its session and the server does not know it yet.
        before, after = self.make_backend(300), self.make_backend(300)
        before.join('host1', 'one', SETTINGS)
        after.join('host1', 'one', OTHER)
        before.leave = lambda: None  # type: ignore[method-assign]
        self.end(before)
        after.beat()
        (member,) = after.view().members
        self.assertEqual(OTHER, member.settings)

    def test_beat_that_is_answered_after_the_lease_is_none(self) -> None:
        member = self.make_backend(30)
        member.join('host1', 'one', SETTINGS)
        renew = member.lease.renew

        def late(since: float) -> bool:
            self.elapse(31)
            return renew(since)

        member.lease.renew = late  # type: ignore[method-assign]
        with self.assertRaises(contracts.NotMemberError):
            member.beat()
        self.assertEqual((), self.make_backend(30).view().members)

    def test_session_that_the_server_would_end_early_is_refused(self) -> None:
        stingy = server.ZooKeeper(longest=10)
        self.addCleanup(stingy.remove)
        stingy.start()
        for ttl in (30.0, 0.1):
            one = self.make_backend(ttl, servers=(stingy.address,))
            for call in (
                one.view,
                lambda o=one: o.join('host1', 'one', SETTINGS),
            ):
                with self.assertRaises(contracts.MembershipError) as caught:
                    call()
                self.assertNotIsInstance(
                    caught.exception, contracts.BackendUnavailableError
                )
                self.assertIn('member_ttl', caught.exception.hint)

    def test_server_that_does_not_greet_is_not_waited_for(self) -> None:
        door = server.SlowDoor(self.zookeeper)
        self.addCleanup(door.close)
        self.call_timeout = 2.0  # type: ignore[misc]
        # Half a session would be longer than the tests wait.
        one = self.make_backend(1200, servers=(door.address,))
        self.answered(lambda: one.join('host1', 'one', SETTINGS))
        self.answered(one.beat)

    def end(self, one: backend.KazooBackend) -> None:
        """End the session of a backend on the server."""
        one.lease.end()
        one.close()
        session = self.make_backend(300)
        wait_until(lambda: len(session.view().members) <= 1)

    def answered(self, call: Callable[[], object]) -> None:
        def ready() -> bool:
            with contextlib.suppress(contracts.BackendUnavailableError):
                call()
                return True
            return False

        wait_until(ready)


class TestNodes(store.ZooKeeperCase):
    def client(self) -> kazoo.KazooClient:
        client = kazoo.KazooClient(self.zookeeper.address, timeout=60)
        client.start(timeout=60)
        self.addCleanup(client.close)
        self.addCleanup(client.stop)
        return client

    def test_what_others_wrote_there_is_no_member(self) -> None:
        client = self.client()
        client.create(f'{self.path}/members/lock', makepath=True)
        client.create(f'{self.path}/members/host1@one', b'\xff{')
        (member,) = self.make_backend(30).view().members
        self.assertEqual(
            ('host1', node.UNREADABLE), (member.host, member.settings)
        )

    def test_any_name_of_a_host_comes_back_as_it_was(self) -> None:
        for host in ('a/b', 'a@b', 'a%2Fb', '..', 'höst', 'fe80::1'):
            with self.subTest(host=host):
                one = self.make_backend(30)
                one.join(host, 'one', SETTINGS)
                self.assertEqual({host}, one.view().hosts)
                one.leave()

    def test_beats_are_no_changes_and_new_settings_are(self) -> None:
        one, watcher = self.make_backend(300), self.make_backend(300)
        one.join('host1', 'one', SETTINGS)
        watcher.watch(PATIENCE)  # the first one notifies
        while watcher.watch(0.2):
            pass
        for _ in range(3):
            one.beat()
        self.assertFalse(watcher.watch(0.5))
        one.advertise(OTHER)
        self.assertTrue(watcher.watch(PATIENCE))

    def test_other_users_can_neither_read_nor_write(self) -> None:
        one, again = (
            self.make_backend(300, username='u', password='p:1')
            for _ in range(2)
        )
        one.join('host1', 'one', SETTINGS)
        one.beat()
        one.advertise(OTHER)
        again.join('host1', 'one', SETTINGS)
        self.assertEqual({'host1'}, again.view().hosts)
        with self.assertRaises(contracts.MembershipError) as caught:
            self.make_backend(300).view()
        self.assertIn('username', caught.exception.hint)
        with self.assertRaises(errors.NoAuthError):
            self.client().get(f'{self.path}/members/host1@one')

    def test_no_thread_or_connection_remains(self) -> None:
        before = threading.active_count()
        for number in range(3):
            one = self.make_backend(300)
            one.join('host1', f'n{number}', SETTINGS)
            one.watch(PATIENCE)  # the first one notifies
            one.watch(0)
            one.leave()
            one.close()
        wait_until(lambda: threading.active_count() <= before)


class TestOptions(store.ZooKeeperCase):
    def test_what_cannot_work_is_refused_when_it_is_built(self) -> None:
        for options, word in (
            ({'servers': ()}, 'servers'),
            ({'servers': ('zk1',)}, 'zk1'),
            ({'servers': ('zk1:2181', 'zk2:x')}, 'zk2:x'),
            ({'username': 'u'}, 'password'),
            ({'password': 'p'}, 'username'),
        ):
            with (
                self.subTest(options=options),
                self.assertRaises(contracts.MembershipError) as caught,
            ):
                self.make_backend(30, **options)
            self.assertIn(word, str(caught.exception))
            self.assertTrue(caught.exception.hint)

    def test_password_is_a_secret_and_in_no_error(self) -> None:
        (password,) = (
            o for o in backend.KazooBackend.options if o.name == 'password'
        )
        self.assertTrue(password.secret)
