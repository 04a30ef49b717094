"""The ``tooz`` backend on three servers of each kind, of which some fail."""

from __future__ import annotations

import contextlib
import itertools
import time
import unittest
import uuid
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
from lab import certificates, cluster, etcd, redis, zookeeper
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered

SETTINGS = backend_case.SETTINGS
LONG = 120.0
"""Seconds to live, and of silence until a watch is opened again: longer than
any test waits."""

LONG_CALL = 12.0
"""Time-out of calls of which the first one has to succeed: half of it is for
a server that does not answer, the other for busy ones."""

PATIENCE = 180.0
PASSWORD, SENTINELS = 'p4ssw0rd', 's3ntinels'
LAG = 'min-replicas-max-lag'
RIGHTS = (
    f'ownership on >{PASSWORD} ~_tooz* +@read +@write +@scripting '
    '+@transaction +@connection +info'
)

_groups = itertools.count(1)


class _ClusterCase(unittest.TestCase):
    """Members of a group of its own, on the servers of the class."""

    cluster: ClassVar[cluster.Cluster[Any]]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster = cls.make()
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    @classmethod
    def make(cls) -> cluster.Cluster[Any]:
        """Return the servers, which are not started."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.group = f'group{next(_groups)}'
        self.addCleanup(self.cluster.network.heal)

    def url(self, addresses: str) -> str:
        """Return the URL of servers in an order."""
        return self.cluster.url

    def build(self, *numbers: int, call_timeout: float = 4.0) -> ToozBackend:
        """Build a backend that uses some servers, in this order."""
        addresses = ','.join(
            f'127.0.0.1:{self.cluster.ports[n]}' for n in numbers or range(3)
        )
        made = coordination.build(
            self.url(addresses), self.group, LONG, call_timeout
        )
        self.addCleanup(made.close)
        return made

    def joined(
        self, host: str, *numbers: int, call_timeout: float = 4.0
    ) -> ToozBackend:
        """Return a backend that has joined as a host."""
        made = self.build(*numbers, call_timeout=call_timeout)
        until_answered(lambda: made.join(host, uuid.uuid4().hex, SETTINGS))
        return made

    def order(self, first: Any) -> tuple[int, ...]:
        """Return the numbers of all servers, with one in front."""
        number = self.cluster.servers.index(first)
        return (number, *(n for n in range(3) if n != number))

    def until(self, ready: Callable[[], object]) -> None:
        gives_up = time.monotonic() + PATIENCE
        while not until_answered(ready):
            self.assertLess(time.monotonic(), gives_up)
            time.sleep(0.1)

    def assert_seen(self, by: ToozBackend, *names: str) -> None:
        self.assertEqual({*names}, until_answered(by.view).hosts)


class TestEtcd(_ClusterCase):
    @classmethod
    def make(cls) -> cluster.Cluster[Any]:
        made = etcd.Cluster(databases.temporary_directory('etcd'))
        for server in made.servers:
            # Enough for the members of all tests.
            quota = f'--quota-backend-bytes={16 << 20}'
            server.options = (*server.options, quota)
        return made

    def url(self, addresses: str) -> str:
        return f'etcd3+http://{addresses}'

    def test_server_without_a_leader_gives_no_old_answer(self) -> None:
        for server in (self.cluster.leader(), self.cluster.followers()[0]):
            number, *others = order = self.order(server)
            watcher = self.build(*order)
            until_answered(watcher.view)
            self.cluster.isolate(server)
            host = f'host{number}'
            self.joined(host, *others, number)
            self.assertIn(host, until_answered(watcher.view).hosts)
            self.cluster.network.heal()
            # There is a leader that all servers know.
            until_answered(self.build().view)

    def test_watch_leaves_a_server_that_lost_its_leader(self) -> None:
        follower = self.cluster.followers()[0]
        number, *others = order = self.order(follower)
        watcher = self.build(*order)
        self.until(lambda: watcher.watch(5))
        self.assertFalse(watcher.watch(1))
        self.cluster.isolate(follower)
        self.joined('host1', *others, number)
        self.until(lambda: watcher.watch(5))
        self.assert_seen(watcher, 'host1')

    def test_compaction_and_defragmentation_are_not_noticed(self) -> None:
        watcher = self.build(call_timeout=LONG_CALL)
        self.until(lambda: watcher.watch(5))
        self.assertEqual(frozenset(), watcher.view().hosts)
        for number in range(3):
            member = self.joined(f'host{number}', call_timeout=LONG_CALL)
            for server in self.cluster.servers:
                server.compact()
            member.beat()
            self.until(lambda: watcher.watch(5))
            self.assertEqual(number + 1, len(watcher.view().members))

    def test_members_stay_while_the_quota_is_used_up(self) -> None:
        member = self.joined('host1')
        until_answered(member.view)
        self.addCleanup(self.make_room)
        self.cluster.leader().fill()
        until_answered(member.beat)
        self.assert_seen(member, 'host1')
        # The driver of tooz needs a lease, which is a write.
        late = self.build(call_timeout=LONG_CALL)
        for call in (
            lambda: late.join('host2', uuid.uuid4().hex, SETTINGS),
            late.view,
        ):
            with self.assertRaisesRegex(
                exceptions.BackendUnavailableError, 'space exceeded'
            ):
                call()
        self.make_room()
        self.joined('host2')
        self.assert_seen(late, 'host1', 'host2')

    def make_room(self) -> None:
        """Do what the documentation advises."""
        leader = self.cluster.leader()
        leader.free()
        for server in self.cluster.servers:
            server.compact()
        leader.disarm()


class TestZooKeeper(_ClusterCase):
    @classmethod
    def make(cls) -> cluster.Cluster[Any]:
        # A server that lost its leader goes on answering for this long.
        return zookeeper.Cluster(
            databases.temporary_directory('zookeeper'), sync_limit=30
        )

    def setUp(self) -> None:
        super().setUp()
        # Each test loses one of them: all of them have to serve before.
        for server in self.cluster.servers:
            if server.pid is None:
                server.begin()
        for server in self.cluster.servers:
            server.wait()

    def url(self, addresses: str) -> str:
        return f'zookeeper://{addresses}?randomize_hosts=false'

    def test_frozen_server_costs_a_call_and_no_membership(self) -> None:
        follower = self.cluster.followers()[0]
        member = self.joined('host1', *self.order(follower))
        watcher = self.build(*self.order(follower))
        until_answered(watcher.view)
        follower.freeze()
        try:
            for call in (member.beat, watcher.view):
                with self.assertRaises(exceptions.BackendUnavailableError):
                    call()
                # The session lives for two minutes: kazoo alone would wait.
                for _ in range(2):
                    with contextlib.suppress(
                        exceptions.BackendUnavailableError
                    ):
                        call()
                        break
                else:
                    call()
        finally:
            follower.thaw()

    def test_server_that_lost_its_leader_gives_no_old_answer(self) -> None:
        follower = self.cluster.followers()[0]
        own, *others = self.order(follower)
        watcher = self.build(own)
        until_answered(watcher.view)
        member = self.joined('host1', own)
        self.assert_seen(watcher, 'host1')
        self.cluster.isolate(follower)
        self.joined('host2', *others)
        for call in (watcher.view, member.beat):
            with self.assertRaises(exceptions.BackendUnavailableError):
                call()
        self.cluster.network.heal()
        self.assert_seen(watcher, 'host1', 'host2')
        until_answered(member.beat)

    def test_watch_survives_the_loss_of_its_server(self) -> None:
        follower = self.cluster.followers()[0]
        own, *others = self.order(follower)
        watcher = self.build(own, *others)
        until_answered(lambda: watcher.watch(5))
        follower.kill()
        self.joined('host1', *others)
        self.until(lambda: watcher.watch(5))
        self.assert_seen(watcher, 'host1')
        follower.start()


class TestRedis(_ClusterCase):
    """With sentinels."""

    @classmethod
    def make(cls) -> cluster.Cluster[Any]:
        return redis.Cluster(
            databases.temporary_directory('redis'), PASSWORD, SENTINELS
        )

    @contextlib.contextmanager
    def unaware(self, primary: redis.Redis) -> Iterator[None]:
        """Let a primary that is alone accept writes for a while.

        By itself it does so for two seconds, which is not long on a busy
        machine.
        """
        with self.cluster._client(primary, PASSWORD) as client:
            before = client.config_get(LAG)[LAG]
            client.config_set(LAG, int(PATIENCE))
        try:
            yield
        finally:
            with self.cluster._client(primary, PASSWORD) as client:
                client.config_set(LAG, before)

    def test_primary_that_was_replaced_is_left_by_its_members(self) -> None:
        member = self.joined('host1')
        old = self.cluster.leader()
        # Reaches both sides, and is connected to the old primary.
        self.cluster.isolate(old)
        self.until(lambda: self.cluster.leader() is not old)
        self.joined('host2')

        def is_with_the_new_one() -> bool:
            member.beat()
            return member.view().hosts == {'host1', 'host2'}

        self.until(is_with_the_new_one)

    def test_member_that_replication_lost_notices_and_joins_again(
        self,
    ) -> None:
        self.joined('host1')
        lost, old = self.build(), self.cluster.leader()
        # It is connected to the old primary, and stays so.
        until_answered(lost.view)
        with self.unaware(old):
            self.cluster.isolate(old)
            until_answered(lambda: lost.join('host2', 'one', SETTINGS))
            self.until(lambda: self.cluster.leader() is not old)
        with self.assertRaises(exceptions.NotMemberError):
            for _ in range(100):
                until_answered(lost.beat)
                time.sleep(0.1)
        until_answered(lambda: lost.join('host2', 'one', SETTINGS))
        self.assert_seen(lost, 'host1', 'host2')


class TestRedisUsers(unittest.TestCase):
    """A user with the rights of the documentation, over TLS."""

    def test_user_with_few_rights_is_enough(self) -> None:
        directory = databases.temporary_directory('redis')
        own = certificates.Certificates(directory)
        server = redis.Redis(
            directory,
            options=(
                *('--tls-auth-clients', 'yes'),
                *('--user', *RIGHTS.split(), '--user', 'default', 'off'),
            ),
            tls=own,
        )
        self.addCleanup(server.stop)
        server.start()
        good = (
            f'redis://ownership:{PASSWORD}@127.0.0.1:{server.port}?ssl=true'
            f'&ssl_ca_certs={own.authority}&ssl_certfile={own.certificate}'
            f'&ssl_keyfile={own.key}'
        )
        member = coordination.build(good, 'group', 60)
        self.addCleanup(member.close)
        member.join('host1', 'one', SETTINGS)
        member.beat()
        self.assertEqual({'host1'}, member.view().hosts)
        member.advertise(backend_case.OTHER)
        member.leave()
        for part, wrong, words in (
            (PASSWORD, 'hunter2', 'Check user and password'),
            ('ownership:', 'stranger:', 'Check user and pass'),
            (f'&ssl_keyfile={own.key}', '', 'TLS'),
            (f'ssl_ca_certs={own.authority}&', '', 'options for TLS'),
        ):
            with self.assertRaises(
                exceptions.BackendUnavailableError
            ) as caught:
                url = good.replace(part, wrong)
                coordination.build(url, 'group', 60, 5).view()
            self.assertIn(words, str(caught.exception))
            self.assertNotIn('hunter2', str(caught.exception))


del _ClusterCase
