"""The ``tooz`` backend over TLS: Redis with sentinels."""

from __future__ import annotations

import unittest
import uuid
from typing import ClassVar

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership.testing import backend_case
from lab import certificates, redis
from tests.functional.support import coordination, databases


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

    def build(self, url: str) -> ToozBackend:
        made = coordination.build(url, 'group', 20, 5)
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
            self.build(url).view()


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

    def test_members_over_tls(self) -> None:
        self.assert_members(self.url(self.known))

    def test_server_of_another_authority_is_refused(self) -> None:
        self.assert_refused(self.url(self.other))


del _TlsCase
