"""Connections to database servers, without a server."""

from __future__ import annotations

import ssl
from unittest import mock

import fixtures
import pymysql
import testtools

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, servers


class TestGalera(testtools.TestCase):
    def test_cluster_is_a_server_with_the_variable_on(self) -> None:
        for row, expected in (
            (None, False),  # MySQL
            (('wsrep_on', 'OFF'), False),
            (('wsrep_on', 'ON'), True),
        ):
            cursor = mock.Mock(**{'fetchone.return_value': row})
            self.assertIs(expected, servers.is_galera(cursor))


class TestMovedPrimary(testtools.TestCase):
    def test_server_that_became_read_only_is_left(self) -> None:
        connect = mock.MagicMock()
        cursor = connect.return_value.cursor.return_value
        cursor.fetchone.return_value = ('x', 'TRADITIONAL')
        self.useFixture(
            fixtures.MockPatchObject(
                servers, 'pymysql_class', return_value=connect
            )
        )
        opened = connection.open_database('mysql+pymysql://u@127.0.0.1:1/x')
        self.addCleanup(opened.close)
        opened.engine.dialect.initialize = mock.Mock()
        for number, made in ((1290, 1), (1836, 1), (1047, 1), (1064, 0)):
            self._read(opened)
            before = connect.call_count
            error = pymysql.err.OperationalError(number, 'x')
            cursor.execute.side_effect = error
            self.assertRaises(exceptions.RecordsError, self._read, opened)
            cursor.execute.side_effect = None
            self._read(opened)
            self.assertEqual(made, connect.call_count - before, number)

    def _read(self, database: connection.Database) -> None:
        database.read(lambda conn: conn.exec_driver_sql('SELECT 1'))


class TestContext(testtools.TestCase):
    def connect(self, **options):
        made = servers.pymysql_class()
        return made(host='127.0.0.1', defer_connect=True, **options)

    def test_connections_without_options_share_one(self) -> None:
        one, two = self.connect(), self.connect()
        # TLS if the server has it, as of pymysql itself.
        self.assertTrue(one.ssl)
        self.assertIsInstance(one.ctx, ssl.SSLContext)
        self.assertIs(one.ctx, two.ctx)
        own = self.connect(ssl={'cipher': 'HIGH'})
        self.assertIsNot(one.ctx, own.ctx)
        self.assertFalse(self.connect(ssl_disabled=True).ssl)

    def test_url_that_the_driver_refuses_is_an_error_of_ours(self) -> None:
        for login, query, is_outage, text in (
            # A file may come back.
            ('u:p', 'ssl_ca=/nonexistent', True, 'No such file'),
            ('u:p', f'ssl_ca={__file__}', True, 'no certificate'),
            ('u:p', 'sslmode=require', False, "argument 'sslmode'"),
            ('u:p', 'connect_timeout=0', False, 'connect_timeout should be'),
            ('u:p', 'connect_timeout=abc', False, "'abc'"),
            ('u:p', 'charset=utf8mb5', False, 'its charset is unknown'),
            ('u:p\u20ac', '', False, 'its password has .* Latin-1'),
        ):
            url = f'mysql+pymysql://{login}@127.0.0.1:1/x?{query}'
            with self.assertRaisesRegex(
                exceptions.RecordsError,
                r'^database mysql\+pymysql://u:\*\*\*@127.0.0.1:1/x cannot be '
                rf'opened: .*{text}.*\. Correct ',
            ) as caught:
                connection.open_database(url).read(mock.Mock())
            self.assertIs(
                is_outage,
                isinstance(
                    caught.exception, exceptions.RecordsUnavailableError
                ),
            )

    def test_engines_of_records_use_it(self) -> None:
        opened = connection.open_database('mysql+pymysql://u@127.0.0.1:1/x')
        self.addCleanup(opened.close)
        with (
            mock.patch.object(
                servers, 'pymysql_class', side_effect=RuntimeError
            ),
            testtools.ExpectedException(RuntimeError),
        ):
            opened.engine.raw_connection()
