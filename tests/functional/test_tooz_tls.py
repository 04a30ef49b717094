"""The ``tooz`` backend over TLS: Redis with sentinels, ZooKeeper."""

from __future__ import annotations

import abc
import unittest
import uuid
from typing import ClassVar

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership.testing import backend_case
from lab import certificates, redis, zookeeper
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered


class _TlsCase(unittest.TestCase):
    """A server with a certificate, and an authority that did not sign it."""

    known: ClassVar[certificates.Certificates]
    other: ClassVar[certificates.Certificates]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.known = certificates.Certificates(
            databases.temporary_directory('certificates')
        )
        cls.other = certificates.Certificates(
            databases.temporary_directory('certificates')
        )

    @abc.abstractmethod
    def url(self, authority: certificates.Certificates) -> str:
        """Return the URL of a client that trusts an authority."""

    def build(self, url: str, call_timeout: float = 20) -> ToozBackend:
        made = coordination.build(url, 'group', 60, call_timeout)
        self.addCleanup(made.close)
        return made

    def assert_members(self, url: str) -> None:
        """Join, be seen, beat and leave."""
        member = self.build(url)
        member.join('host1', uuid.uuid4().hex, backend_case.SETTINGS)
        self.assertEqual({'host1'}, self.build(url).view().hosts)
        member.beat()
        member.leave()
        self.assertEqual(set(), self.build(url).view().hosts)

    def assert_refused(self, url: str) -> None:
        with self.assertRaises(exceptions.BackendUnavailableError):
            # Some clients try to connect for as long.
            self.build(url, 5).view()

    def test_members_over_tls(self) -> None:
        self.assert_members(self.url(self.known))

    def test_server_of_another_authority_is_refused(self) -> None:
        self.assert_refused(self.url(self.other))


class TestSentinels(_TlsCase):
    servers: ClassVar[redis.Cluster]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.servers = redis.Cluster(
            databases.temporary_directory('redis'), tls=cls.known
        )
        cls.addClassCleanup(cls.servers.close)
        cls.servers.start()

    def url(self, authority: certificates.Certificates) -> str:
        return (
            f'{self.servers.url}&ssl=true&sentinel_ssl=true'
            f'&ssl_ca_certs={authority.authority}'
        )

    def test_members_survive_the_loss_of_the_primary(self) -> None:
        member = self.build(self.url(self.known))
        member.join('host2', uuid.uuid4().hex, backend_case.SETTINGS)
        old = self.servers.leader()
        old.kill()
        until_answered(member.beat)
        view = until_answered(member.view)
        self.assertEqual({'host2'}, view.hosts)
        self.assertIsNot(old, self.servers.leader())
        old.start()
        member.leave()


class TestZooKeeper(_TlsCase):
    server: ClassVar[zookeeper.ZooKeeper]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.server = zookeeper.ZooKeeper(
            databases.temporary_directory('zookeeper'), tls=cls.known
        )
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()

    def url(self, authority: certificates.Certificates) -> str:
        return f'{self.server.url}?use_ssl=true&ca={authority.authority}'

    def test_client_without_tls_is_refused(self) -> None:
        self.assert_refused(self.server.url)


class TestZooKeeperThatAsksClients(_TlsCase):
    server: ClassVar[zookeeper.ZooKeeper]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.server = zookeeper.ZooKeeper(
            databases.temporary_directory('zookeeper'),
            tls=cls.known,
            asks_clients=True,
        )
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()

    def plain(self) -> str:
        return f'{self.server.url}?use_ssl=true&ca={self.known.authority}'

    def url(
        self,
        authority: certificates.Certificates,
        client: certificates.Certificates | None = None,
    ) -> str:
        own = client or self.known
        return (
            f'{self.server.url}?use_ssl=true&ca={authority.authority}'
            f'&certfile={own.certificate}&keyfile={own.key}'
        )

    def test_client_without_a_certificate_is_refused(self) -> None:
        self.assert_refused(self.plain())

    def test_client_of_another_authority_is_refused(self) -> None:
        self.assert_refused(self.url(self.known, self.other))


del _TlsCase
