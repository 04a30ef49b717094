"""The ``tooz`` backend over TLS: etcd, Redis with sentinels, ZooKeeper."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
import unittest
import uuid
from typing import Any
from unittest import mock

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
from lab import certificates, etcd, redis, zookeeper
from tests.functional.support import coordination, databases
from tests.functional.support.coordination import until_answered


def certify(
    names: str = 'IP:127.0.0.1,DNS:localhost',
) -> certificates.Certificates:
    return certificates.Certificates(
        databases.temporary_directory('certificates'), names
    )


class TestTls(unittest.TestCase):
    """Servers with a certificate, and an authority that did not sign it."""

    def setUp(self) -> None:
        super().setUp()
        self.known, self.other = certify(), certify()

    def start(self, server: Any) -> str:
        self.addCleanup(
            server.close if hasattr(server, 'close') else server.stop
        )
        server.start()
        return server.url

    def build(self, url: str, call_timeout: float = 20) -> ToozBackend:
        made = coordination.build(url, 'group', 60, call_timeout)
        self.addCleanup(made.close)
        return made

    def check(self, good: str, *refused: str) -> None:
        """Join, be seen, beat and leave by one URL; be refused by others."""
        member = self.build(good)
        member.join('host1', uuid.uuid4().hex, backend_case.SETTINGS)
        self.assertEqual({'host1'}, self.build(good).view().hosts)
        member.beat()
        member.leave()
        self.assertEqual(set(), self.build(good).view().hosts)
        for url in refused:
            with (
                self.subTest(url),
                self.assertRaises(exceptions.BackendUnavailableError),
            ):
                # Some clients try to connect for as long.
                self.build(url, 5).view()

    def test_etcd_that_asks_clients(self) -> None:
        server = etcd.Etcd(
            databases.temporary_directory('etcd'),
            (
                f'--cert-file={self.known.certificate}',
                f'--key-file={self.known.key}',
                f'--trusted-ca-file={self.known.authority}',
                '--client-cert-auth',
            ),
            scheme='https',
        )
        url = self.start(server)
        ca, other = (
            f'{url}?ca_cert={one.authority}'
            for one in (self.known, self.other)
        )
        own = f'&cert_cert={self.known.certificate}&cert_key={self.known.key}'
        self.check(ca + own, url, ca, other + own)

    def test_zookeeper(self) -> None:
        server = zookeeper.ZooKeeper(
            databases.temporary_directory('zookeeper'), tls=self.known
        )
        url = self.start(server)
        known, other = (
            f'{url}?use_ssl=true&ca={one.authority}'
            for one in (self.known, self.other)
        )
        self.check(known, other, url)

    def test_zookeeper_that_asks_clients(self) -> None:
        server = zookeeper.ZooKeeper(
            databases.temporary_directory('zookeeper'),
            tls=self.known,
            asks_clients=True,
        )
        plain = f'{self.start(server)}?use_ssl=true&ca={self.known.authority}'
        known, other = (
            f'{plain}&certfile={one.certificate}&keyfile={one.key}'
            for one in (self.known, self.other)
        )
        self.check(known, plain, other)

    def test_sentinels(self) -> None:
        servers = redis.Cluster(
            databases.temporary_directory('redis'), tls=self.known
        )
        url = f'{self.start(servers)}&ssl=true&sentinel_ssl=true&ssl_ca_certs='
        good = f'{url}{self.known.authority}'
        self.check(good, f'{url}{self.other.authority}')
        # Members survive the loss of the primary.
        member = self.build(good)
        member.join('host2', uuid.uuid4().hex, backend_case.SETTINGS)
        old = servers.leader()
        old.kill()
        until_answered(member.beat)
        self.assertEqual({'host2'}, until_answered(member.view).hosts)
        self.assertIsNot(old, servers.leader())


class TestImpostorOfAZooKeeper(unittest.TestCase):
    """A server with another certificate learns nothing, not even the user."""

    def listen(self, certificate: certificates.Certificates) -> int:
        """Take connections over TLS; return the port."""
        self.received = b''
        self.refusals = 0
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

    def test_only_the_name_by_the_own_authority_is_asked(self) -> None:
        known, public = certify(), certify()
        elsewhere = certify('DNS:elsewhere.example')
        with mock.patch.dict(
            os.environ, {'SSL_CERT_FILE': str(public.authority)}
        ):
            for server, authority, asked in (
                (elsewhere, elsewhere, False),
                # A public authority does not count.
                (public, known, False),
                (known, known, True),
            ):
                self.connect(server, authority)
                self.assertEqual(asked, self.received != b'')
                self.assertEqual(asked, self.refusals == 0)
