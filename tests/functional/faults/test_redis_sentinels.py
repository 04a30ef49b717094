"""The ``tooz`` backend on three Redis servers with sentinels, and with TLS."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import time
import unittest
import uuid
from collections.abc import Iterator

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
from lab import process, redis
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered

SETTINGS = backend_case.SETTINGS
PASSWORD, SENTINELS = 'p4ssw0rd', 's3ntinels'
PATIENCE = 180.0
LAG = 'min-replicas-max-lag'
RIGHTS = (
    f'ownership on >{PASSWORD} ~_tooz* +@read +@write +@scripting '
    '+@transaction +@connection +info'
)

_groups = itertools.count(1)


class TestSentinels(unittest.TestCase):
    cluster: redis.Cluster

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster = redis.Cluster(
            databases.temporary_directory('redis'), PASSWORD, SENTINELS
        )
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    def setUp(self) -> None:
        super().setUp()
        self.group = f'group{next(_groups)}'
        self.addCleanup(self.cluster.network.heal)

    def build(self, url: str = '', call_timeout: float = 4) -> ToozBackend:
        made = coordination.build(
            url or self.cluster.url, self.group, 120, call_timeout
        )
        self.addCleanup(made.close)
        return made

    def joined(self, host: str) -> ToozBackend:
        made = self.build()
        until_answered(lambda: made.join(host, uuid.uuid4().hex, SETTINGS))
        return made

    def replaced(self, old: redis.Redis) -> None:
        """Wait until the sentinels have chosen another primary."""
        gives_up = time.monotonic() + PATIENCE
        while self.cluster.leader() is old:
            self.assertLess(time.monotonic(), gives_up)
            time.sleep(0.1)

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
        self.replaced(old)
        self.joined('host2')
        until_answered(member.beat)
        gives_up = time.monotonic() + PATIENCE
        while until_answered(member.view).hosts != {
            'host1',
            'host2',
        }:
            until_answered(member.beat)
            self.assertLess(time.monotonic(), gives_up)
            time.sleep(0.1)

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
            self.replaced(old)
        with self.assertRaises(exceptions.NotMemberError):
            for _ in range(100):
                until_answered(lost.beat)
                time.sleep(0.1)
        until_answered(lambda: lost.join('host2', 'one', SETTINGS))
        self.assertEqual({'host1', 'host2'}, until_answered(lost.view).hosts)


class TestRedisUsers(unittest.TestCase):
    """A user with the rights of the documentation, over TLS."""

    def test_user_with_few_rights_is_enough(self) -> None:
        directory = databases.temporary_directory('redis')
        cert, key = directory / 'cert.pem', directory / 'key.pem'
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
        port = process.free_port()
        server = redis.Redis(
            directory,
            options=(
                *('--tls-port', str(port)),
                *('--tls-cert-file', str(cert), '--tls-key-file', str(key)),
                *('--tls-ca-cert-file', str(cert)),
                *('--user', *RIGHTS.split()),
                *('--user', 'default', 'off'),
            ),
        )
        self.addCleanup(server.stop)
        server.start()
        tls = f'?ssl=true&ssl_ca_certs={cert}&ssl_certfile={cert}'
        good = f'redis://ownership:{PASSWORD}@127.0.0.1:{port}{tls}'
        good += f'&ssl_keyfile={key}'
        member = coordination.build(good, 'group', 60)
        self.addCleanup(member.close)
        member.join('host1', 'one', SETTINGS)
        member.beat()
        self.assertEqual({'host1'}, member.view().hosts)
        member.advertise(backend_case.OTHER)
        member.leave()
        for wrong, words in (
            (good.replace(PASSWORD, 'hunter2'), 'Check user and password'),
            (good.replace('ownership:', 'stranger:'), 'Check user and pass'),
            (good.replace(f'&ssl_keyfile={key}', ''), 'TLS'),
            (good.replace(f'ssl_ca_certs={cert}&', ''), 'options for TLS'),
        ):
            with self.assertRaises(
                exceptions.BackendUnavailableError
            ) as caught:
                coordination.build(wrong, 'group', 60, 5).view()
            self.assertIn(words, str(caught.exception))
            self.assertNotIn('hunter2', str(caught.exception))
