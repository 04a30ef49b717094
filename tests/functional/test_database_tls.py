"""Records over TLS, on PostgreSQL and MariaDB."""

from __future__ import annotations

import pathlib
import unittest
from typing import ClassVar

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import connection, records, schema
from lab import certificates, mariadb, postgresql, server
from tests.functional.support import databases


class TestPostgreSQL(unittest.TestCase):
    """A server with a certificate, and another authority.

    :cvar options: of the URL, with a place for the certificate of the
        authority.
    :cvar encrypted: a query that returns the cipher, or true.
    """

    server: ClassVar[server.Server]
    options = 'sslmode=verify-full&sslrootcert={}'
    encrypted = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    give = staticmethod(postgresql.give)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.known, cls.other = (
            certificates.Certificates(
                databases.temporary_directory('certificates')
            )
            for _ in range(2)
        )
        files = (cls.known.certificate, cls.known.key)
        for path in files:
            path.parent.chmod(0o755)
            cls.give(path)
        cls.server = cls.build(*files)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.create_database('ownership')

    @staticmethod
    def build(certificate: pathlib.Path, key: pathlib.Path) -> server.Server:
        return postgresql.PostgreSQL(
            databases.temporary_directory('postgresql'),
            options=(
                *('-c', 'ssl=on', '-c', f'ssl_cert_file={certificate}'),
                *('-c', f'ssl_key_file={key}'),
            ),
        )

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
        found.register('host1', model.MemberSettings())
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


class TestMariaDB(TestPostgreSQL):
    options = 'ssl_ca={}&ssl_check_hostname=true'
    encrypted = "SHOW SESSION STATUS LIKE 'Ssl_cipher'"
    give = staticmethod(mariadb.give)

    @staticmethod
    def build(certificate: pathlib.Path, key: pathlib.Path) -> server.Server:
        return mariadb.MariaDB(
            databases.temporary_directory('mariadb'),
            options=(f'--ssl-cert={certificate}', f'--ssl-key={key}'),
        )
