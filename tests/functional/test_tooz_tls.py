"""The ``tooz`` backend over TLS: Redis with sentinels, ZooKeeper."""

from __future__ import annotations

import abc
import contextlib
import os
import socket
import ssl
import threading
import unittest
import uuid
from typing import ClassVar
from unittest import mock

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
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


class TestImpostorOfAZooKeeper(unittest.TestCase):
    """A server with another certificate learns nothing, not even the user."""

    def setUp(self) -> None:
        super().setUp()
        self.received = b''
        self.refusals = 0
        self.known, self.stranger = (
            certificates.Certificates(
                databases.temporary_directory('certificates'), names
            )
            for names in ('IP:127.0.0.1', 'DNS:elsewhere.example')
        )

    def listen(self, certificate: certificates.Certificates) -> int:
        """Take connections over TLS; return the port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)

        def serve() -> None:
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:  # the test is over
                    return
                with plain:
                    try:
                        with context.wrap_socket(
                            plain, server_side=True
                        ) as secure:
                            self.received += secure.recv(1000)
                    except OSError:
                        self.refusals += 1

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]

    def connect(
        self,
        server: certificates.Certificates,
        authority: certificates.Certificates,
    ) -> None:
        member = coordination.build(
            f'zookeeper://owner:S3cret@127.0.0.1:{self.listen(server)}'
            f'?use_ssl=true&ca={authority.authority}',
            'group',
            call_timeout=3,
        )
        self.addCleanup(member.close)
        with contextlib.suppress(exceptions.BackendUnavailableError):
            member.view()

    def assert_refused(self) -> None:
        self.assertEqual(b'', self.received)
        self.assertGreater(self.refusals, 0)

    def test_server_of_another_name_is_refused(self) -> None:
        self.connect(self.stranger, self.stranger)
        self.assert_refused()

    def test_public_authorities_do_not_count(self) -> None:
        public = certificates.Certificates(
            databases.temporary_directory('certificates')
        )
        with mock.patch.dict(
            os.environ, {'SSL_CERT_FILE': str(public.authority)}
        ):
            self.connect(public, self.known)
        self.assert_refused()

    def test_server_of_the_name_and_the_authority_is_asked(self) -> None:
        self.connect(self.known, self.known)
        self.assertNotEqual(b'', self.received)


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
