"""Records over TLS, on PostgreSQL and MariaDB."""

from __future__ import annotations

import unittest
from typing import ClassVar

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import connection, records, schema
from lab import certificates, mariadb, postgresql, server
from tests.functional.support import databases


class _TlsCase:
    """A server with a certificate, and another authority."""

    known: ClassVar[certificates.Certificates]
    other: ClassVar[certificates.Certificates]
    server: ClassVar[server.Server]
    options: str
    """Of the URL, with a place for the certificate of the authority."""

    encrypted: str
    """A query that returns the cipher, or true."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.known, cls.other = (
            certificates.Certificates(
                databases.temporary_directory('certificates')
            )
            for _ in range(2)
        )
        cls.server = cls.build()
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.create_database('ownership')

    @classmethod
    def build(cls) -> server.Server:
        raise NotImplementedError

    def open(
        self, authority: certificates.Certificates
    ) -> connection.Database:
        options = self.options.format(authority.authority)
        opened = connection.open_database(f'{self.url}?{options}')
        self.addCleanup(opened.close)
        return opened

    def test_connection_is_encrypted(self) -> None:
        database = self.open(self.known)
        schema.upgrade(database)
        found = records.SqlRecords(database)
        settings = model.MemberSettings((model.PolicySettings('all'),))
        found.register('host1', settings)
        self.assertEqual(['host1'], [s.host for s in found.services()])
        cipher = database.read(
            lambda conn: conn.execute(sa.text(self.encrypted)).one()[-1]
        )
        self.assertTrue(cipher)

    def test_other_authority_is_refused_in_one_line(self) -> None:
        database = self.open(self.other)
        with self.assertRaises(exceptions.RecordsError) as caught:
            records.SqlRecords(database).services()
        text = str(caught.exception)
        self.assertIn('certificate verify failed', text.lower())
        self.assertNotIn('\n', text)


class TestMariaDB(_TlsCase, unittest.TestCase):
    options = 'ssl_ca={}&ssl_check_hostname=true'
    encrypted = "SHOW SESSION STATUS LIKE 'Ssl_cipher'"

    @classmethod
    def build(cls) -> server.Server:
        for path in (cls.known.certificate, cls.known.key):
            path.parent.chmod(0o755)
            mariadb.give(path)
        return mariadb.MariaDB(
            databases.temporary_directory('mariadb'),
            options=(
                f'--ssl-cert={cls.known.certificate}',
                f'--ssl-key={cls.known.key}',
            ),
        )


class TestPostgreSQL(_TlsCase, unittest.TestCase):
    options = 'sslmode=verify-full&sslrootcert={}'
    encrypted = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'

    @classmethod
    def build(cls) -> server.Server:
        for path in (cls.known.certificate, cls.known.key):
            path.parent.chmod(0o755)
            postgresql.give(path)
        return postgresql.PostgreSQL(
            databases.temporary_directory('postgresql'),
            options=(
                *('-c', 'ssl=on'),
                *('-c', f'ssl_cert_file={cls.known.certificate}'),
                *('-c', f'ssl_key_file={cls.known.key}'),
            ),
        )
